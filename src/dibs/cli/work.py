"""work: run a command or a Python function for each task, until told to stop or out of tasks."""

from __future__ import annotations

import os
import signal
import sys
from argparse import Namespace
from types import FrameType
from typing import TYPE_CHECKING

from dibs.cli.arguments import add_filters, add_json, add_queue, count, duration, filters
from dibs.cli.exits import DONE, FAILED, USAGE, CommandError
from dibs.cli.output import warn
from dibs.cli.place import find, nearest, open_place
from dibs.cli.trusted import Guard, add_trust, check_place
from dibs.queues import split_url

if TYPE_CHECKING:
    from dibs.cli.parser import Parser
    from dibs.cli.workview import PlainView
    from dibs.worker.job import Job
    from dibs.worker.supervisor import Supervisor

_TICK_SECONDS = 0.1
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def configure(parser: Parser, command: str) -> None:
    parser.usage, parser.description, parser.epilog = _USAGE, _DESCRIPTION, _EXAMPLES
    parser.rest = "words"
    add_queue(parser)
    add = parser.add_argument
    add("-j", "--jobs", metavar="N", type=count, default=1, help="run up to N tasks at once (default 1)")
    add("--call", metavar="MODULE:FUNCTION", default="", help="call this Python function instead of a command")
    add("--pool", choices=("process", "thread"), default="process", help="a process for each job, or threads in one")
    add("--timeout", metavar="DURATION", type=duration, help="kill and fail a task that takes longer")
    add("--ttl", metavar="DURATION", type=duration, help="how long a lease outlives its worker's heart (default 60s)")
    add("--until-empty", action="store_true", help="leave when nothing is ready and nothing is in hand")
    add("--max-tasks", metavar="N", type=count, help="leave after N tasks")
    add("--batch", metavar="N", type=count, default=1, help="claim and complete up to N short tasks together")
    add("--show-output", action="store_true", help="pass what commands print to stderr")
    add("--plain", action="store_true", help="plain lines on a terminal too, instead of the live view")
    add_trust(parser)
    add_filters(parser)
    add_json(parser, "JSON lines on stdout, one for each task that ended")


def run(args: Namespace, command: str) -> int:
    from dibs.cli.workview import summary
    from dibs.worker.job import Job
    from dibs.worker.supervisor import Supervisor

    place = find(args.queue, args.queue_type)
    if split_url(place.url)[0] == "memory":  # a worker hangs on no daemon that it does not need
        place = nearest(place)
    job = Job(
        url=place.url, command=tuple(args.words), call=args.call, timeout=args.timeout,
        ttl=place.setting("ttl", args.ttl), until_empty=args.until_empty, max_tasks=args.max_tasks, batch=args.batch,
        show_output=args.show_output, every_event=args.json, **filters(args),
    ).checked()  # fmt: skip
    reader, output = os.pipe() if _live(args) else (None, None)
    with open_place(place, create=True) as queue:
        check_place(place.url, queue, trusted=args.trust_place, hints=not args.json)
        supervisor = Supervisor(job, queue, workers=args.jobs, threads=args.pool == "thread", output=output)
        leave = Leave(supervisor)
        view = _view(args, job, supervisor, output, reader)
        guard = Guard(place.url, queue, trusted=args.trust_place)
        with view, leave:
            _attend(supervisor, view, leave, guard)
    if supervisor.unusable:
        raise CommandError(supervisor.unusable, "", USAGE if supervisor.bad_usage else FAILED)
    warn(summary(view.progress.snapshot()))
    if guard.refusal is not None:
        raise guard.refusal
    return leave.code


class Leave:
    """The first signal lets the workers finish what they have in hand; the second ends them."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._before = [(number, signal.getsignal(number)) for number in _SIGNALS]
        self.signal = 0
        self.words: list[str] = []
        self.code = DONE

    def __enter__(self) -> Leave:
        for number in _SIGNALS:
            signal.signal(number, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if not self._supervisor.stopping:
            self.words.append("stopping: finishing the tasks in hand; once more to release them and leave now")
            self._supervisor.stop()
        elif not self.code:
            self.words.append("leaving now; the tasks in hand are released")
            self.code = 128 + number
            self._supervisor.kill()


def _attend(supervisor: Supervisor, view: PlainView, leave: Leave, guard: Guard) -> None:
    """Show what happens until it is over. The supervisor works on in its own thread, whatever blocks here."""
    supervisor.start()
    over = False
    while not over:
        over = supervisor.ended.wait(_TICK_SECONDS)
        if not over and (why := guard.look()):
            leave.words.append(f"stopping: finishing the tasks in hand, since {why}")
            supervisor.stop()
        while leave.words:
            view.say(leave.words.pop(0))
        while not supervisor.news.empty():
            view.event(supervisor.news.get())
        view.tick()
    supervisor.join()


def _live(args: Namespace) -> bool:
    return bool(sys.stderr.isatty() and not args.plain and not args.show_output)


def _view(args: Namespace, job: Job, supervisor: Supervisor, output: int | None, reader: int | None) -> PlainView:
    from dibs.cli.workview import PlainView
    from dibs.redact import redact
    from dibs.worker.progress import Progress

    progress = Progress(supervisor, look_ahead=not (job.project or job.labels or job.max_priority is not None))
    what = job.call or " ".join(job.command)
    title = f"{redact(job.url)} · {args.jobs} {'job' if args.jobs == 1 else 'jobs'} · {what}"
    if output is not None and reader is not None:
        from dibs.cli.worklive import LiveView

        return LiveView(progress, title, json=args.json, output=output, reader=reader)
    warn(f"working on {title}")
    return PlainView(progress, json=args.json)


_USAGE = "dibs work QUEUE [OPTIONS] -- COMMAND…   or   dibs work QUEUE [OPTIONS] --call MODULE:FUNCTION"

_DESCRIPTION = """\
Run COMMAND for each task: its payload is on stdin as JSON, its fields stand for placeholders in the command and are \
in the environment. Exit code 0 completes the task, and the last line of output that is JSON is kept as its result; \
any other code fails it, with the end of what it wrote to stderr. With --call a Python function is called with the \
payload, its return value is the result, an exception fails the task. No shell is involved.

  {id} {key} {epoch} {attempt} {priority} {project} {labels} {queue}
  {payload} {payload.url} {payload.items.0}    {} is the payload itself, or its path for dir: queues
  {{ and }} are plain braces; DIBS_ID, DIBS_KEY, DIBS_EPOCH, DIBS_ATTEMPT, DIBS_PAYLOAD … are set

Leases are kept by this process, which runs no task itself, so they hold however busy a task is. When a worker \
process dies, what it had started is killed before its task goes to another; the worker is started again. The \
first Ctrl-C or SIGTERM finishes the tasks in hand, the second releases them and leaves at once.

--until-empty leaves when a claim finds nothing ready and no task of this worker is in hand. It does not wait for \
tasks that are scheduled (retries too), blocked, or held by other workers. Failed tasks do not change the exit code.

--batch is for tasks of milliseconds, whose claims and completions would take longer than they do. What a worker has \
run but not yet recorded when it is killed, 0.2 s of work, runs again. Tasks that turn out to be longer are no harm: \
what waits behind one for a second is given back.
"""

_EXAMPLES = """
Examples:
  dibs work queues/scrape -j 4 -- ./scrape.sh {payload.url}
  dibs work queues/images --call images:resize --timeout 5m
  dibs work dir:tiles?done=tiles-done --until-empty -- gdalinfo -json {}
  dibs work redis://localhost/0?queue=thumbs -j 4 --batch 50 --call thumbs:make
  dibs work queues/scrape --project site-a --max-tasks 100 --json -- ./job > events.jsonl
"""
