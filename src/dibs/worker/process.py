"""The process of a runner, from its command line to its end."""

import io
import os
import signal
import socket
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from dibs.errors import BadInput, DibsError
from dibs.queues.channel import Channel
from dibs.worker.board import Board
from dibs.worker.job import Job, job_from_message
from dibs.worker.leaving import leave
from dibs.worker.runner import BAD_EXIT, Runner
from dibs.worker.work import Work


def make_work(job: Job) -> Work:
    if job.command:
        from dibs.worker.command import CommandWork

        return CommandWork(job.command, show_output=job.show_output)
    from dibs.worker.call import CallWork

    return CallWork(job.call)


def main(argv: Sequence[str]) -> int:
    """`python -m dibs.worker.process URL CONTROL_FD BOARD_FD SLOTS FIRST COUNT`"""
    from dibs.queues import open_queue

    control, board_fd, slots, first, count = (int(word) for word in argv[1:])
    for fd in (control, board_fd):
        os.set_inheritable(fd, False)
    channel = Channel(socket.socket(fileno=control))
    try:
        message = channel.receive_one()
        if message is None:
            return BAD_EXIT
        job = job_from_message(message)
        board = Board(board_fd, slots)
        work = make_work(job)
        queue = open_queue(job.url)
    except DibsError as error:
        channel.send({"unusable": str(error), "usage": isinstance(error, BadInput)})
        return BAD_EXIT
    runner = Runner(job, queue, work, board, board.slots[first : first + count], channel)

    def stop(number: int, frame: FrameType | None) -> None:
        runner.stop_soon()

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # what functions print is seen when they print it
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    code, own = 0, os.getpid()
    try:
        runner.run()
    except DibsError as error:
        channel.send({"unusable": str(error), "usage": isinstance(error, BadInput)})
        code = BAD_EXIT
    if os.getpid() == own:  # a function may have forked: what its child has is not its own
        leave(queue)
    return code


def _leave(code: int) -> NoReturn:
    """At once: threads that a function left behind must not keep the process."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _leave(main(sys.argv[1:]))
