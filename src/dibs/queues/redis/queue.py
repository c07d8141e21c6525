"""The Queue contract on Redis: every operation is one script, by the server's time (see `lua/cells.lua`)."""

import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import local
from typing import TYPE_CHECKING, Any

from dibs import states
from dibs.clock import SYSTEM, Clock
from dibs.errors import Refused, TaskNotFound
from dibs.facets import Filter, make_filter
from dibs.host import Host
from dibs.queues.held import Lease
from dibs.queues.redis.address import Address, parse
from dibs.queues.redis.answers import detail_of, known, micro, reason
from dibs.queues.redis.chain import Chain
from dibs.queues.redis.claimer import PAGE, Claimer
from dibs.queues.redis.holding import Holding
from dibs.queues.redis.looks import Looks
from dibs.queues.redis.prioritising import prioritise
from dibs.queues.redis.pusher import push
from dibs.queues.redis.root import open_root
from dibs.queues.redis.server import Server
from dibs.queues.redis.servertime import ServerTime
from dibs.queues.redis.steps import Steps
from dibs.queues.redis.wake import Wake
from dibs.queues.redis.workers import Workers
from dibs.queues.views import Claim, Detail, Stats
from dibs.redact import redact
from dibs.states import State
from dibs.task import Task

if TYPE_CHECKING:
    from dibs.queues.gate import Gate

PURGE_PAGE = 500
SLICE_SECONDS = 1.0  # how often, while it waits, a process looks whether others of its host have died
DEAF_SECONDS = 10.0  # between two looks where the server lets nobody listen
_SLACK_SECONDS = 0.005


class RedisQueue(Holding):
    @classmethod
    def open(cls, url: str, path: str, settings: dict[str, str], **options: Any) -> "RedisQueue":
        return cls(url, parse(url, settings), **options)

    def __init__(
        self,
        url: str,
        address: Address,
        *,
        create: bool = True,
        pid: int | str | None = "self",
        process: Callable[[], int] = os.getpid,
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        super().__init__(url, clock=clock, host=host, rng=rng)
        self.first_pause, self.idle_seconds = min(0.1, address.idle), address.idle
        self._server = server = Server(address, clock, self.rng)
        self._workers = Workers(self.host, clock, self.rng, pid, process)
        self._claimer = Claimer(server, self._workers, clock, self.rng)
        self._steps = Steps(server, clock, self.rng)
        self._links = Chain(server, self._claimer, self._steps, clock)
        self._looks = Looks(server)
        self._wake = Wake(server)
        self._time = ServerTime(server, clock)
        self._heard = local()
        self._beaten = {}
        open_root(server, redact(url), clock, create=create)

    @property
    def address(self) -> str:
        found = self._server.address
        return f"redis://{found.where}?{found.base}"

    # Push

    def _insert(self, tasks: list[Task]) -> list[Task]:
        return push(self._server, tasks)

    # Claim

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        self._heard.before = self._wake.heard
        leases: list[Lease] = []
        while len(leases) < limit:
            asked = min(limit - len(leases), PAGE)
            found = self._claimer.claim(asked, ttl, wanted, self.guard_pid)
            got = self._leases(found, ttl)
            leases += got
            if len(got) < asked:
                break
        return leases

    @property
    def wakes(self) -> bool:
        return not self._wake.deaf

    def rouse(self) -> None:
        self._wake.tell()

    def _wait(self, seconds: float) -> None:
        if not self._wake.listen():
            return  # what happened before it listened may have been missed: look once more
        if self._wake.deaf:
            seconds = min(seconds, DEAF_SECONDS)
        due = self._claimer.wait
        if due is not None:
            seconds = min(seconds, max(due, 0.0) + _SLACK_SECONDS)
        end = self.clock.boottime() + seconds
        before = getattr(self._heard, "before", self._wake.heard)
        while (left := end - self.clock.boottime()) > 0:
            if self._wake.wait(min(left, SLICE_SECONDS), before) or self._workers.dead():
                return

    # Look

    def store_time(self) -> float:
        return self._time.now()

    def get(self, ref: str) -> Task:
        return self.detail(ref).task

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        return self._looks.tasks(state, make_filter(project, labels), limit)

    def _newest(self, state: State, wanted: Filter, limit: int | None) -> Iterator[Task]:
        return self._looks.tasks(state, wanted, limit, newest=True)

    def claimed(self) -> list[Claim]:
        return self._looks.claims()

    def stats(self) -> Stats:
        return self._looks.stats()

    def detail(self, ref: str) -> Detail:
        return detail_of(self._shown(ref))

    def _shown(self, ref: str) -> list[Any]:
        answer: list[Any] = self._server.ask("show", ref)
        if len(answer) < 2:
            raise self._not_found(ref, answer)
        return answer

    def _not_found(self, ref: str, leaving: Sequence[bytes] = ()) -> TaskNotFound:
        """`leaving`: the address that it is on its way to, if it is."""
        hint = f"it is on its way to {leaving[0].decode()}" if leaving else "`dibs list` shows what there is"
        return TaskNotFound(f"no task with id or key {ref!r} in {redact(self.url)}; {hint}")

    # Steer

    def cancel(self, ref: str) -> Task:
        return self._steered("cancel", ref)

    def retry(self, ref: str) -> Task:
        return self._steered("retry", ref)

    def _steered(self, step: str, ref: str) -> Task:
        answer = self._server.ask(step, self._steps.nonce(), ref)
        if answer[0] == b"gone":
            raise self._not_found(ref, answer[1:])
        if answer[0] == b"taken":
            other, key = answer[1].decode(), answer[2].decode()
            raise Refused(f"cannot retry task {ref}: its key {key!r} is taken by live task {other}")
        if answer[0] == b"refused":
            states.check(states.Cell(State(answer[1].decode())), step)
        return known(answer[1]).task

    def _prioritise(self, ref: str, priority: int) -> Task:
        return prioritise(self._server, self._shown, self._not_found, ref, priority)

    def pause(self, reason: str = "") -> None:
        self._server.ask("pause", reason)

    def resume(self) -> None:
        self._server.ask("resume")

    @property
    def paused(self) -> str | None:
        return reason(self._server.ask("paused"))

    def purge(self, state: State | str = State.COMPLETED, *, older_than: float = 3600.0) -> int:
        if state not in states.TERMINAL:
            raise Refused(f"cannot purge tasks that are {state}; only completed, failed or cancelled ones")
        before = micro(self.store_time() - older_than) if older_than > 0 else "+inf"
        removed = offset = 0
        while True:
            seen: int
            gone: int
            seen, gone = self._server.ask("purge", str(state), before, PURGE_PAGE, offset)
            removed += gone
            offset += seen - gone
            if seen < PURGE_PAGE:
                return removed

    # Move

    def gate(self) -> "Gate":
        from dibs.queues.redis.gate import RedisGate

        return RedisGate(self.address, self._server, self._claimer.tend, self.store_time)

    def close(self) -> None:
        super().close()
        self._wake.close()
        self._server.close()
