"""What the contract says of looking, over HTTP, with everything that is shown coming from what is remembered."""

from typing import TYPE_CHECKING

from contract.test_remote import Serving
from dibs.clock import SYSTEM, Clock
from dibs.queues.files.queue import FilesQueue
from dibs.serve.cache.files import KnownFiles
from dibs.testing.topics.basics import Basics
from dibs.testing.topics.dependencies import Dependencies
from dibs.testing.topics.filters import Filters
from dibs.testing.topics.scheduling import Scheduling
from dibs.testing.topics.steering import Steering
from dibs.testing.topics.views import Views
from serve.daemon import Daemon

if TYPE_CHECKING:
    from dibs.serve.house import House


class Known:
    """Beside the daemon, whatever clock the queue has."""

    async def start(self, house: "House") -> None:
        for counter in house.counters.values():
            assert isinstance(counter.desk.queue, FilesQueue)
            counter.desk.look = KnownFiles(counter.desk.queue)

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


class TestRemembered(Serving, Basics, Dependencies, Filters, Scheduling, Steering, Views):
    def daemon(self, *, real: bool) -> Daemon:
        if real not in self._daemons:
            clock: Clock = SYSTEM if real else self.clock
            self._daemons[real] = Daemon(lambda: self.behind(clock), clock=clock, beside=[Known()])
        return self._daemons[real]
