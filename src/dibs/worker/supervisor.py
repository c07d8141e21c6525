"""The supervisor: starts the runners of `dibs work`, keeps their leases, cleans up and starts again.

It runs no task code, so its beats go on whatever the tasks do. Its loop runs in a thread of its own,
and never writes to a terminal or a pipe that could block: the main thread takes what `news` has.

`stop` lets the runners finish what they have in hand. `kill` kills them, and releases what they had:
it counts as no attempt.
"""

import os
import queue as queues
import select
import selectors
import signal
import threading
from typing import Any

from dibs.errors import DibsError, LeaseLost, StorageError, TaskNotFound
from dibs.host import process_state
from dibs.queues.channel import Message
from dibs.queues.queue import Queue
from dibs.worker.board import Board, Doing, Slot, Tally, new_board
from dibs.worker.guard import BEATS_PER_TTL, Guard, Kept, Ward
from dibs.worker.hand import UNREADY_LIMIT, Hand
from dibs.worker.job import Job

_LOOK_SECONDS = 0.1
_STOP_SECONDS = 0.2
_DYING_SECONDS = 0.002
_MOST_NEWS = 10_000
_FAILED, _LOST = 1, 2
_LASTING = 0.1  # of the TTL: well before the first beat is due


class Supervisor:
    def __init__(
        self, job: Job, queue: Queue, *, workers: int = 1, threads: bool = False, output: int | None = None
    ) -> None:
        self.job = job.checked()
        self.queue = queue
        self.news: queues.SimpleQueue[dict[str, Any]] = queues.SimpleQueue()
        self.error: DibsError | None = None
        self.unusable = ""
        self.bad_usage = False
        self.board: Board = new_board(workers, job.max_tasks)
        self.hands = [Hand(self.board, 0, workers)] if threads else [Hand(self.board, i, 1) for i in range(workers)]
        self._output = output
        self._guard = Guard(queue, self)
        self._stopping = self._killing = False
        self._look_at = 0.0
        self._asked_at = 0.0  # when the task had ended after which the runners were asked to look again
        self._selector = selectors.DefaultSelector()
        self._wake_end, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._run, name="supervisor")
        self.ended = threading.Event()

    # From the main thread

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Finish what is in hand, then end. Safe in a signal handler."""
        self._stopping = True
        if not self.ended.is_set():
            os.write(self._wake, b"s")

    def kill(self) -> None:
        """End now; what is in hand is released."""
        self._killing = True
        self.stop()

    def join(self) -> None:
        """Wait until it has ended. What it had open is closed."""
        self._thread.join()
        if self._wake >= 0:
            self._selector.close()
            for fd in (self._wake_end, self._wake):
                os.close(fd)
            self._wake = -1

    @property
    def stopping(self) -> bool:
        return self._stopping

    def totals(self) -> Tally:
        tallies = [slot.tally() for slot in self.board.slots]
        return Tally(
            sum(tally.completed for tally in tallies),
            sum(tally.failed for tally in tallies),
            sum(tally.lost for tally in tallies),
            max(tally.finished for tally in tallies),
            min(tally.looked for tally in tallies),
        )

    # The loop

    def _run(self) -> None:
        try:
            self._selector.register(self._wake_end, selectors.EVENT_READ, None)
            while self._turn():
                pass
        except BaseException as error:
            self.unusable = f"internal error: {type(error).__name__}: {error}"
            raise
        finally:
            for hand in self.hands:
                if hand.channel is not None:
                    hand.channel.close()  # the runner then stops by itself
            self.ended.set()

    def _turn(self) -> bool:
        now = self.queue.clock.boottime()
        pause = self._start_due(now)
        pause = min(pause, self._guard.step())
        self._take_up(now)
        self._enforce_limits()
        self._look_for_cancelled(now)
        if self._is_over():
            self._stopping = True
        if self._stopping:
            pause = min(pause, self._press())
            if not any(hand.process for hand in self.hands):
                return False
        if self.news.qsize() > _MOST_NEWS:  # nobody takes them: let the runners wait rather than memory grow
            self.queue.clock.sleep(_LOOK_SECONDS)
            return True
        for hand in self.hands:
            if hand.silent and hand.process:
                pause = _DYING_SECONDS
                hand.find_dead()
        for key, _ in self._selector.select(min(pause, _LOOK_SECONDS)):
            if key.data is None:
                os.read(self._wake_end, 4096)
            else:
                self._hear(key.data)
        return True

    def _start_due(self, now: float) -> float:
        """Start what is to be started; seconds until the next."""
        pause = _STOP_SECONDS
        for hand in self.hands:
            if hand.process is not None or self._stopping:
                continue
            if hand.restart_at is not None and now < hand.restart_at:
                pause = min(pause, hand.restart_at - now)
                continue
            self._guard.wards.append(hand.start(self.job, self._output))
            self._selector.register(hand.channel, selectors.EVENT_READ, hand)  # type: ignore[arg-type]
        return pause

    def _hear(self, hand: Hand) -> None:
        assert hand.channel is not None
        received = hand.channel.receive()
        if received is None:
            hand.silent = True  # it is dead, or about to be: the guard sees to it
            self._selector.unregister(hand.channel)
            return
        for message in received:
            self._answer(hand, message)

    def _answer(self, hand: Hand, message: Message) -> None:
        assert hand.channel is not None and hand.ward is not None
        if "hold" in message and not hand.ward.dead:
            for handle in message["drop"]:
                self._guard.drop(hand.ward, handle)
            kept = [(handle, self._guard.hold(hand.ward, handle, ttl, until)) for handle, ttl, until in message["hold"]]
            hand.channel.send({"kept": kept})
        elif "events" in message:
            for event in message["events"]:
                self.news.put({**event, "pid": hand.pid})
        elif "ready" in message:
            hand.ready = True
        elif "trouble" in message:
            self.news.put({"event": "trouble", "error": message["trouble"]})
        elif "unusable" in message:
            self._give_up(message["unusable"], usage=message["usage"])

    def _give_up(self, why: str, *, usage: bool = False) -> None:
        self.unusable = self.unusable or why
        self.bad_usage = self.bad_usage or usage
        self._stopping = True

    def _is_over(self) -> bool:
        """Nothing in hand, and every runner looked in vain after the last task had ended."""
        if self._stopping or not (self.job.until_empty or self.job.max_tasks is not None):
            return False
        if not self.job.until_empty and self.board.tickets > 0:
            return False
        totals = self.totals()
        if any(hand.in_hand() for hand in self.hands):
            return False
        if totals.looked <= totals.finished and totals.finished > self._asked_at:
            self._asked_at = totals.finished
            for hand in self.hands:
                if hand.channel is not None:
                    hand.channel.send({"look": True})  # one that waits has not looked since
        return totals.looked > totals.finished

    def _press(self) -> float:
        """Make the runners stop: ask once; kill when that was asked for, or one is stopped and has lost its leases."""
        for hand in self.hands:
            if hand.ward is None or hand.channel is None:
                continue
            if self._killing or (hand.ward.stopped and not hand.ward.kept):
                _signal(hand.pid, signal.SIGKILL)
            elif not hand.ward.dead and not hand.told:
                hand.told = True
                hand.channel.send({"stop": True})
        return _STOP_SECONDS if not self._killing else 0.01

    def _take_up(self, now: float) -> None:
        """Leases of which nobody told are kept too, once they last: what is in hand stands on the board."""
        for hand in self.hands:
            ward = hand.ward
            if ward is None or ward.dead:
                continue
            shown = {doing.handle: (slot, doing) for slot, doing in hand.in_hand() if doing.handle}
            for handle in hand.taken_up - shown.keys():
                hand.taken_up.discard(handle)
                self._guard.drop(ward, handle)
            for handle, (slot, doing) in shown.items():
                lasting = ward.stopped or now - doing.started >= self.job.ttl * _LASTING
                if lasting and handle not in hand.taken_up and slot.doing() == doing:
                    hand.taken_up.add(handle)
                    self._guard.hold(ward, handle, self.job.ttl, doing.until)

    # Limits

    def _enforce_limits(self) -> None:
        now = self.queue.clock.boottime()
        for hand in self.hands:
            if hand.ward is not None and not hand.ward.dead and not hand.ward.stopped:
                for slot, doing in hand.in_hand():
                    if now >= doing.limit:
                        self._expire(hand, slot, doing)

    def _expire(self, hand: Hand, slot: Slot, doing: Doing) -> None:
        """Kill a runner over its task's limit; it is stopped first, so that no other task is hit."""
        _signal(hand.pid, signal.SIGSTOP)
        for _ in range(100):
            if process_state(hand.pid)[0] not in "RSD":
                break
            self.queue.clock.sleep(0.001)
        if slot.doing() == doing:
            hand.timed_out[doing.id, doing.epoch] = f"timed out after {doing.limit - doing.started:.3g} s"
            _signal(hand.pid, signal.SIGKILL)
        else:
            _signal(hand.pid, signal.SIGCONT)

    def _look_for_cancelled(self, now: float) -> None:
        """A beat keeps a whole session; whether one of its tasks was cancelled is seen by looking at that task."""
        if now < self._look_at:
            return
        every = self.job.ttl / BEATS_PER_TTL
        self._look_at = now + every
        for hand in self.hands:
            for _, doing in hand.in_hand():
                if now - doing.started >= every and (doing.id, doing.epoch) not in hand.timed_out:
                    self._check(hand, doing)

    def _check(self, hand: Hand, doing: Doing) -> None:
        try:
            self.queue.lease(doing.id, doing.epoch)
        except (LeaseLost, TaskNotFound):
            if hand.channel is not None:
                hand.channel.send({"gone": [doing.id, doing.epoch]})
        except StorageError as error:
            self.trouble(error)

    # What the guard reports

    def lost(self, ward: Ward, handle: str) -> None:
        hand = self._of(ward)
        if hand.channel is not None:
            hand.channel.send({"lost": handle})
        for _, doing in hand.in_hand():
            if doing.handle not in ("", handle):
                continue  # the refused one has ended meanwhile, and this is the next
            self.news.put({"event": "silent", "id": doing.id, "epoch": doing.epoch, "pid": hand.pid})

    def over(self, ward: Ward, name: tuple[str, int]) -> None:
        """Limits of runners stand on the board."""

    def settle(self, ward: Ward) -> None:
        """The runner is dead and so are its children: record what became of the tasks it had."""
        hand = self._of(ward)
        now = self.queue.clock.boottime()
        for slot, doing in hand.in_hand():
            if doing.handle and doing.handle not in hand.taken_up:
                ward.kept[doing.handle] = Kept(self.job.ttl, doing.until, doing.until)  # to be ended with the others
            event: dict[str, Any] = {"event": "died", "id": doing.id, "epoch": doing.epoch, "pid": hand.pid}
            how = None
            error = hand.timed_out.get((doing.id, doing.epoch), "")
            try:
                if error:
                    self.queue.lease(doing.id, doing.epoch).fail(error)
                    how, event["event"], event["error"] = _FAILED, "failed", error
                elif self._killing or hand.timed_out:
                    self.queue.lease(doing.id, doing.epoch).release()
                    event["event"] = "released"
            except (LeaseLost, TaskNotFound):
                how, event["event"] = _LOST, "lost"
            except StorageError as problem:
                self.trouble(problem)  # then it is taken over like that of any dead worker
            slot.end(now, how)
            self.news.put(event)

    def buried(self, ward: Ward) -> None:
        hand = self._of(ward)
        assert hand.channel is not None
        while not hand.silent and select.select([hand.channel], [], [], 0)[0]:
            self._hear(hand)  # its last words
        if not hand.silent:
            self._selector.unregister(hand.channel)
        hand.buried(self.queue.clock.boottime())
        if hand.unready_deaths >= UNREADY_LIMIT:
            self._give_up("the runner process dies before it is ready; look at its output above")

    def trouble(self, error: StorageError) -> None:
        self.news.put({"event": "trouble", "error": str(error)})

    def _of(self, ward: Ward) -> Hand:
        return next(hand for hand in self.hands if hand.ward is ward)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it ended by itself; the guard sees to it
