"""Whatever is asked: JSON, the right status, the words of the command line, and never a 500."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dibs
from dibs.serve.openapi import describe
from dibs.serve.routes import EVERYWHERE, PREFIX, ROUTES
from serve.conftest import Ask
from serve.daemon import Daemon

Q = "/v1/queues/q"
ID = "0" * 32


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind"),
    [
        ("GET", "/nowhere", None, 404, "no-route"),
        ("GET", "/v1/queues/other/stats", None, 404, "no-queue"),
        ("GET", f"{Q}/nothing", None, 404, "no-route"),
        ("GET", f"{Q}/stats/more", None, 404, "no-route"),
        ("DELETE", f"{Q}/stats", None, 405, "no-method"),
        ("POST", f"{Q}/stats", {}, 405, "no-method"),
        ("GET", f"{Q}/tasks/{ID}", None, 404, "not-found"),
        ("GET", f"{Q}/tasks/..%2F..%2Fetc", None, 404, "not-found"),
        ("GET", f"{Q}/tasks/%ff%00", None, 404, "not-found"),
        ("GET", f"{Q}/tasks?state=running", None, 400, "bad-input"),
        ("GET", f"{Q}/tasks?page=0", None, 400, "bad-input"),
        ("GET", f"{Q}/tasks?limit=x", None, 400, "bad-input"),
        ("GET", f"{Q}/tasks?next=gone", None, 400, "bad-input"),
        ("GET", f"{Q}/stats?a=1", None, 400, "bad-input"),
        ("POST", f"{Q}/claim", [], 400, "bad-input"),
        ("POST", f"{Q}/claim", {"limit": 0}, 400, "bad-input"),
        ("POST", f"{Q}/claim", {"limit": True}, 400, "bad-input"),
        ("POST", f"{Q}/claim", {"ttl": -1}, 400, "bad-input"),
        ("POST", f"{Q}/claim", {"wait": -1}, 400, "bad-input"),
        ("POST", f"{Q}/claim", {"max_priority": "huge"}, 400, "bad-input"),
        ("POST", f"{Q}/claim", {"surprise": 1}, 400, "bad-input"),
        ("POST", f"{Q}/tasks", {}, 400, "bad-input"),
        ("POST", f"{Q}/tasks", {"tasks": [1]}, 400, "bad-input"),
        ("POST", f"{Q}/tasks", {"tasks": [{"id": "../../x"}]}, 400, "bad-input"),
        ("POST", f"{Q}/tasks", {"tasks": [{"priority": 10**9}]}, 400, "bad-input"),
        ("POST", f"{Q}/tasks", {"tasks": [{"id": ID}, {"id": ID}]}, 400, "bad-input"),
        ("POST", f"{Q}/tasks/{ID}/complete", {}, 400, "bad-input"),
        ("POST", f"{Q}/tasks/{ID}/complete", {"epoch": 1}, 409, "lease-lost"),
        ("POST", f"{Q}/tasks/{ID}/renew", {"epoch": 1}, 409, "lease-lost"),
        ("POST", f"{Q}/tasks/{ID}/cancel", {}, 404, "not-found"),
        ("POST", f"{Q}/purge", {"state": "ready"}, 409, "refused"),
        ("GET", f"{Q}/session?worker=", None, 400, "bad-input"),
    ],
)
def test_errors_have_their_status_and_kind(
    ask: Ask, daemon: Daemon, method: str, path: str, body: object, status: int, kind: str
) -> None:
    answer = ask(method, path, body)
    assert (answer.status, answer.kind) == (status, kind)
    assert answer.json["error"]["message"]
    assert daemon.logged == []


@pytest.mark.parametrize(
    "raw", [b"{", b"\xff", b"[" * 100_000, b'{"a":', b"nul", b'{"ttl":1e999}', b'{"ttl":NaN}', b"1" * 5000]
)
def test_what_is_no_json_is_refused(ask: Ask, daemon: Daemon, raw: bytes) -> None:
    assert ask("POST", f"{Q}/claim", raw=raw).status in (400, 413)
    assert daemon.logged == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_nothing_that_is_sent_is_an_internal_error(ask: Ask, daemon: Daemon, data: st.DataObject) -> None:
    route = data.draw(st.sampled_from([route for route in ROUTES if not route.raw]))
    names = st.sampled_from([field.name for field in route.body] or ["x"]) | st.text(max_size=5)
    body = data.draw(st.dictionaries(names, JSON, max_size=4)) if route.method == "POST" else None
    if body is not None and "wait" in body:
        body["wait"] = 0
    path = Q + route.path.replace("{ref}", data.draw(st.sampled_from([ID, "a%20key", "%00", "."])))
    answer = ask(route.method, path, raw=None if body is None else json.dumps(body).encode())
    assert answer.status < 500
    assert daemon.logged == []


def test_the_description_names_every_route_and_nothing_else(ask: Ask) -> None:
    told = ask("GET", "/v1/openapi.json").json
    assert told == json.loads(json.dumps(describe(told["info"]["version"])))
    paths = {(method.upper(), path) for path, methods in told["paths"].items() for method in methods}
    whole = {("GET", path) for path in (PREFIX, EVERYWHERE, "/healthz", "/readyz", "/metrics")}
    assert paths == whole | {(route.method, f"{PREFIX}/{{queue}}{route.path}") for route in ROUTES}


def test_a_task_from_push_to_completion_as_curl_would(ask: Ask) -> None:
    pushed = ask("POST", f"{Q}/tasks", {"tasks": [{"payload": {"n": 1}, "key": "a/b", "priority": "high"}]}).json
    again = ask("POST", f"{Q}/tasks", {"tasks": [{"payload": {"n": 1}, "key": "a/b"}]}).json["tasks"][0]
    assert (again["duplicate"], again["id"]) == (True, pushed["tasks"][0]["id"])
    assert ask("GET", f"{Q}/tasks/a%2Fb").json["priority"] == 100
    (lease,) = ask("POST", f"{Q}/claim", {"ttl": 30, "wait": 5}).json["leases"]
    at = f"{Q}/tasks/{lease['id']}"
    assert 0 < ask("POST", f"{at}/renew", {"epoch": 1}).json["left"] <= 30
    assert ask("POST", f"{at}/complete", {"epoch": 2}).kind == "lease-lost"
    assert ask("POST", f"{at}/complete", {"epoch": 1, "result": 42}).status == 200
    assert ask("GET", f"{at}/detail").json["result"] == 42


def test_an_id_that_is_there_is_not_pushed_again(ask: Ask) -> None:
    task = {"id": "01a1e153b92e77d6aa36324a20af3913", "payload": 1}
    for _ in range(3):
        assert ask("POST", f"{Q}/tasks", {"tasks": [task]}).json["tasks"][0]["id"] == task["id"]
    (lease,) = ask("POST", f"{Q}/claim", {}).json["leases"]
    ask("POST", f"{Q}/tasks/{lease['id']}/complete", {"epoch": 1})
    assert ask("POST", f"{Q}/tasks", {"tasks": [task]}).json["tasks"][0]["state"] == "completed"
    assert ask("GET", f"{Q}/stats").json["states"]["completed"] == ask("GET", f"{Q}/stats").json["total"] == 1


def test_a_long_list_comes_in_pages(ask: Ask) -> None:
    ask("POST", f"{Q}/tasks", {"tasks": [{"payload": n} for n in range(25)]})
    page, seen = ask("GET", f"{Q}/tasks?page=10").json, []
    while True:
        seen += [task["payload"] for task in page["tasks"]]
        if page["next"] is None:
            break
        page = ask("GET", f"{Q}/tasks?page=10&next={page['next']}").json
    assert sorted(seen) == list(range(25))


def test_a_client_that_pushes_for_the_first_time_costs_no_look(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(ref: str) -> None:
        raise AssertionError(f"looked for {ref}")

    monkeypatch.setattr(daemon.house.counters["q"].desk.queue, "get", never)
    with dibs.open(daemon.url) as queue:
        assert len(queue.push_many(range(5))) == 5
