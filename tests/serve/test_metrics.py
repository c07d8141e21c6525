"""What the daemon counts, and whether it says that it is well."""

import http.client
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families

import dibs
from dibs.errors import LeaseLost, StorageError
from dibs.serve import exposition, readiness
from dibs.serve.logs import Log
from dibs.serve.metrics import METRICS
from serve.conftest import Ask
from serve.daemon import READ_TOKEN, TOKEN, Daemon
from servers.server import Server
from waiting import PATIENCE

Samples = dict[tuple[str, ...], float]


def scraped(daemon: Daemon, token: str = READ_TOKEN) -> Samples:
    """(name, label values in order of their names) -> value."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 200
    families = list(text_string_to_metric_families(text))
    assert {family.name for family in families} == {name.removesuffix("_total") for name in METRICS}
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.fixture(autouse=True)
def _always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposition, "FRESH_SECONDS", -1.0)
    monkeypatch.setattr(readiness, "FRESH_SECONDS", -1.0)


def test_what_happened_is_counted(daemon: Daemon) -> None:
    with dibs.open(daemon.url) as queue:
        queue.push_many(range(2))
        first, second = queue.claim(), queue.claim()
        assert first is not None
        assert second is not None
        first.complete()
        daemon.house.counters["q"].desk.end((second.id, second.epoch))
        taken = queue.claim()
        assert taken is not None
        queue.push_many(range(2))
        with pytest.raises(LeaseLost):
            second.renew()
        queue.pause()
        assert queue.claim() is None
        found = scraped(daemon)
    assert found["dibs_tasks", "q", "ready"] == 2
    assert found["dibs_tasks", "q", "claimed"] == 1
    assert found["dibs_tasks", "q", "completed"] == 1
    assert found["dibs_paused", "q"] == 1
    assert found["dibs_queue_up", "q"] == 1
    assert found["dibs_oldest_ready_seconds", "q"] >= 0
    assert found["dibs_heartbeat_lag_seconds", "q"] >= 0
    assert found["dibs_claimed_total", "q"] == 3
    assert found["dibs_takeovers_total", "q"] == 1
    assert found["dibs_leases_lost_total", "q"] == 1
    assert found["dibs_claim_seconds_count", "q"] == 3
    assert found["dibs_steps_total", "done", "q", "complete"] == 1
    assert found["dibs_steps_total", "empty", "q", "claim"] == 1
    assert found["dibs_steps_total", "lease-lost", "q", "renew"] == 1
    assert found["dibs_http_requests_total", "claim", "200"] == 4
    assert found["dibs_http_requests_total", "renew", "409"] == 1


def test_a_dropped_session_and_a_waiting_claim_are_counted(daemon: Daemon) -> None:
    daemon.house.counters["q"].sessions.dropped("w-1")
    assert scraped(daemon)["dibs_sessions_dropped_total", "q"] == 1
    assert scraped(daemon)["dibs_sessions", "q"] == 0
    assert scraped(daemon)["dibs_waiting_claims", "q"] == 0
    assert daemon.logged == ["dibs: session dropped queue=q worker=w-1"]


@pytest.mark.parametrize(("kind", "counted"), [("bucket", ("put", "get", "list", "delete")), ("redis", ("command",))])
def test_what_is_asked_of_the_store_behind_is_counted(
    kind: str, counted: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue("moto" if kind == "bucket" else "redis_server")
    place = f"{server.endpoint}/0?queue=q{uuid4().hex}&warn=off" if kind == "redis" else server.url(server.bucket())
    daemon = Daemon(lambda: dibs.open(place, pid=None))
    try:
        with dibs.open(daemon.url) as queue:
            queue.push(1)
            before = scraped(daemon)
            lease = queue.claim()
            assert lease is not None
            lease.complete()
            after = scraped(daemon)
    finally:
        daemon.stop()
    name = "dibs_store_requests_total"
    assert {key[1] for key in after if key[0] == name} == set(counted)
    assert after[name, counted[0], "q"] > before[name, counted[0], "q"] > 0


def test_how_long_a_spec_has_been_ready_is_not_known_unless_it_says_from_when(
    tmp_path: Path, start: Callable[..., Daemon]
) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "a.md").write_text("---\nstatus: pending\n---\n# A\n")
    daemon = start(others={"specs": lambda: dibs.open(f"specs:{tmp_path}/specs")})
    found = scraped(daemon)
    assert found["dibs_tasks", "specs", "ready"] == 1
    assert ("dibs_oldest_ready_seconds", "specs") not in found
    assert found["dibs_oldest_ready_seconds", "q"] == 0


def test_metrics_need_a_token_and_health_does_not(ask: Ask, daemon: Daemon) -> None:
    assert ask("GET", "/metrics", Authorization=None).status == 401
    assert ask("GET", "/healthz", Authorization=None).json["ok"] is True
    assert ask("GET", "/readyz", Authorization=None).json == {"ready": True}
    scraped(daemon, TOKEN)


def test_a_queue_that_does_not_answer_is_named(
    ask: Ask, daemon: Daemon, monkeypatch: pytest.MonkeyPatch, start: Callable[..., Daemon]
) -> None:
    def broken(*_: Any) -> None:
        raise StorageError("the disk is gone; see file:/x?token=hunter2")

    desk = daemon.house.counters["q"].desk
    monkeypatch.setattr(type(desk.queue), "paused", property(broken))
    answer = ask("GET", "/readyz", Authorization=None)
    assert answer.status == 503
    assert ": q;" in answer.json["error"]["message"]
    assert "hunter2" not in str(daemon.logged)
    assert "disk is gone" in str(daemon.logged)
    monkeypatch.setattr(desk, "look", type("Broken", (), {"stats": broken})())
    assert scraped(daemon)["dibs_queue_up", "q"] == 0


def test_logs_are_lines_of_json_without_secrets(folder: str) -> None:
    lines: list[str] = []
    daemon = Daemon(lambda: dibs.open(folder, pid=None), log=Log(lines.append, "json", "debug"))
    try:
        with dibs.open(daemon.url) as queue:
            queue.push({"password": "a-secret-payload"}, key="a-private-key")
            lease = queue.claim()
            assert lease is not None
            queue.get("a-private-key")
            lease.complete({"also": "a-secret-payload"})
            with pytest.raises(LeaseLost):
                queue._connections.post(f"/tasks/{lease.id}/renew", {"epoch": 1})
    finally:
        daemon.stop()
    told = [json.loads(line) for line in lines]
    routes = [one["route"] for one in told if one["event"] == "request"]
    assert routes[:5] == ["about", "time", "push", "claim", "get"]
    assert all({"at", "level", "status", "client"} <= one.keys() for one in told if one["event"] == "request")
    refused = next(one for one in told if one["event"] == "step refused")
    assert (refused["kind"], refused["task"], refused["level"]) == ("lease-lost", lease.id, "info")
    for secret in (TOKEN, "a-secret-payload", "a-private-key"):
        assert secret not in "\n".join(lines)


def test_a_quieter_log_leaves_requests_out() -> None:
    lines: list[str] = []
    log = Log(lines.append, "text", "warning")
    log.note("debug", "request")
    log.note("info", "step refused")
    log.note("warning", "session dropped", worker="a b", why=None)
    log("broken: http://h/q?token=hunter2")
    assert lines == ['dibs: session dropped worker="a b"', "dibs: broken: http://h/q?token=***"]
