"""Specs that feed a queue: what becomes ready in a folder of specs is pushed, each spec once, and how it ended is
written into its file.

In the queue a spec is known by its id, as key. While the queue knows that key, in whatever state, it is not pushed. So
any number of daemons may feed one queue, each from files of its own: whoever comes second finds the task there.
"""

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from math import inf

from dibs.clock import SYSTEM, Clock
from dibs.errors import DibsError, LeaseLost, Refused, TaskNotFound
from dibs.queues.queue import Queue
from dibs.queues.specs.queue import SpecsQueue
from dibs.serve.counter import Counter
from dibs.serve.house import House
from dibs.states import State
from dibs.task import NewTask, Task

EVERY_SECONDS = 2.0
LOOK_MS = 500
TOGETHER = 500
WAITING = (State.READY, State.SCHEDULED, State.BLOCKED)
OVER = (State.COMPLETED, State.FAILED, State.CANCELLED)
_SAME = ("priority", "project", "labels", "max_attempts", "max_deaths", "max_runtime", "backoff", "max_backoff")


class Feeding:
    """Both openings are called in the thread that feeds; `name` is what the log calls the queue."""

    def __init__(
        self,
        name: str,
        specs: Callable[[], Queue],
        queue: Callable[[], Queue],
        every: float = EVERY_SECONDS,
        clock: Clock = SYSTEM,
    ) -> None:
        self._name = name
        self._open_specs = specs
        self._open_queue = queue
        self._every = every
        self._clock = clock
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._log: Callable[[str], None] = lambda _: None
        self._said = ""

    async def start(self, house: House) -> None:
        self._log = house.log
        self._thread = threading.Thread(target=self._run, name="dibs-feeding", daemon=True)
        self._thread.start()

    def join(self, house: House, counter: Counter) -> None:
        """It opens its queue itself."""

    def stop(self) -> None:
        self._stopping.set()

    def close(self) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._open_specs() as specs, self._open_queue() as queue:
                    assert isinstance(specs, SpecsQueue)
                    feed = Feed(specs, queue)
                    for _ in self._occasions(specs.folder):
                        feed.round()
                        self._said = ""
            except DibsError as error:
                self._say(f"feeding {self._name}: {error}")
                self._stopping.wait(self._every)

    def _say(self, line: str) -> None:
        if line != self._said:  # once, however long it lasts
            self._log(line)
        self._said = line

    def _occasions(self, folder: str) -> Iterator[None]:
        """Now; whenever a file changes; and every few seconds, for what changes in the queue or with time."""
        from watchfiles import watch

        yield None
        last = -inf  # so that what changed before the watch began is seen, too
        try:
            for changes in watch(
                folder, stop_event=self._stopping, rust_timeout=LOOK_MS, yield_on_timeout=True, raise_interrupt=False
            ):
                now = self._clock.boottime()
                if changes or now - last >= self._every:
                    yield None
                    last = now
        except (OSError, RuntimeError) as error:  # no more watches are to be had
            self._say(f"feeding {self._name}: cannot watch {folder} ({error}); looking every {self._every:g} s instead")
            while not self._stopping.wait(self._every):
                yield None


class Feed:
    """One folder and one queue."""

    def __init__(self, specs: SpecsQueue, queue: Queue) -> None:
        self._specs = specs
        self._queue = queue
        self._sent: dict[str, str] = {}  # spec -> task, in the order in which they are likely to end
        self._states: dict[str, int] = {}  # of the queue, at the last look

    def round(self) -> None:
        ready = [task.id for task in self._specs.tasks(State.READY)]
        for name in self._sent.keys() - set(ready):
            self._withdraw(name, self._sent.pop(name))
        fresh = iter([name for name in ready if name not in self._sent])
        while part := list(islice(fresh, TOGETHER)):
            self._send(part)
        states = self._queue.stats().states
        if states != self._states:
            self._settle()
            self._reopen()
        self._states = states

    def _withdraw(self, name: str, task_id: str) -> None:
        """Somebody took a spec out of the line by hand: nobody need run it."""
        try:
            if self._specs.get(name).state in (State.CLAIMED, State.FAILED):
                return
        except TaskNotFound:
            pass
        try:
            if self._queue.get(task_id).state in WAITING:
                self._queue.cancel(task_id)
        except (TaskNotFound, Refused):
            pass  # it is over there too

    def _reopen(self) -> None:
        """What failed for good and was then retried in the queue goes on in its file."""
        for name in [task.id for task in self._specs.tasks(State.FAILED)]:
            try:
                if self._queue.get(name).state not in (State.FAILED, State.CANCELLED):
                    self._specs.retry(name)
            except (TaskNotFound, Refused):
                pass

    def _send(self, names: list[str]) -> None:
        unknown = []
        for name in names:
            try:
                self._sent[name] = self._queue.get(name).id
                self._states = {}  # it may be over already
            except TaskNotFound:
                unknown.append(name)
        wanted = [new for name in unknown if (new := self._new(name)) is not None]
        for new, task in zip(wanted, self._queue.push_many(wanted) if wanted else (), strict=True):
            assert new.key is not None
            self._sent[new.key] = task.id

    def _new(self, name: str) -> NewTask | None:
        try:
            task = self._specs.get(name)
        except DibsError:  # gone, or being written: next time
            return None
        same = {field: getattr(task, field) for field in _SAME}
        return NewTask(payload=_payload(task), key=name, unique="completed", **same)

    def _settle(self) -> None:
        for name, task_id in list(self._sent.items()):
            try:
                found = self._queue.detail(task_id)
            except TaskNotFound:  # purged; whether it ran nobody knows, so it is not pushed again by itself
                continue
            if found.task.state not in OVER:
                continue
            try:
                if found.task.state is State.CANCELLED:
                    self._specs.cancel(name)
                    continue
                lease = self._specs.claim_one(name, 60.0)
                if found.task.state is State.COMPLETED:
                    self._specs.complete(lease, found.result)
                else:
                    self._specs.fail(lease, found.error or "failed in the queue", retry=False)
            except (Refused, LeaseLost, TaskNotFound):
                pass  # somebody else wrote it down, or took the file in hand: it is his


def _payload(task: Task) -> object:
    return {"spec": task.id, **task.payload} if isinstance(task.payload, dict) else task.payload
