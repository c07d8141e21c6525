"""Traces from push to complete: by the task's id, in worker and daemon alike, and off unless asked for."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace as api
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import dibs
from children import environment
from dibs.errors import LeaseLost
from dibs.tracing import trace_id_of
from serve.daemon import Daemon

_EXPORTER = InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def _provider() -> None:
    """One for the process: it cannot be set twice."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(_EXPORTER))
    api.set_tracer_provider(provider)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    monkeypatch.setenv("DIBS_TRACES", "1")
    _EXPORTER.clear()
    yield _EXPORTER
    _EXPORTER.clear()


def names(spans: InMemorySpanExporter, task_id: str, backend: str | None = None) -> list[str]:
    return [
        span.name.removeprefix("dibs.")
        for span in spans.get_finished_spans()
        if _about(span).get("dibs.task") == task_id and backend in (None, _about(span)["dibs.backend"])
    ]


def _about(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_one_task_is_one_trace_from_push_to_complete(spans: InMemorySpanExporter, folder: str) -> None:
    with api.get_tracer("app").start_as_current_span("app") as calling, dibs.open(folder) as queue:
        task = queue.push({"secret": "a-payload"}, key="k")
    with dibs.open(folder) as queue:
        lease = queue.claim(ttl=60)
        assert lease is not None
        lease.complete({"also": "a-payload"})
    assert names(spans, task.id) == ["push", "claim", "run", "complete"]
    found = [span for span in spans.get_finished_spans() if span.name != "app"]
    assert {span.context.trace_id for span in found if span.context} == {int(task.id, 16)}
    assert [link.context.span_id for link in found[0].links] == [calling.get_span_context().span_id]
    claim, run, complete = found[1:]
    assert (claim.start_time or 0) <= (run.end_time or 0) <= (complete.end_time or 0)
    assert _about(complete)["dibs.epoch"] == 1
    assert "a-payload" not in "".join(span.to_json() for span in found)


def test_worker_and_daemon_make_spans_of_one_trace(spans: InMemorySpanExporter, folder: str) -> None:
    daemon = Daemon(lambda: dibs.open(folder, pid=None))
    try:
        with dibs.open(daemon.url) as queue:
            first, second = queue.push_many([1, 2])
            lease = queue.claim(ttl=60)
            assert lease is not None
            following = queue.complete_and_claim(lease)
            assert following is not None
            following.fail("no", retry=False)
    finally:
        daemon.stop()
    by = {lease.id: lease for lease in (lease, following)}
    assert set(by) == {first.id, second.id}
    assert names(spans, lease.id, "RemoteQueue") == ["push", "claim", "run", "complete"]
    assert names(spans, lease.id, "FilesQueue") == ["push", "claim", "complete"]  # nothing runs in the daemon
    assert names(spans, following.id, "RemoteQueue") == ["push", "claim", "run", "fail"]
    tokens = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "a-token" not in tokens


def test_what_is_refused_is_an_error(spans: InMemorySpanExporter, folder: str) -> None:
    with dibs.open(folder) as queue, dibs.open(folder) as other:
        queue.push(1)
        lease = queue.claim(ttl=60)
        assert lease is not None
        other.cancel(lease.id)
        with pytest.raises(LeaseLost):
            lease.complete()
    last = spans.get_finished_spans()[-1]
    assert (last.name, last.status.status_code) == ("dibs.complete", api.StatusCode.ERROR)


def test_many_at_once(spans: InMemorySpanExporter, folder: str) -> None:
    with dibs.open(folder) as queue:
        tasks = queue.push_many(range(3))
        assert queue.complete_many(queue.claim_many(3, ttl=60)) == []
    assert [names(spans, task.id) for task in tasks] == [["push", "claim", "run", "complete"]] * 3


def test_off_unless_asked_for(folder: str, tmp_path: Path) -> None:
    _EXPORTER.clear()
    with dibs.open(folder) as queue:
        queue.push(1)
        lease = queue.claim(ttl=60)
        assert lease is not None
        lease.complete()
    assert _EXPORTER.get_finished_spans() == ()
    code = f"import dibs, sys; dibs.open({folder!r}).push(1); sys.exit('opentelemetry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=environment(), check=False).returncode == 0


def test_names_that_are_no_ids_have_traces_too() -> None:
    assert trace_id_of("0" * 31 + "a") == 10
    assert trace_id_of("tile-1.json") == trace_id_of("tile-1.json") != trace_id_of("tile-2.json")
    assert 0 < trace_id_of("z" * 32) < 2**128
    assert trace_id_of("0" * 32) > 0
