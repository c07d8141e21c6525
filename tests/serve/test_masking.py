"""Secrets are hidden by their key in every list and search through the daemon; who works on a task gets all of it."""

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.serve.cache.remembering import Remembering
from dibs.serve.dashboard.dashboard import Dashboard
from dibs.serve.masking import NOTHING_HIDDEN, Masking
from dibs.serve.search.searching import Searching
from serve.daemon import READ_TOKEN, TOKEN, Daemon
from waiting import PATIENCE

SECRET = {"user": "ada", "password": "hunter2", "deep": [{"api_token": "hunter3"}], "large": "x" * 20_000}


@pytest.fixture(params=["remembered", "scanned"])
def daemon(start: Callable[..., Daemon], request: pytest.FixtureRequest) -> Daemon:
    first = [Remembering()] if request.param == "remembered" else []
    return start(beside=[*first, Searching("none", rescan=0.0), Dashboard(["password", "*token*"])])


@pytest.fixture
def queue(daemon: Daemon) -> Iterator[Queue]:
    with dibs.open(daemon.url) as one:
        yield one


def asks(daemon: Daemon, path: str, token: str = TOKEN) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 200, text
    return text


def test_lists_and_searches_show_no_secret_and_find_none(daemon: Daemon, queue: Queue) -> None:
    large = queue.push(SECRET, key="large")
    small = queue.push({**SECRET, "large": ""}, key="small")
    for path in ("tasks?page=10", "tasks?state=ready", "search?q=ada"):
        text = asks(daemon, f"/v1/queues/q/{path}")
        assert "hunter" not in text
        assert small.id in text
        assert large.id in text
    assert json.loads(asks(daemon, "/v1/search?q=ada"))["found"] == 2
    for secret in ("hunter2", "hunter3"):
        for path in (f"/v1/search?q={secret}", f"/v1/queues/q/search?q={secret}",
                     f"/v1/dashboard/tasks?queue=q&text={secret}"):  # fmt: skip
            assert json.loads(asks(daemon, path))["tasks"] == []
    shown = {task.key: task.payload for task in queue.tasks()}
    assert shown["small"] == {"user": "ada", "password": "•••", "deep": [{"api_token": "•••"}], "large": ""}


def test_who_works_on_it_or_may_steer_it_gets_all(daemon: Daemon, queue: Queue) -> None:
    task = queue.push(SECRET)
    lease = queue.claim()
    assert lease is not None
    assert lease.payload == queue.get(task.id).payload == queue.lease(task.id, 1).payload == SECRET
    lease.complete({"session_token": "hunter4"})
    detail = queue.detail(task.id)
    assert (detail.task.payload, detail.result) == (SECRET, {"session_token": "hunter4"})


def test_a_token_that_may_only_look_gets_no_secret_anywhere(daemon: Daemon, queue: Queue) -> None:
    task = queue.push(SECRET)
    lease = queue.claim()
    assert lease is not None
    paths = ["", "/detail", "/lease?epoch=1"]
    texts = [asks(daemon, f"/v1/queues/q/tasks/{task.id}{path}", READ_TOKEN) for path in paths]
    lease.complete({"session_token": "hunter4"})
    texts += [asks(daemon, f"/v1/queues/q/tasks/{task.id}{path}", READ_TOKEN) for path in paths[:2]]
    assert not [text for text in texts if "hunter" in text]


def test_an_index_without_secrets_is_not_the_one_with_them(
    folder: str, tmp_path: Path, start: Callable[..., Daemon]
) -> None:
    """It is made again when what is hidden changes."""
    found: list[int] = []
    for mask in ((), ("password",), ()):
        daemon = start(beside=[Remembering(), Searching(str(tmp_path)), Dashboard(mask)])
        with dibs.open(daemon.url) as queue:
            if not found:
                queue.push(SECRET)
            found.append(queue.search("hunter2")["found"])  # type: ignore[attr-defined]
        daemon.stop()
    assert found == [1, 0, 1]


def test_what_is_hidden() -> None:
    mask = Masking(["a*"])
    nested: Any = {"b": 1}
    for _ in range(5000):
        nested = [nested]
    assert mask.value({"Abc": 1, "b": [{"a": {"c": 2}}], "c": "a"}) == {"Abc": "•••", "b": [{"a": "•••"}], "c": "a"}
    assert mask.value(nested) == "•••"
    assert NOTHING_HIDDEN.value(nested) is nested
