"""How far a worker has come: counts, rate, what is left. Reads the board; prints nothing."""

import threading
from collections import deque
from dataclasses import dataclass

from dibs.errors import DibsError
from dibs.states import State
from dibs.worker.board import Doing, Slot, Tally
from dibs.worker.hand import Hand
from dibs.worker.supervisor import Supervisor

_WINDOW_SECONDS = 10.0
_FIRST_STATS_SECONDS = 1.0
_STATS_SECONDS = 3.0
_IDLE_STATS_SECONDS = 60.0
_STATS_SHARE = 10  # looking at the queue takes at most a tenth of the time


@dataclass(frozen=True, slots=True)
class Bench:
    """One worker slot, as it is now."""

    pid: int
    doing: Doing | None
    age: float
    stopped: bool
    tally: Tally


@dataclass(frozen=True, slots=True)
class Snapshot:
    totals: Tally
    elapsed: float
    rate: float  # tasks ended a second, over the last seconds
    left: int | None  # ready or claimed, when that was last looked at
    benches: list[Bench]
    over: bool

    @property
    def eta(self) -> float | None:
        return self.left / self.rate if self.left is not None and self.rate > 0 else None


class Progress:
    """`look_ahead`: ask the queue now and then, in a thread of its own, how much is left. While nothing happens
    here, ever more seldom, and not at all when nothing was left."""

    def __init__(self, supervisor: Supervisor, *, look_ahead: bool) -> None:
        self._supervisor = supervisor
        self._clock = supervisor.queue.clock
        self._began = self._clock.boottime()
        self._samples: deque[tuple[float, int]] = deque([(self._began, 0)])
        self._left: tuple[int, int] | None = None  # (left, ended by us then)
        if look_ahead:
            threading.Thread(target=self._look_ahead, name="stats", daemon=True).start()

    def snapshot(self) -> Snapshot:
        now = self._clock.boottime()
        totals = self._supervisor.totals()
        ended = totals.completed + totals.failed
        self._samples.append((now, ended))
        while len(self._samples) > 2 and now - self._samples[1][0] > _WINDOW_SECONDS:
            self._samples.popleft()
        then, before = self._samples[0]
        rate = (ended - before) / (now - then) if now > then else 0.0
        left = None if self._left is None else max(0, self._left[0] - (ended - self._left[1]))
        benches = [_bench(hand, slot, now) for hand in self._supervisor.hands for slot in hand.slots]
        return Snapshot(totals, now - self._began, rate, left, benches, self._supervisor.ended.is_set())

    def _look_ahead(self) -> None:
        self._supervisor.ended.wait(_FIRST_STATS_SECONDS)  # a short run needs none
        seen = None
        pause = _STATS_SECONDS
        while not self._supervisor.ended.is_set():
            before = self._clock.boottime()
            totals = self._supervisor.totals()
            ended = (totals.completed, totals.failed, totals.lost)
            if ended != seen or any(hand.in_hand() for hand in self._supervisor.hands):
                seen, pause = ended, _STATS_SECONDS
                self._look(totals)
            elif self._left is None or self._left[0]:  # others may work on it
                pause = min(pause * 2, _IDLE_STATS_SECONDS)
                self._look(totals)
            took = self._clock.boottime() - before
            self._supervisor.ended.wait(max(pause, took * _STATS_SHARE))

    def _look(self, totals: Tally) -> None:
        try:
            states = self._supervisor.queue.stats().states
        except DibsError:
            self._left = None  # whoever claims will say what is wrong with the storage
        else:
            left = states.get(State.READY, 0) + states.get(State.CLAIMED, 0)
            self._left = (left, totals.completed + totals.failed)


def _bench(hand: Hand, slot: Slot, now: float) -> Bench:
    doing, ward = slot.doing(), hand.ward
    age = now - doing.started if doing else 0.0
    return Bench(hand.pid, doing, age, ward is not None and ward.stopped, slot.tally())
