"""The contract over HTTP and over a Unix socket, whole, on a queue of files; with DIBS_LONG on one in memory too.

The daemon runs in a thread of the test process, with the test's clock on both sides. One test is left out: that a host
that booted again counts no death. Behind a daemon leases are the daemon's, which knows of a silent client only
that it is.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

import dibs
from dibs.clock import SYSTEM, Clock
from dibs.queues.queue import Queue
from dibs.queues.remote import RemoteQueue
from dibs.testing import ManualClock, QueueContract
from dibs.testing.harness import Contract
from disk.shifted import ShiftedFs
from serve.daemon import Daemon


class Serving(Contract):
    capabilities = RemoteQueue.capabilities
    race_tasks = 300
    thread_tasks = 200

    @pytest.fixture(autouse=True)
    def _serve(self, _prepare: None) -> Iterator[None]:
        self._daemons: dict[bool, Daemon] = {}
        yield
        for queue in self._opened:
            queue.close()
        for daemon in self._daemons.values():
            daemon.stop()

    def daemon(self, *, real: bool) -> Daemon:
        """One for the tests' own time, one for real time."""
        if real not in self._daemons:
            clock: Clock = SYSTEM if real else self.clock
            self._daemons[real] = Daemon(lambda: self.behind(clock), path=self.socket(), clock=clock)
        return self._daemons[real]

    def behind(self, clock: Clock) -> Queue:
        fs = ShiftedFs(clock) if isinstance(clock, ManualClock) else None
        return dibs.open(f"file:{self.tmp_path}/q?sync=off", pid=None, clock=clock, fs=fs)

    def socket(self) -> str | None:
        return None

    def place(self) -> str:
        return self.daemon(real=True).url

    def make_queue(self, **options: Any) -> Queue:
        daemon = self.daemon(real=options["clock"] is SYSTEM)
        return dibs.open(self.url(daemon), **options)

    def url(self, daemon: Daemon) -> str:
        return daemon.url


class TestRemoteFiles(Serving, QueueContract):
    test_a_host_that_booted_again_counts_no_death = None  # type: ignore[assignment]
    test_a_step_between_look_and_step_counts = None  # type: ignore[assignment]  # the daemon takes both


if os.environ.get("DIBS_LONG"):  # the same again, whatever is behind it

    class TestRemoteMemory(Serving, QueueContract):
        test_a_host_that_booted_again_counts_no_death = None  # type: ignore[assignment]
        test_a_step_between_look_and_step_counts = None  # type: ignore[assignment]

        def behind(self, clock: Clock) -> Queue:
            return dibs.open(f"memory:{self.tmp_path}", pid=None, clock=clock)


class TestRemoteUnix(Serving, QueueContract):
    test_a_host_that_booted_again_counts_no_death = None  # type: ignore[assignment]
    test_a_step_between_look_and_step_counts = None  # type: ignore[assignment]

    def socket(self) -> str:
        return f"{self.tmp_path}/s"

    def place(self) -> str:
        return self.url(self.daemon(real=True))

    def url(self, daemon: Daemon) -> str:
        return f"unix:{self.socket()}/q"
