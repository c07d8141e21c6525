"""A daemon over a queue of files, and a way to ask it without a client."""

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import dibs
from serve.daemon import TOKEN, Daemon
from waiting import PATIENCE


class Answer(NamedTuple):
    status: int
    json: Any

    @property
    def kind(self) -> str:
        return str(self.json["error"]["kind"])


Ask = Callable[..., Answer]


@pytest.fixture
def folder(quick_folder: Path) -> str:
    return f"file:{quick_folder}/q?sync=off"


@pytest.fixture
def start(folder: str) -> Iterator[Callable[..., Daemon]]:
    started: list[Daemon] = []

    def one(**options: Any) -> Daemon:
        started.append(Daemon(lambda: dibs.open(folder, pid=None), **options))
        return started[-1]

    yield one
    for daemon in started:
        daemon.stop()


@pytest.fixture
def daemon(start: Callable[..., Daemon]) -> Daemon:
    return start(grace=0.2, gate_most_bytes=100_000)


@pytest.fixture
def ask(daemon: Daemon) -> Ask:
    def send(method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str | None) -> Answer:
        given: dict[str, str | None] = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE)
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        connection.putrequest(method, path, skip_host="Host" in given)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        if data is not None:
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return Answer(answer.status, json.loads(text) if text else None)

    return send
