"""push --jsonl: many tasks from lines, in batches, each durable once it is counted.

At a bad line everything before it is pushed and nothing from it on, and the message says so; whoever
mends the line knows exactly where to go on.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from dibs.cli import payloads
from dibs.cli.exits import DONE, USAGE, CommandError
from dibs.cli.output import emit
from dibs.errors import BadInput
from dibs.queues.queue import Queue
from dibs.task import NewTask, Task, make_task

BATCH = 1000
_REDRAW_SECONDS = 0.1


def push_lines(queue: Queue, args: Namespace, fields: dict[str, Any]) -> int:
    progress = _Progress(queue)
    batch: list[tuple[int, NewTask]] = []
    for number, line in payloads.read_lines(args.jsonl):
        try:
            batch.append((number, _checked(queue, args, line, fields)))
        except BadInput as error:
            _push(queue, args, batch, progress)
            progress.end()
            raise _bad_line(args, number, str(error)) from None
        if len(batch) >= BATCH:
            _push(queue, args, batch, progress)
            batch = []
    _push(queue, args, batch, progress)
    progress.end()
    if args.json:
        emit({"pushed": progress.pushed, "duplicates": progress.duplicates})
    else:
        known = f" ({progress.duplicates:,} were there already)" if progress.duplicates else ""
        print(f"pushed {progress.pushed:,} {'task' if progress.pushed == 1 else 'tasks'}{known}")
    return DONE


def _checked(queue: Queue, args: Namespace, line: bytes, fields: dict[str, Any]) -> NewTask:
    new = payloads.task_of_line(line, text=args.text, records=args.records, defaults=fields)
    if args.records:
        make_task(new, queue.clock, 0.0)
        if new.key is not None and new.key in new.after:
            raise BadInput(f"a task with key {new.key!r} that is to run after itself")
    return new


def _push(queue: Queue, args: Namespace, batch: list[tuple[int, NewTask]], progress: _Progress) -> None:
    """A batch with a payload that cannot be stored is refused whole, so it can be pushed again one by one."""
    try:
        progress.add(queue.push_many([new for _, new in batch]))
    except BadInput:
        for number, new in batch:
            try:
                progress.add(queue.push_many([new]))
            except BadInput as error:
                progress.end()
                raise _bad_line(args, number, str(error)) from None


def _bad_line(args: Namespace, number: int, error: str) -> CommandError:
    source = "standard input" if args.jsonl == "-" else args.jsonl
    done = "the lines before it are pushed, it and the rest are not" if number > 1 else "nothing is pushed"
    again = f"mend it, then: tail -n +{number} FILE | dibs push {args.queue} --jsonl - …" if number > 1 else ""
    return CommandError(f"line {number} of {source} is {error}; {done}", again, USAGE)


class _Progress:
    """Counts, and on a terminal one line that is written over."""

    def __init__(self, queue: Queue) -> None:
        self.pushed = 0
        self.duplicates = 0
        self._clock = queue.clock
        self._start = self._shown = queue.clock.boottime()
        self._live = sys.stderr is not None and sys.stderr.isatty()

    def add(self, tasks: list[Task]) -> None:
        again = sum(task.duplicate for task in tasks)
        self.duplicates += again
        self.pushed += len(tasks) - again
        now = self._clock.boottime()
        if self._live and now - self._shown >= _REDRAW_SECONDS:
            self._shown = now
            rate = (self.pushed + self.duplicates) / (now - self._start)
            sys.stderr.write(f"\rpushed {self.pushed:,} tasks, {rate:,.0f}/s\x1b[K")
            sys.stderr.flush()

    def end(self) -> None:
        if self._live and self._shown != self._start:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
