"""The worker's end of its heart: the process (`dibs.worker.heart`) that keeps its leases while it works.

One per queue and process, started with the first lease that is kept. It beats also while Python is
busy elsewhere, stops when this process is stopped, and cleans up when it is dead: what this process has
started by then is known by a mark that is put into `os.environ` here, and is killed.
"""

import atexit
import os
import socket
import subprocess
import sys
import threading
import weakref
from functools import cache
from typing import Any

from dibs.errors import LeaseLost
from dibs.queues.channel import Channel
from dibs.queues.held import Lease
from dibs.queues.keeping import Keeping
from dibs.queues.queue import Queue
from dibs.redact import redact

MARK = "DIBS_WARD"
_START = threading.Lock()
_SHORT_LIFE_SECONDS = 1.0


def start_heart(queue: Queue) -> "Heart":
    with _START:
        if not isinstance(queue._heart, Heart):
            queue._heart = Heart(queue)
        return queue._heart


class Heart:
    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._lock = threading.Lock()
        self._stopping = False
        self._start()
        atexit.register(_at_exit, weakref.ref(self))

    def hold(self, lease: Lease) -> None:
        """Keep it from now on. LeaseLost when it is gone already."""
        if self._pid != os.getpid():  # a forked child has no heart of its own yet
            with self._lock:
                if self._pid != os.getpid():
                    self._start()
        while not self._ready.wait(lease.ttl / 4):
            lease.renew()  # it is still ours to renew, until the heart has it
        if not self._keeping.hold(lease):
            self._keeping.drop(lease)
            raise LeaseLost(f"lease lost: task {lease.id} (epoch {lease.epoch}) cannot be kept; claim again")
        longest = lease.task.max_runtime
        if longest is not None:
            self._send({"limit": [lease.id, lease.epoch], "at": lease.since + longest, "seconds": longest})

    def drop(self, lease: Lease) -> None:
        self._keeping.drop(lease)
        if lease.task.max_runtime is not None:
            self._send({"unlimit": [lease.id, lease.epoch]})

    def stop(self) -> None:
        """Keep nothing more. Leases still held run out by themselves."""
        with self._lock:
            if self._stopping or self._pid != os.getpid():
                return
            self._stopping = True
        self._send({"stop": True})
        self._keeping.give_up()
        self._process.wait()
        self._reader.join()
        self._channel.close()

    @property
    def idle(self) -> bool:
        return not self._keeping.in_hand

    def _start(self) -> None:
        self._pid = os.getpid()
        self._keeping = Keeping(self._queue, self._send)
        self._spawn()

    def _spawn(self) -> None:
        mark = _mark_of(self._pid)
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "dibs.worker.heart", redact(self._queue.url), str(self._pid), mark],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                cwd=self._queue.opened_in,
                env={name: value for name, value in os.environ.items() if name != MARK},
                start_new_session=True,
            )
        self._channel = Channel(ours)
        self._send({"url": self._queue.url})
        self._ready = threading.Event()
        self._born = self._queue.clock.boottime()
        self._reader = threading.Thread(
            target=self._listen, args=(self._channel, self._ready), name="dibs-heart", daemon=True
        )
        self._reader.start()

    def _send(self, message: dict[str, Any]) -> bool:
        return self._channel.send(message)

    def _listen(self, channel: Channel, ready: threading.Event) -> None:
        while (messages := channel.receive()) is not None:
            for message in messages:
                self._keeping.hear(message)
                if "over" in message:
                    self._end(*message["over"])
                elif "ready" in message:
                    ready.set()
        ready.set()
        if self._stopping or self._pid != os.getpid():
            return
        self._process.wait()
        if self._queue.clock.boottime() - self._born < _SHORT_LIFE_SECONDS:
            self._keeping.give_up()  # it cannot run here; its own words are on stderr
            return
        self._spawn()
        self._keeping.ask_again()

    def _end(self, task_id: str, epoch: int) -> None:
        """Its max_runtime is over, and the heart has failed it."""
        for lease in self._keeping.in_hand:
            if lease.id == task_id and lease.epoch == epoch and lease.state == "held":
                lease.state = "lost"


@cache
def _mark_of(pid: int) -> str:
    """One mark for this process, added to those of the workers it runs under."""
    mark = os.urandom(8).hex()
    os.environ[MARK] = ",".join(filter(None, [os.environ.get(MARK), mark]))
    return mark


def _at_exit(reference: "weakref.ref[Heart]") -> None:
    """In good order with nothing in hand. Otherwise the heart sees the process end, and gives back what it had."""
    heart = reference()
    if heart is not None and heart.idle:
        heart.stop()
