"""A command per task: payload on stdin, fields as placeholders and variables, exit code as the outcome."""

import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

from dibs.errors import BadInput
from dibs.queues.held import Lease
from dibs.worker.child import Child, Outcome
from dibs.worker.template import fill, variables
from dibs.worker.work import Done, Failed, GivenUp, Slot

_TIMED_OUT = "timed out"


class CommandWork:
    def __init__(self, command: Sequence[str], *, show_output: bool = False) -> None:
        self._command = tuple(command)
        self._show_output = show_output
        self._running: dict[str, Child] = {}
        self._lock = threading.Lock()
        self._leaving = ""
        self._misfit = True  # until a command could be started

    def do(self, lease: Lease, slot: Slot, limit: float | None) -> Done | Failed | GivenUp:
        try:
            argv = fill(self._command, lease)
            child = Child(
                argv,
                env={**os.environ, **variables(lease)},
                stdin=lease.queue.stdin(lease),
                clock=lease.queue.clock,
                show=_show if self._show_output else None,
            )
        except BadInput as error:
            return Failed(str(error), retry=self._misfit, misfit=self._misfit)
        except (OSError, ValueError) as error:
            return Failed(f"cannot start {self._command[0]!r}: {error}", misfit=self._misfit)
        self._misfit = False
        slot.set_group(child.group)
        with self._lock:
            self._running[lease.id] = child
            if self._leaving:
                child.kill(self._leaving)
        try:
            return _judge(child.wait(limit), lease, limit)
        finally:
            slot.set_group(0)
            with self._lock:
                del self._running[lease.id]

    def abandon(self, task_id: str, why: str) -> None:
        with self._lock:
            if child := self._running.get(task_id):
                child.kill(why)

    def leave(self, why: str) -> bool:
        with self._lock:
            self._leaving = why
            for child in self._running.values():
                child.kill(why)
        return True


def _judge(outcome: Outcome, lease: Lease, limit: float | None) -> Done | Failed | GivenUp:
    if outcome.killed and outcome.killed != _TIMED_OUT:
        return GivenUp(outcome.killed)
    if outcome.killed:
        assert limit is not None
        return Failed(_with_stderr(f"timed out after {limit - lease.since:.3g} s", outcome))
    if outcome.code == 0:
        try:
            return Done(last_json(outcome.out, cut=outcome.out_cut))
        except BadInput as error:
            return Failed(str(error))
    if outcome.code < 0:
        return Failed(_with_stderr(f"killed by {_signal_name(-outcome.code)}", outcome))
    return Failed(_with_stderr(f"exit code {outcome.code}", outcome))


def last_json(out: bytes, *, cut: bool = False) -> Any:
    """The last line of the output that is JSON, or None. BadInput when it may have been a line too long to keep."""
    lines = out.split(b"\n")
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index].strip()
        if index == 0 and cut:
            if len(lines) == 1 or not any(part.strip() for part in lines[1:]):
                raise BadInput(f"the last line of its output is longer than {len(out):,} bytes: no result; print less")
            return None
        if not line or line[0] not in b'{["-0123456789tfn':
            continue
        try:
            return json.loads(line, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            continue
    return None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _with_stderr(what: str, outcome: Outcome) -> str:
    said = outcome.err.decode("utf-8", "replace").strip()
    return f"{what}: {said}" if said else what


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _show(chunk: bytes) -> None:
    sys.stderr.buffer.write(chunk)
    sys.stderr.buffer.flush()
