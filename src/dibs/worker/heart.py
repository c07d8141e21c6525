"""The heart: a process that keeps the leases of one worker, its parent. `python -m dibs.worker.heart URL PID MARK`

It reads messages from the socket that is its stdin. It ends when told to stop, or when the
worker is dead and everything is cleaned up. A worker that closed the socket without a word and lives on
(it executed another program) has left its leases: they run out.
"""

import os
import selectors
import signal
import socket
import sys
from collections.abc import Sequence

from dibs.errors import DibsError, StorageError
from dibs.queues.channel import Channel
from dibs.queues.queue import Queue
from dibs.worker.guard import Guard, Ward
from dibs.worker.leaving import leave

_LEFT_SECONDS = 1.0


class Heart:
    def __init__(self, queue: Queue, channel: Channel, ward: Ward) -> None:
        self._queue = queue
        self._channel = channel
        self._ward = ward
        self._guard = Guard(queue, self)
        self._guard.wards.append(ward)
        self._longest: dict[tuple[str, int], float] = {}
        self._left_at: float | None = None
        self._over = False
        self._trouble = ""

    def run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel, selectors.EVENT_READ, self._hear)
            notice = _death_notice(self._ward.pid)
            if notice is not None:
                selector.register(notice, selectors.EVENT_READ, selector.unregister)
            if self._channel.waiting:  # it came together with the first message
                self._hear(selector)
            while not self._over:
                pause = self._guard.step()
                if self._left_at is not None:
                    pause = min(pause, 0.05)
                    self._over = self._over or self._queue.clock.boottime() > self._left_at + _LEFT_SECONDS
                if self._over:
                    return
                for key, _ in selector.select(pause):
                    if key.fileobj is self._channel:
                        self._hear(selector)
                    else:
                        selector.unregister(key.fileobj)  # the next step sees the death

    def _hear(self, selector: selectors.BaseSelector) -> None:
        messages = self._channel.receive()
        if messages is None:
            selector.unregister(self._channel)
            if not self._ward.dead:
                self._left_at = self._queue.clock.boottime()
            return
        for message in messages:
            if "hold" in message:
                for handle in message["drop"]:
                    self._guard.drop(self._ward, handle)
                kept = [
                    (handle, self._guard.hold(self._ward, handle, ttl, until)) for handle, ttl, until in message["hold"]
                ]
                self._channel.send({"kept": kept})
            elif "limit" in message:
                task_id, epoch = message["limit"]
                self._ward.limits[task_id, epoch] = message["at"]
                self._longest[task_id, epoch] = message["seconds"]
            elif "unlimit" in message:
                task_id, epoch = message["unlimit"]
                self._ward.limits.pop((task_id, epoch), None)
                self._longest.pop((task_id, epoch), None)
            elif "stop" in message:
                self._over = True

    # What the guard reports

    def lost(self, ward: Ward, handle: str) -> None:
        self._channel.send({"lost": handle})

    def over(self, ward: Ward, name: tuple[str, int]) -> None:
        seconds = self._longest.pop(name)
        try:
            lease = self._queue.lease(*name)
            lease.fail(f"timed out: held longer than max_runtime {seconds:g} s")
        except StorageError as error:
            self.trouble(error)
        except DibsError:
            pass  # it is over or another's already: what was wanted
        self._channel.send({"over": name})

    def settle(self, ward: Ward) -> None:
        """What the worker had counts as lost by its death."""

    def buried(self, ward: Ward) -> None:
        self._over = True

    def trouble(self, error: StorageError) -> None:
        if str(error) != self._trouble:
            self._trouble = str(error)
            print(f"dibs: {error}", file=sys.stderr)  # noqa: T201 - the worker may be beyond hearing


def _death_notice(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def main(argv: Sequence[str]) -> int:
    from dibs.queues import open_queue

    _, pid, mark = argv
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # meant for the worker; the heart leaves with it
    channel = Channel(socket.socket(fileno=0))
    first = channel.receive_one()  # the URL as it is: a command line is seen by everybody
    if first is None:
        return 1
    queue = open_queue(first["url"])
    heart = Heart(queue, channel, Ward(int(pid), mark))
    channel.send({"ready": os.getpid()})
    heart.run()
    leave(queue)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
