"""A hand of the supervisor: one runner process, its slots on the board, and when to start it again."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Sequence

from dibs.host import process_state
from dibs.queues.channel import Channel
from dibs.queues.heart import MARK
from dibs.redact import redact
from dibs.worker.board import Board, Doing, Slot
from dibs.worker.guard import Ward
from dibs.worker.job import Job

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
UNREADY_LIMIT = 3  # deaths in a row before it was ready: then it never will be


class Hand:
    def __init__(self, board: Board, first: int, count: int) -> None:
        self._board = board
        self._first = first
        self.slots: Sequence[Slot] = board.slots[first : first + count]
        self.ready = self.told = self.silent = False
        self.unready_deaths = 0
        self.idle_deaths = 0  # deaths in a row without a completed task between
        self.restart_at: float | None = None
        self.timed_out: dict[tuple[str, int], str] = {}
        self.taken_up: set[str] = set()  # handles that were found on the board
        self._completed_at_start = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.channel: Channel | None = None
        self.ward: Ward | None = None

    @property
    def pid(self) -> int:
        return self.process.pid if self.process else 0

    def start(self, job: Job, output: int | None) -> Ward:
        """Its output goes to `output`, or to our stderr: our stdout is for data."""
        ours, theirs = socket.socketpair()
        mark = os.urandom(8).hex()
        words = [redact(job.url), theirs.fileno(), self._board.fd, len(self._board.slots), self._first, len(self.slots)]
        sink = output if output is not None else sys.stderr.fileno()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dibs.worker.process", *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env={**os.environ, MARK: ",".join(filter(None, [os.environ.get(MARK), mark]))},
                pass_fds=(theirs.fileno(), self._board.fd),
                start_new_session=True,
            )
        self.channel = Channel(ours)
        self.channel.send(job.to_message())
        self.ready = self.told = self.silent = False
        self.restart_at = None
        self.timed_out = {}
        self.taken_up = set()
        self._completed_at_start = self._completed()
        self.ward = Ward(self.process.pid, mark, self._groups, self._left_in_order)
        return self.ward

    def find_dead(self) -> None:
        """Where no /proc tells a zombie from who lives, waiting for it is the only way to know; elsewhere that comes
        last, as its number could be another's from then on."""
        if self.process is not None and process_state(self.pid)[0] == "?":
            self.process.poll()

    def buried(self, now: float) -> None:
        """It is dead and cleaned up after: forget the process, and say when to start another."""
        assert self.process is not None and self.channel is not None
        self.process.wait()
        self.channel.close()
        self.unready_deaths = 0 if self.ready else self.unready_deaths + 1
        busy = self._completed() > self._completed_at_start
        self.idle_deaths = 1 if busy else self.idle_deaths + 1
        pause = 0.0 if self.idle_deaths == 1 else _FIRST_PAUSE * 2.0 ** min(self.idle_deaths - 2, 10)
        self.restart_at = now + min(pause, _LONGEST_PAUSE)
        self.process = self.channel = self.ward = None

    def in_hand(self) -> list[tuple[Slot, Doing]]:
        return [(slot, doing) for slot in self.slots if (doing := slot.doing()) is not None]

    def _left_in_order(self) -> bool:
        return self.process is not None and self.process.poll() == 0

    def _groups(self) -> Iterable[int]:
        """Its own group first: what a function starts is in it."""
        commands = [doing.group for _, doing in self.in_hand() if doing.group]
        return [self.pid, *commands] if self.ward is not None and self.ward.dead else commands

    def _completed(self) -> int:
        return sum(slot.tally().completed for slot in self.slots)
