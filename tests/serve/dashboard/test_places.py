"""What the page asks, asked without a page."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.serve.dashboard.dashboard import Dashboard
from dibs.task import NewTask
from serve.conftest import Ask
from serve.daemon import READ_TOKEN, TOKEN, Daemon
from waiting import PATIENCE, until

HOSTILE = "<img src=x onerror=alert(1)></script>"


@pytest.fixture
def queue(folder: str, daemon: Daemon) -> Queue:
    return dibs.open(folder)


def asks(ask: Ask, path: str) -> Any:
    answer = ask("GET", f"/v1/dashboard/{path}")
    assert answer.status == 200, answer
    return answer.json


SHOWN = ("", "/tasks?queue=q", "/task?queue=q&ref=x", "/claims?queue=q", "/events", "/graph?queue=q")


@pytest.mark.parametrize("path", SHOWN)
def test_no_data_without_a_token(ask: Ask, path: str) -> None:
    assert ask("GET", f"/v1/dashboard{path}", Authorization=None).status == 401


def test_a_token_that_may_only_look_may_look_and_no_more(ask: Ask) -> None:
    look = {"Authorization": f"Bearer {READ_TOKEN}"}
    assert ask("GET", "/v1/dashboard", **look).status == 200
    assert ask("POST", "/v1/dashboard/may-write", **look).status == 403
    assert ask("POST", "/v1/dashboard/may-write").json == {"write": True}


def ready(shown: dict[str, Any]) -> int | None:
    """None before the first look of the daemon."""
    return None if shown["stats"] is None else int(shown["stats"]["states"]["ready"])


def test_the_overview_has_counts_and_what_the_queue_can_do(ask: Ask, queue: Queue) -> None:
    queue.push_many(range(3))
    (shown,) = until(lambda: [one for one in ask("GET", "/v1/dashboard").json["queues"] if ready(one) == 3])
    assert shown["name"] == "q"
    assert shown["capabilities"]["records"] is True
    assert len(shown["line"]) == 60


def test_lists_are_paged_by_the_server(ask: Ask, queue: Queue) -> None:
    queue.push_many(NewTask(payload={"n": number}, key=f"k{number}") for number in range(120))
    seen: list[str] = []
    more = ""
    sizes = []
    while True:
        page = asks(ask, f"tasks?queue=q&state=ready{more}")
        sizes.append(len(page["tasks"]))
        seen += [task["key"] for task in page["tasks"]]
        if page["next"] is None:
            break
        more = f"&next={page['next']}"
    assert sizes == [50, 50, 20]
    assert len(set(seen)) == 120
    assert ask("GET", f"/v1/dashboard/tasks?queue=q{more}").kind == "bad-input"  # each page is given out once


def test_secrets_are_masked_in_lists_on_the_page_of_a_task_and_in_results(ask: Ask, queue: Queue) -> None:
    task = queue.push({"user": "ada", "password": "hunter2"}, key="login")
    lease = queue.claim()
    assert lease is not None
    lease.complete({"session_token": "hunter3", "ok": True})
    for path in ("tasks?queue=q", "tasks?queue=q&text=ada", f"task?queue=q&ref={task.id}", "graph?queue=q&ref=login"):
        assert "hunter" not in json.dumps(asks(ask, path))
    page = asks(ask, "task?queue=q&ref=login")
    assert json.loads(page["payload"]["text"]) == {"user": "ada", "password": "•••"}
    assert json.loads(page["result"]["text"]) == {"session_token": "•••", "ok": True}


def test_a_text_is_found_in_keys_ids_and_payloads_within_the_filters(ask: Ask, queue: Queue) -> None:
    queue.push({"url": "https://Example.com/a"}, key="one", project="news")
    two = queue.push({"url": "https://example.com/b"}, key="two", project="shop")
    queue.push({"url": "https://other.org"}, key="example-three", delay=60)

    def found(query: str) -> set[str]:
        return {task["key"] for task in asks(ask, f"tasks?queue=q&{query}")["tasks"]}

    assert found("text=xampl") == {"one", "two", "example-three"}
    assert found("text=example.com/b") == {"two"}
    assert found(f"text={two.id}") == {"two"}
    assert found("text=xampl&state=scheduled") == {"example-three"}
    assert found("text=xampl&project=news") == {"one"}
    assert found("text=nowhere") == set()


@pytest.mark.parametrize("daemon", ["index", "no index"], indirect=True)
def test_what_a_search_finds_is_paged_too(ask: Ask, queue: Queue) -> None:
    queue.push_many(NewTask(payload="needle", key=f"k{number}") for number in range(120))
    queue.push("hay")
    seen: set[str] = set()
    sizes, more = [], ""
    while True:
        page = asks(ask, f"tasks?queue=q&text=needle&state=ready{more}")
        sizes.append(len(page["tasks"]))
        seen.update(task["key"] for task in page["tasks"])
        assert page.get("found", 120) == 120
        if page["next"] is None:
            break
        more = f"&next={quote(page['next'])}"
    assert (sizes, len(seen), page["cut"]) == ([50, 50, 20], 120, False)


def test_a_query_that_cannot_be_read_is_said_unless_a_task_has_it_as_it_is(ask: Ask, queue: Queue) -> None:
    refused = ask("GET", "/v1/dashboard/tasks?queue=q&text=(((")
    assert (refused.status, refused.kind) == (400, "bad-input")
    assert "cannot be read" in refused.json["error"]["message"]
    task = queue.push("smile :-(((")
    assert [one["id"] for one in asks(ask, "tasks?queue=q&text=(((")["tasks"]] == [task.id]
    assert ask("GET", "/v1/dashboard/tasks?queue=q&text=a&next=elsewhere").kind == "bad-input"


def test_a_huge_payload_is_cut(ask: Ask, queue: Queue) -> None:
    queue.push({"blob": "x" * 3_000_000}, key="huge")
    page = asks(ask, "task?queue=q&ref=huge")
    assert page["payload"]["cut"] is True
    assert len(json.dumps(page)) < 250_000
    assert len(json.dumps(asks(ask, "tasks?queue=q"))) < 2_000


def test_the_page_of_a_task_tells_its_story(ask: Ask, queue: Queue) -> None:
    queue.push({"note": HOSTILE}, key="t", max_attempts=2, backoff=0)
    for word in ("first", "second"):
        lease = queue.claim()
        assert lease is not None
        lease.fail(f"{word} {HOSTILE}")
    page = asks(ask, "task?queue=q&ref=t")
    assert page["task"]["state"] == "failed"
    assert [event["error"] for event in page["history"]] == [f"first {HOSTILE}", f"second {HOSTILE}"]
    assert "2 of 2 attempts" in page["why"]
    assert page["ended_at"] <= page["now"] + 1


def test_a_row_of_what_is_over_says_when_it_ended(ask: Ask, queue: Queue, board: Dashboard) -> None:
    queue.push(1, key="done")
    queue.push(2, key="open")
    lease = queue.claim()
    assert lease is not None
    lease.complete()
    for _ in range(2):  # the second time it is known
        (row,) = asks(ask, "tasks?queue=q&state=completed")["tasks"]
        assert row["ended_at"] == queue.detail(lease.id).ended_at is not None
    assert len(board.endings._known) == 1
    assert [row["ended_at"] for row in asks(ask, "tasks?queue=q&state=ready")["tasks"]] == [None]


def test_those_who_wait_for_tasks_are_counted(ask: Ask, daemon: Daemon) -> None:
    assert asks(ask, "claims?queue=q")["waiting"] == 0
    with dibs.open(daemon.url) as queue, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(queue.claim, wait=60)
        until(lambda: asks(ask, "claims?queue=q")["waiting"], equals=1)
        assert asks(ask, "tasks?queue=q&state=claimed")["waiting"] == 1
        queue.push("enough")
        assert waiting.result(PATIENCE) is not None


def test_who_works_on_what(ask: Ask, queue: Queue) -> None:
    queue.push({"url": "https://example.com", "password": "hunter2"}, key="held")
    assert queue.claim(ttl=30) is not None
    (claim,) = asks(ask, "claims?queue=q")["claims"]
    assert (claim["key"], claim["ttl"]) == ("held", 30)
    assert claim["text"] == "url: https://example.com · password: •••"
    (row,) = asks(ask, "tasks?queue=q&state=claimed")["tasks"]
    assert row["claim"]["worker"] == claim["worker"]


def test_what_is_claimed_through_the_daemon_is_the_workers(ask: Ask, daemon: Daemon) -> None:
    with dibs.open(daemon.url) as client:
        client.push(1, key="far")
        lease = client.claim()
        assert lease is not None
        lease.renew()
        (claim,) = asks(ask, "claims?queue=q")["claims"]
        assert claim["pid"] == os.getpid()
        assert f"-{os.getpid()}-" in claim["worker"]
        assert asks(ask, "task?queue=q&ref=far")["claim"]["worker"] == claim["worker"]


def test_the_graph_has_what_waits_and_what_it_waits_for(ask: Ask, queue: Queue) -> None:
    a = queue.push(1, key="a")
    b = queue.push(2, key="b", after=["a"])
    c = queue.push(3, key="c", after=[b.id, "never-pushed"])
    queue.push(4, key="alone")
    drawn = asks(ask, "graph?queue=q")
    nodes = {node["id"]: node for node in drawn["nodes"]}
    assert set(nodes) == {a.id, b.id, c.id, "never-pushed"}
    assert nodes[b.id]["after"] == [a.id]
    assert set(nodes[c.id]["after"]) == {b.id, "never-pushed"}
    assert nodes["never-pushed"]["state"] == "unknown"
    assert drawn["cut"] is False


def test_a_graph_of_many_is_cut_but_has_what_was_asked_for(ask: Ask, queue: Queue) -> None:
    queue.push(0, key="root")
    queue.push_many(NewTask(payload=number, key=f"n{number:03}", after=["root"]) for number in range(400))
    drawn = asks(ask, "graph?queue=q&ref=n399")
    assert drawn["cut"] is True
    assert len(drawn["nodes"]) <= 301
    assert {"root", "n399"} <= {node["key"] for node in drawn["nodes"]}


def test_series_and_mistakes(ask: Ask) -> None:
    assert asks(ask, "series?queue=q&span=12h")["span"] == 43200
    assert ask("GET", "/v1/dashboard/series?queue=q&span=1y").kind == "bad-input"
    assert ask("GET", "/v1/dashboard/tasks?queue=other").kind == "no-queue"
    assert ask("GET", "/v1/dashboard/tasks").kind == "bad-input"
    assert ask("GET", "/v1/dashboard/task?queue=q&ref=nobody").kind == "not-found"
    assert ask("POST", "/v1/dashboard/tasks?queue=q", {}).kind == "no-method"


def test_what_another_process_pushes_comes_as_an_event(queue: Queue, daemon: Daemon) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE)
    connection.request("GET", "/v1/dashboard/events", headers={"Authorization": f"Bearer {TOKEN}"})
    answer = connection.getresponse()
    assert answer.getheader("content-type") == "text/event-stream"

    def told() -> Any:
        while True:
            line = answer.readline()
            assert line, "the stream ended"
            if line.startswith(b"data: "):
                return json.loads(line[6:])

    assert told()["name"] == "q"
    queue.push_many(range(7))
    while (news := told())["stats"] is None or news["stats"]["states"]["ready"] != 7:
        pass
    connection.close()


def test_a_daemon_that_stops_ends_the_streams(daemon: Daemon) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE)
    connection.request("GET", "/v1/dashboard/events", headers={"Authorization": f"Bearer {TOKEN}"})
    answer = connection.getresponse()
    assert answer.readline()
    assert daemon._loop is not None
    daemon._loop.call_soon_threadsafe(daemon.house.stop)
    while answer.readline():  # or the connection would stay open, and this would time out
        pass


def test_a_search_that_did_not_read_all_says_how_much_it_read(
    ask: Ask, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.serve.dashboard.finding.MOST_READ", 3)
    queue.push_many(range(5))
    page = asks(ask, "tasks?queue=q&text=nowhere")
    assert (page["tasks"], page["cut"], page["read"]) == ([], True, 3)
