"""A runner's end: nothing is waited for once it was told to stop, and a queue that does not let go holds nobody."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dibs.queues.channel import Channel
from dibs.queues.files.queue import FilesQueue
from dibs.queues.queue import Queue
from dibs.worker import leaving
from dibs.worker.board import new_board
from dibs.worker.command import CommandWork
from dibs.worker.job import Job
from dibs.worker.runner import Runner
from dibs.worker.supervisor import Supervisor
from waiting import PATIENCE

from .conftest import lines


def test_who_is_told_to_stop_while_it_looks_does_not_wait(
    url: str, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backend may have counted the word that rouses before the look."""
    waits: list[float] = []
    board = new_board(1)
    ours, theirs = socket.socketpair()
    job = Job(url=url, command=("true",))
    runner = Runner(job, queue, CommandWork(job.command, show_output=False), board, board.slots, Channel(ours))

    def stopped_meanwhile(*_: Any, **__: Any) -> list[Any]:
        runner.stop()
        return []

    monkeypatch.setattr(queue, "claim_many", stopped_meanwhile)
    monkeypatch.setattr(FilesQueue, "_wait", lambda _, seconds: waits.append(seconds))
    with ours:
        with theirs:
            runner.run()
        for thread in threading.enumerate():
            if thread.name == "control":
                thread.join(PATIENCE)  # it listens to the other end
    assert waits == []


def test_a_queue_that_does_not_close_holds_nobody(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, never = threading.Event(), threading.Event()

    def close() -> None:
        begun.set()
        never.wait(60)

    monkeypatch.setattr(leaving, "LEAVING_SECONDS", 0.01)
    with monkeypatch.context() as patched:
        patched.setattr(queue, "close", close)
        leaving.leave(queue)
    assert begun.wait(PATIENCE)
    never.set()


def test_the_spans_of_a_runner_are_exported_before_it_ends(
    queue: Queue, module: Callable[..., str], supervise: Callable[..., Supervisor], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """An exporter that sends only now and then: a runner ends without the interpreter's usual end."""
    module(
        """
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
        provider = TracerProvider()
        exporter = ConsoleSpanExporter(out=open("SPANS", "a"), formatter=lambda span: span.name + "\\n")
        provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=600_000))
        trace.set_tracer_provider(provider)
        def nothing(payload): return None
        """.replace("SPANS", str(tmp_path / "spans"))
    )
    monkeypatch.setenv("DIBS_TRACES", "1")
    queue.push(1)
    assert supervise(call="jobs:nothing", until_empty=True).ended.wait(PATIENCE)
    assert lines(tmp_path / "spans") == ["dibs.claim", "dibs.run", "dibs.complete"]
