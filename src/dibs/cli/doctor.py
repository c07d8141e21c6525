"""doctor: find out whether a storage is safe for a queue, before trusting it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dibs.cli.arguments import add_json, add_queue, count
from dibs.cli.exits import DONE, FAILED, USAGE, CommandError
from dibs.cli.output import clean, emit, warn
from dibs.cli.place import find
from dibs.cli.tables import table

if TYPE_CHECKING:
    from dibs.doctor import Report

_SIGNS = {"good": "ok", "note": "note", "warning": "WARNING", "one host": "one host", "bad": "BAD"}


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    add_queue(parser)
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer rounds: a few seconds instead of about fifteen")
    add("--hosts", metavar="N", type=count, default=1, help="wait for other hosts to join: N with this one")
    add("--join", metavar="CODE", default="", help="take part in the examination that another host has begun")
    add("--no-note", action="store_true", help="do not leave a note of the verdict in the folder")
    add_json(parser)


def run(args: Namespace, command: str) -> int:
    from dibs.doctor import examine

    url = find(args.queue, args.queue_type).url
    if args.join:
        return _join(args, url)
    with _Progress(quiet=args.json) as progress:
        report = examine(url, quick=args.quick, hosts=args.hosts, tell=progress.tell)
    if not args.no_note:
        _leave_note(url, report)
    if args.json:
        emit(report.to_json())
    else:
        _print(report)
    return DONE if report.safe else FAILED


def _join(args: Namespace, url: str) -> int:
    from dibs.doctor.examining import folder_of
    from dibs.doctor.folders.joining import join
    from dibs.queues import split_url

    if split_url(url)[0] not in ("file", "dir", "specs"):
        raise CommandError("--join is for folders; elsewhere the server alone decides who wins", "", USAGE)
    with _Progress(quiet=args.json) as progress:
        took = join(folder_of(url), args.join, progress.tell)
    if args.json:
        emit({"joined": args.join, "races": took})
    else:
        print(f"took part in {took} races; the verdict is on the host that began")
    return DONE


def _leave_note(url: str, report: Report) -> None:
    import os

    from dibs.clock import SYSTEM
    from dibs.doctor import note
    from dibs.doctor.examining import folder_of
    from dibs.queues import split_url

    if split_url(url)[0] in ("file", "dir") and os.path.isdir(folder := folder_of(url)):
        note.leave(folder, report, SYSTEM)


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


def _print(report: Report) -> None:
    rows = [[_SIGNS[one.level], one.check, one.tried, one.happened] for one in report.findings]
    print("\n".join(table(["", "CHECK", "TRIED", "WHAT HAPPENED"], rows)))
    print()
    for line in report.advice:
        print(clean(line))
    for one in report.warnings:
        print(clean(f"{one.check}: {one.happened}" + (f"; {one.remedy}" if one.remedy else "")))
    remedy = f"; {report.remedy}" if report.remedy else ""
    number = len(report.warnings)
    but = f", with {number} warning{'s' if number > 1 else ''}" if number and report.safe else ""
    print(clean(f"{report.verdict}{but}: {report.reason}{remedy}"))


_DESCRIPTION = """\
Try on the storage of QUEUE what a queue there relies on, with processes that contend, and say for whom it is safe: \
for many hosts, on one host, or not at all. What was made for it is removed again; a queue that is there already, and \
its workers, are not touched. The exit code is 0 when it is safe for the hosts that took part, else 1.

Folders: exclusive create, link and rename, atomic rename, locks, how late others see changes, time stamps, sync, \
names, room, pace. Buckets: conditional writes, what is read and listed after a write, clock, pace. PostgreSQL, Redis, \
LMDB, git remotes and SQS: the settings that matter, and a race.

A folder that several hosts mount may be right on each of them and wrong between them. To try that, begin on one host \
with --hosts 2; it prints a CODE with which another host joins.

The verdict stays in the folder as .dibs-doctor.json, for `dibs work` to know. docs/filesystems.md has what is known \
of each file system.
"""

_EXAMPLES = """
Examples:
  dibs doctor queues/scrape
  dibs doctor /mnt/share/queues/render --hosts 2        # then, on another host, with the code that it prints:
  dibs doctor /mnt/share/queues/render --join 3fa91c
  dibs doctor s3://bucket/queues/scrape --json
"""
