"""What every topic of the contract suite stands on: how queues are opened, how time passes, what is left out.

A test names the capabilities it needs. For a backend that does not declare them it is not collected, so
nothing is skipped silently: `test_undeclared_features_are_refused` asks for each of them and wants a clear
`Unsupported`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from dibs.clock import SYSTEM, Clock
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.queues.views import Capabilities
from dibs.states import State
from dibs.task import Task
from dibs.testing.clock import ManualClock

Test = TypeVar("Test", bound=Callable[..., Any])


def needs(*capabilities: str) -> Callable[[Test], Test]:
    """Collect this test only for backends that declare all of these; "manual_time": whose time the tests can move."""

    def mark(test: Test) -> Test:
        test.needs = capabilities  # type: ignore[attr-defined]
        return test

    return mark


class Contract:
    """Subclass `QueueContract`, not this; the hooks are documented here."""

    #: What the backend offers; must equal the `capabilities` of its queues.
    capabilities = Capabilities()

    #: True where the tests cannot move the store's time (a database's `now()`): then time really has to pass.
    real_time = False

    #: Length in seconds of one unit of the suite's time. Make it small (0.1) if time really has to pass.
    tick = 1.0

    #: How many stale leases eight processes fight for.
    race_tasks = 2000

    #: How many tasks eight threads fight for, and for how many keys: fewer where every step is a journey.
    thread_tasks = 500
    thread_keys = 20

    tmp_path: Path
    clock: Clock

    def make_queue(self, **options: Any) -> Queue:
        """Open the queue of this test with these options (clock, and perhaps host or rng). Within one test
        it is always the same queue; every test has its own. `self.tmp_path` is a fresh folder."""
        raise NotImplementedError(f"{type(self).__name__} must say how to open its queue: define make_queue")

    def place(self) -> str:
        """A URL at which other processes can open the queue of this test."""
        raise NotImplementedError(f"{type(self).__name__} must name its queue for other processes: define place")

    def add(self, queue: Queue, payload: Any = None, **more: Any) -> Task:
        """Put a task into the queue. A backend that takes no pushes overrides this with its own way."""
        return queue.push(payload, **more)

    # What the topics use

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name in dir(cls):
            wanted = getattr(getattr(cls, name), "needs", ())
            if not all(cls._offers(need) for need in wanted):
                setattr(cls, name, None)

    @classmethod
    def _offers(cls, need: str) -> bool:
        return not cls.real_time if need == "manual_time" else bool(getattr(cls.capabilities, need))

    @pytest.fixture(autouse=True)
    def _prepare(self, tmp_path: Path) -> Iterator[None]:
        self.tmp_path = tmp_path
        self.clock = SYSTEM if self.real_time else ManualClock()
        self._opened: list[Queue] = []
        yield
        for queue in self._opened:
            queue.close()

    @pytest.fixture
    def queue(self, _prepare: None) -> Queue:
        return self.open()

    def open(self, **options: Any) -> Queue:
        queue = self.make_queue(**{"clock": self.clock, **options})
        self._opened.append(queue)
        return queue

    def units(self, count: float) -> float:
        """Seconds in this many units of the suite's time."""
        return count * self.tick

    def pass_time(self, units: float) -> None:
        if isinstance(self.clock, ManualClock):
            self.clock.advance(self.units(units))
        else:
            self.clock.sleep(self.units(units))

    def pass_a_moment(self) -> None:
        """A second: whatever a claimer keeps in mind of the queue is out of date then."""
        self.pass_time(1.0 / self.tick)

    def wait_until_due(self, queue: Queue, task_id: str) -> None:
        """Until a task that waits for its next attempt is ready; not at all if it does not."""
        due = queue.detail(task_id).due
        if due is not None:
            self.pass_time((due - queue.store_time()) / self.tick + 1)

    def take(self, queue: Queue, **options: Any) -> Lease:
        """A lease, which there must be."""
        lease = queue.claim(**{"ttl": self.units(60), **options})
        assert lease is not None, f"nothing to claim: {queue.stats().states}"
        return lease

    def counts(self, queue: Queue) -> dict[str, int]:
        """How many tasks are in each state that has any."""
        return {str(state): count for state, count in queue.stats().states.items() if count}

    def state(self, queue: Queue, ref: str) -> State:
        return queue.get(ref).state
