"""demo: workers are killed and stopped in mid-run, and nothing is lost. Everything in it is real."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dibs.cli.arguments import add_json, count
from dibs.cli.exits import DONE, FAILED, INTERRUPTED, USAGE, CommandError
from dibs.cli.output import emit, warn

if TYPE_CHECKING:
    from dibs.cli.demoledger import Ledger, Standing
    from dibs.cli.demoview import PlainDemo
    from dibs.worker.board import Doing
    from dibs.worker.hand import Hand
    from dibs.worker.supervisor import Supervisor

_TTL = 1.5
_SECONDS = (0.06, 0.1)
_TICK_SECONDS = 0.05
_KILL_AT, _STOP_AT = 0.2, 0.45
_FEWEST_TASKS = 40


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    add = parser.add_argument
    add("--tasks", metavar="N", type=count, default=300, help="how many tasks (default 300)")
    add("--workers", metavar="N", type=count, default=4, help="how many worker processes (default 4)")
    add("--keep", action="store_true", help="keep the queue's folder, to look at it")
    add("--plain", action="store_true", help="plain lines on a terminal too")
    add_json(parser, "the final numbers as one JSON object on stdout, the story on stderr")


def run(args: Namespace, command: str) -> int:
    if args.tasks < _FEWEST_TASKS or args.workers < 2:
        raise CommandError(f"the demo needs at least {_FEWEST_TASKS} tasks and 2 workers", "dibs demo", USAGE)
    folder = tempfile.mkdtemp(prefix="dibs-demo-")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _show(args, folder)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        if args.keep:
            warn(f"the queue is in {folder}/queue; look at it with: dibs stats {folder}/queue")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _show(args: Namespace, folder: str) -> int:
    from dibs.cli.demoledger import Ledger
    from dibs.cli.demoview import account_lines, demo_view
    from dibs.queues import open_queue
    from dibs.worker.job import Job
    from dibs.worker.supervisor import Supervisor

    root, runs = f"{folder}/queue", f"{folder}/runs.log"
    rng = random.Random()
    talk = warn if args.json else _tell
    with open_queue(f"file:{root}") as queue:
        payloads = [{"number": n, "seconds": rng.uniform(*_SECONDS), "runs": runs} for n in range(1, args.tasks + 1)]
        ids = [task.id for task in queue.push_many(payloads)]
        talk(f"pushed {len(ids)} tasks to {root}; {args.workers} worker processes, leases of {_TTL:g} s")
        job = Job(url=f"file:{root}", call="dibs.cli.demotask:work", ttl=_TTL, until_empty=True)
        supervisor = Supervisor(job, queue, workers=args.workers)
        ledger = Ledger(root, runs)
        numbers = {task: number for number, task in enumerate(ids, 1)}
        with demo_view(numbers, talk, plain=args.plain or args.json) as view:
            problem = Director(supervisor, ledger, view, numbers).run()
    account = ledger.account(ids)
    if args.json:
        emit({name: getattr(account, name) for name in account.__slots__})
    else:
        print("\nread from the queue's files:\n" + "\n".join(account_lines(account)))
    if problem or not account.good or account.taken_over < 2 or account.refused < 1:
        warn("the demo did not go as it should: " + (problem or "see the numbers above"))
        return FAILED
    return DONE


class Director:
    """Kills one worker and stops another while they hold a task, and tells what comes of it."""

    def __init__(self, supervisor: Supervisor, ledger: Ledger, view: PlainDemo, numbers: Mapping[str, int]) -> None:
        self._supervisor = supervisor
        self._ledger = ledger
        self._view = view
        self._numbers = numbers
        self._killed: Doing | None = None
        self._stopped: Doing | None = None
        self._stopped_pid = 0
        self._told: set[str] = set()
        self._woken = self._refused = False

    def run(self) -> str:
        """Until the queue is empty. Returns what went wrong, if anything did."""
        from dibs.worker.progress import Progress

        progress = Progress(self._supervisor, look_ahead=False)
        self._supervisor.start()
        over = False
        try:
            while not over:
                over = self._supervisor.ended.wait(_TICK_SECONDS)
                standings = self._ledger.standings()
                self._direct(standings)
                while not self._supervisor.news.empty():
                    self._hear(self._supervisor.news.get())
                self._view.tick(standings, [] if over else progress.snapshot().benches)
        finally:
            if not over:
                self._supervisor.kill()
            self._supervisor.join()
        return self._supervisor.unusable or ("" if self._refused else "no late finish was seen to be refused")

    def _direct(self, standings: Mapping[str, Sequence[Standing]]) -> None:
        from dibs.states import State

        done = sum(1 for places in standings.values() if places[-1].state is State.COMPLETED) / len(self._numbers)
        if self._killed is None and done >= _KILL_AT and (caught := self._catch()):
            hand, self._killed = caught
            self._view.say(f"SIGKILL to worker {hand.pid} while it holds {self._name(self._killed.id)}", "bold red")
            _send(hand.pid, signal.SIGKILL)
        elif self._stopped is None and done >= _STOP_AT and (caught := self._catch()):
            hand, self._stopped = caught
            self._stopped_pid = hand.pid
            text = f"SIGSTOP to worker {hand.pid} while it holds {self._name(self._stopped.id)}"
            self._view.say(f"{text}; its lease runs out in {_TTL:g} s", "bold red")
        for doing in (self._killed, self._stopped):
            if doing is not None and doing.id not in self._told:
                self._tell_takeover(doing, standings.get(doing.id, ()))
        if self._stopped is not None and self._stopped.id in self._told and not self._woken:
            self._woken = True
            self._view.say(f"SIGCONT to worker {self._stopped_pid}: it wakes, and goes on with its task", "yellow")
            _send(self._stopped_pid, signal.SIGCONT)

    def _tell_takeover(self, doing: Doing, places: Sequence[Standing]) -> None:
        for place in places:
            if place.epoch > doing.epoch and place.pid:
                self._told.add(doing.id)
                self._view.say(
                    f"{self._name(doing.id)} was taken over by worker {place.pid}, epoch {place.epoch}", "green"
                )

    def _hear(self, event: dict[str, Any]) -> None:
        if event["event"] == "lost" and self._stopped is not None and event["id"] == self._stopped.id:
            self._refused = True
            text = f"worker {event['pid']} finished {self._name(event['id'])} late, and was refused: LeaseLost"
            self._view.say(f"{text} (its epoch {event['epoch']} is over)", "bold green")
        elif event["event"] in ("failed", "trouble"):
            self._view.say(f"{event['event']}: {event['error']}", "red")

    def _catch(self) -> tuple[Hand, Doing] | None:
        """Stop a worker that holds a task, and make sure of it; one that does not is let go on."""
        from dibs.host import process_state

        hands = [hand for hand in self._supervisor.hands if hand.in_hand()]
        random.shuffle(hands)
        for hand in hands:
            pid = hand.pid
            if not _send(pid, signal.SIGSTOP):
                continue  # it is dead, and not buried yet
            while (state := process_state(pid)[0]) not in "Tt-ZX":
                self._supervisor.queue.clock.sleep(0.001)
            held = hand.in_hand()
            if state in "Tt" and held and any(claim.id == held[0][1].id for claim in self._supervisor.queue.claimed()):
                return hand, held[0][1]
            _send(pid, signal.SIGCONT)
        return None

    def _name(self, task_id: str) -> str:
        return f"task {self._numbers[task_id]}"


def _send(pid: int, number: int) -> bool:
    """False when it is gone. A hand without a process has the pid 0, which would mean ourselves and all workers."""
    try:
        if pid:
            os.kill(pid, number)
        return bool(pid)
    except ProcessLookupError:
        return False


def _tell(text: str) -> None:
    print(text, flush=True)


_DESCRIPTION = """\
A queue in a temporary folder, 300 tasks, 4 worker processes. One worker is killed with SIGKILL while it holds a \
task; one is stopped with SIGSTOP until its lease has run out. Others take their tasks over; the stopped worker wakes \
up, finishes late, and is refused. At the end the files of the queue are counted. The exit code is 1 if \
anything was lost or completed twice.
"""

_EXAMPLES = """
Examples:
  dibs demo
  dibs demo --tasks 1000 --workers 8
  dibs demo --keep && ls /tmp/dibs-demo-*/queue
"""
