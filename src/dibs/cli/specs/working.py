"""work: run a command on one spec, or on each that is ready."""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from dibs.cli.exits import DONE, FAILED, LOST, USAGE, CommandError
from dibs.cli.output import clean, emit, warn
from dibs.cli.specs.choosing import opened, url_of

if TYPE_CHECKING:
    from dibs.queues.held import Lease
    from dibs.worker.command import CommandWork
    from dibs.worker.work import Done, Failed, GivenUp

TTL_SECONDS = 60.0
_WATCH_SECONDS = 0.5
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _work(args: Namespace) -> int:
    if not args.command_line:
        raise CommandError("work: there is no command", "dibs specs work ID -- ./agent {}", USAGE)
    if args.words:
        return max(_one(args, ref) for ref in args.words)
    from dibs.cli import work

    return work.run(_as_work(args), "work")


def _as_work(args: Namespace) -> Namespace:
    return Namespace(
        queue=url_of(args), queue_type=None, words=args.command_line, jobs=args.jobs, call="", pool="process",
        timeout=args.timeout, ttl=args.ttl, until_empty=args.until_empty, max_tasks=None, batch=1, max_priority=None,
        show_output=args.show_output, plain=False, project=args.project, label=args.label, json=args.json,
        trust_place=False,
    )  # fmt: skip


def _one(args: Namespace, ref: str) -> int:
    from dibs.worker.command import CommandWork
    from dibs.worker.template import check_command

    check_command(args.command_line)
    with opened(args, pid=os.getpid()) as queue:
        lease = queue.claim_one(queue.resolve(ref), args.ttl or TTL_SECONDS)
        work = CommandWork(args.command_line, show_output=True)
        queue.keep(lease)
        try:
            with _Attention(work, lease):
                ended = work.do(lease, _NoSlot(), None if args.timeout is None else lease.since + args.timeout)
            return _finish(args, lease, ended)
        finally:
            queue.unkeep(lease)


def _finish(args: Namespace, lease: Lease, ended: Done | Failed | GivenUp) -> int:
    from dibs.worker.work import Done, Failed

    code, words = DONE, ""
    if isinstance(ended, Done):
        lease.complete(ended.result)
    elif isinstance(ended, Failed):
        lease.fail(ended.error, retry=ended.retry)
        code, words = FAILED, ended.error
    elif lease.held:
        lease.release()
        code, words = FAILED, ended.why
    else:
        code, words = LOST, ended.why
    outcome = lease.state
    if args.json:
        emit({"id": lease.id, "epoch": lease.epoch, "outcome": outcome, "error": words})
    else:
        print(clean(f"{outcome} {lease.id} (epoch {lease.epoch})" + (f": {words}" if words else "")))
    return code


class _NoSlot:
    def set_group(self, group: int) -> None:
        """Nobody looks: the heart knows the command by its mark."""


class _Attention:
    """Ends the command when a signal comes, or when the lease is lost.

    A thread listens, on the descriptor that Python writes signals to: a handler would not run when its signal
    comes just before the main thread begins to wait for the command.
    """

    def __init__(self, work: CommandWork, lease: Lease) -> None:
        self._work = work
        self._lease = lease
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._ear, self._mouth = socket.socketpair()
        self._mouth.setblocking(False)
        self._wakeup = signal.set_wakeup_fd(self._mouth.fileno())
        self._before = [(number, signal.signal(number, lambda *_: None)) for number in _SIGNALS]
        self._watcher.start()

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        self._mouth.close()
        self._watcher.join()
        self._ear.close()

    def _watch(self) -> None:
        while True:
            heard = b""
            if select.select([self._ear], [], [], _WATCH_SECONDS)[0]:
                heard = self._ear.recv(1)
                if not heard:
                    return
            if heard and heard[0] in _SIGNALS:
                warn("stopping: the spec is released")
                self._work.leave(f"stopped by {signal.Signals(heard[0]).name}")
            elif not self._lease.held:
                self._work.abandon(self._lease.id, "its lease is lost")


ACTIONS: dict[str, Callable[[Namespace], int]] = {"work": _work}
