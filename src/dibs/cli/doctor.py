"""doctor: find out whether a storage is safe for a queue, before trusting it."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, Namespace
from types import FrameType
from typing import TYPE_CHECKING

from dibs.cli.arguments import add_json, add_queue, count
from dibs.cli.exits import DONE, FAILED, USAGE, CommandError
from dibs.cli.output import clean, emit, warn
from dibs.cli.place import find
from dibs.cli.tables import wrapped

if TYPE_CHECKING:
    from dibs.doctor import Report

_LEAST_COLUMNS = 40  # for what happened, which matters most
_SIGNS = {"good": "ok", "note": "note", "warning": "WARNING", "one host": "one host", "bad": "BAD"}


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    add_queue(parser)
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer rounds: a few seconds instead of about fifteen")
    add("--hosts", metavar="N", type=count, default=1, help="wait for other hosts to join: N with this one")
    add("--join", metavar="CODE", default=None, help="take part in the examination that another host has begun")
    add("--no-note", action="store_true", help="do not leave a note of the verdict in the folder")
    add_json(parser)


def run(args: Namespace, command: str) -> int:
    from dibs.doctor import examine

    url = find(args.queue, args.queue_type).url
    if args.join is not None:
        return _join(args, url)
    with _Ended("what was made for the examination is removed"), _Progress(quiet=args.json) as progress:
        report = examine(url, quick=args.quick, hosts=args.hosts, tell=progress.tell)
    note = None if args.no_note else _leave_note(url, report)
    if args.json:
        emit({**report.to_json(), "note": note})
    else:
        _print(report, _told(url, note))
    return DONE if report.safe else FAILED


def _join(args: Namespace, url: str) -> int:
    from dibs.doctor.folders.joining import join
    from dibs.doctor.place import folder_of
    from dibs.queues import split_url

    if split_url(url)[0] not in ("file", "dir", "specs"):
        raise CommandError("--join is for folders; elsewhere the server alone decides who wins", "", USAGE)
    if args.hosts > 1:
        raise CommandError("--hosts begins an examination, --join takes part in one; leave one of them out", "", USAGE)
    with _Ended("the host that began removes what was made"), _Progress(quiet=args.json) as progress:
        took = join(folder_of(url), args.join, progress.tell)
    if args.json:
        emit({"joined": args.join, "races": took})
    else:
        print(f"took part in {took} races; the verdict is on the host that began")
    return DONE


def _leave_note(url: str, report: Report) -> str | None:
    """Its path, if one was left."""
    from dibs.clock import SYSTEM
    from dibs.doctor import note
    from dibs.doctor.place import folder_of, settings
    from dibs.queues import split_url

    scheme = split_url(url)[0]
    through_git = scheme == "specs" and settings(url).get("git")  # what is found of a remote is not of the folder
    if scheme in ("file", "dir", "specs") and report.lasting and not through_git:
        report.advice += note.remembered(folder_of(url), report)
        return note.leave(folder_of(url), report, SYSTEM)
    return None


def _told(url: str, note: str | None) -> str:
    """A line about a note that stands elsewhere than in the folder that was asked about."""
    import os

    from dibs.doctor.place import folder_of

    if note is None or os.path.dirname(note) == folder_of(url):
        return ""
    return f"the verdict is kept in {note}, and counts for all below: {folder_of(url)} is not there yet"


class _Ended:
    """Whoever is told to end removes first what was made for the examination. `left`: what Ctrl-C says of that."""

    _SIGNALS = (signal.SIGTERM, signal.SIGHUP)

    def __init__(self, left: str) -> None:
        self._left = left

    def __enter__(self) -> None:
        self._before = [(number, signal.getsignal(number)) for number in self._SIGNALS]
        for number, handler in self._before:
            if handler != signal.SIG_IGN:  # as nohup asks for
                signal.signal(number, self._heard)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)
        if kind is KeyboardInterrupt:
            warn(f"stopped; {self._left}")

    def _heard(self, number: int, frame: FrameType | None) -> None:
        for one in self._SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(128 + number)


class _Progress:
    """What is being tried now: one line that changes on a terminal; elsewhere only what somebody must do."""

    def __init__(self, *, quiet: bool) -> None:
        self._live = not quiet and sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._wipe()

    def tell(self, what: str) -> None:
        if what.startswith("!"):  # somebody has to do something
            self._wipe()
            warn(what[1:])
        elif self._live:
            self._wipe()
            sys.stderr.write(f"trying {clean(what)} …")
            sys.stderr.flush()

    def _wipe(self) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _print(report: Report, told: str) -> None:
    from dibs.doctor import Verdict

    rows = [[_SIGNS[one.level], one.check, one.tried, one.happened] for one in report.findings]
    print("\n".join(wrapped(["", "CHECK", "TRIED", "WHAT HAPPENED"], rows, least=_LEAST_COLUMNS)))
    print()
    for line in report.advice:
        print(clean(line))
    for one in report.warnings:
        print(clean(f"{one.check}: {one.happened}" + (f"; {one.remedy}" if one.remedy else "")))
    if told:
        print(clean(told))
    remedy = f"; {report.remedy}" if report.remedy else ""
    number = len(report.warnings)
    usable = report.verdict not in (Verdict.UNSAFE, Verdict.NONE)
    but = f", with {number} warning{'s' if number > 1 else ''}" if number and usable else ""
    how = ", with markers" if report.steps == "marker" else ""
    print(clean(f"{report.verdict}{how}{but}: {report.reason}{remedy}"))


_DESCRIPTION = """\
Try on the storage of QUEUE what a queue there relies on, with processes that contend, and say for whom it is safe: \
for many hosts, on one host, or not at all. What was made for it is removed again; a queue that is there already, and \
its workers, are not touched. The exit code is 0 when it is safe for the hosts that took part, else 1; where something \
could not be tried, and nothing is wrong, there is no verdict and no note, and it is 1 too. What is out of reach, or \
may not be written by this user, gets no verdict but an error, as from other commands: one line on standard error, \
and no report with --json.

Folders: exclusive create, link and rename, atomic rename, locks, how late others see changes, time stamps, sync, \
names, room, pace (of dir:, specs: and lmdb: with a small queue of that kind). Buckets: conditional writes, what is \
read and listed after a write, clock, pace. PostgreSQL, Redis, LMDB, git remotes and SQS: the settings that matter, \
and a race. A daemon (http:, unix:): whether it answers, its version, what the token allows, clock and pace; the place \
behind it is to be examined where it is.

A folder that several hosts mount may be right on each of them and wrong between them. To try that, begin on one host \
with --hosts 2; it prints a CODE with which another host joins.

The verdict stays in the folder as .dibs-doctor.json (while there is no folder, in the nearest above, which is then \
said), for `dibs work` and `dibs claim` to know. docs/filesystems.md has what is known of each file system.
"""

_EXAMPLES = """
Examples:
  dibs doctor queues/scrape
  dibs doctor /mnt/share/queues/render --hosts 2        # then, on another host, with the code that it prints:
  dibs doctor /mnt/share/queues/render --join 3fa91c
  dibs doctor s3://bucket/queues/scrape --json
"""
