"""Commands that go through the daemon of their dibs.toml while it runs, and to the queue itself when it does not."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs as library
from cli.conftest import PROGRAM, Run, environment
from servers import ports

TOML = """\
[daemon]
enabled = true
listen = "127.0.0.1:{port}"
socket = "{socket}"
token = "token"
index = "none"

[queues.scrape]
url = "file:q?sync=off"
"""
Serve = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def port() -> int:
    return ports.free()


@pytest.fixture
def project(tmp_path: Path, port: int) -> Path:
    (tmp_path / "dibs.toml").write_text(TOML.format(port=port, socket="s"))
    return tmp_path


@pytest.fixture
def serve() -> Iterator[Serve]:
    started = []

    def start(folder: Path, *words: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [PROGRAM, "serve", *words, "--json"], stdout=subprocess.PIPE, text=True, cwd=folder, env=environment()
        )
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["queues"]
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def steps(port: int, folder: Path) -> dict[str, int]:
    """What the daemon was asked to do, by step."""
    from urllib.request import Request, urlopen

    token = (folder / "token").read_text().split()[0]
    asked = Request(f"http://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {token}"})
    lines = [
        line for line in urlopen(asked, timeout=30).read().decode().splitlines() if "dibs_http_requests_total" in line
    ]
    found: dict[str, int] = {}
    for line in lines:
        if "route=" in line:
            route = line.partition('route="')[2].partition('"')[0]
            found[route] = found.get(route, 0) + int(float(line.rpartition(" ")[2]))
    return found


def claimed(run: Run, **env: str) -> dict[str, Any]:
    result = run("claim", "scrape", "--ttl", "600", env=env)
    assert result.code == 0, result
    (record,) = result.lines
    return dict(record)


@pytest.mark.parametrize("socket", ["s", "none"])
def test_a_claim_goes_on_whether_the_daemon_is_there_or_not(
    dibs: Run, project: Path, port: int, serve: Serve, socket: str
) -> None:
    (project / "dibs.toml").write_text(TOML.format(port=port, socket=socket))
    daemon = serve(project)
    for number in range(3):
        assert dibs("push", "scrape", json.dumps(number)).code == 0
    first = claimed(dibs)
    assert steps(port, project)["push"] == 3
    assert steps(port, project)["claim"] == 1
    daemon.kill()
    daemon.communicate()
    done = dibs("complete", "scrape", first["id"], "--epoch", "1")
    assert (done.code, done.err) == (0, ""), done  # it says nothing of the daemon
    second = claimed(dibs)
    serve(project)
    assert dibs("renew", "scrape", second["id"], "--epoch", "1").code == 0
    assert dibs("complete", "scrape", second["id"], "--epoch", "1").code == 0
    assert steps(port, project)["complete"] == 1
    assert dibs("complete", "scrape", second["id"], "--epoch", "1").code == 4
    counts = dibs("stats", "scrape", "--json").json["states"]
    assert (counts["completed"], counts["ready"]) == (2, 1)
    assert steps(port, project)["stats"] == 1


def test_whoever_switches_it_off_goes_to_the_queue_itself(dibs: Run, project: Path, port: int, serve: Serve) -> None:
    serve(project)
    assert dibs("push", "scrape", "1", env={"DIBS_DAEMON": "off"}).code == 0
    assert claimed(dibs, DIBS_DAEMON="off")["epoch"] == 1
    assert dibs("push", "file:q", "2").code == 0  # a URL is what it says
    own = dibs("claim", "scrape", "--pid", str(os.getpid()))
    assert own.code == 0, own  # a daemon could not see the process
    work = dibs("work", "scrape", "--until-empty", "--", sys.executable, "-c", "")
    assert work.code == 0, work
    assert not {"push", "claim", "complete"} & set(steps(port, project))


def test_a_daemon_of_another_project_is_not_asked(dibs: Run, project: Path, port: int, serve: Serve) -> None:
    """It serves a queue of the same name at the same socket."""
    other = project / "other"
    other.mkdir()
    (other / "dibs.toml").write_text(
        TOML.format(port=port, socket=project / "s").replace('"token"', f'"{project}/token"')
    )
    serve(other)
    assert dibs("push", "scrape", '"mine"').code == 0  # there was no queue yet
    assert dibs("push", "scrape", '"mine"').code == 0
    assert "push" not in steps(port, project)
    with library.open(f"file:{project}/q") as queue:
        assert [task.payload for task in queue.tasks()] == ["mine", "mine"]
    assert dibs("push", "scrape", '"theirs"', cwd=other).code == 0
    assert steps(port, project)["push"] == 1


def test_a_socket_that_nobody_listens_on_is_nobody(dibs: Run, project: Path) -> None:
    import socket

    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(project / "s"))
    dead.close()
    result = dibs("push", "scrape", "1")
    assert (result.code, result.err) == (0, ""), result
    (project / "s").unlink()
    (project / "s").write_text("not a socket")
    result = dibs("push", "scrape", "1")
    assert (result.code, result.err) == (0, ""), result


def test_a_queue_in_the_memory_of_the_daemon(dibs: Run, project: Path, port: int, serve: Serve) -> None:
    text = TOML.format(port=port, socket="s").partition("[queues")[0] + '[queue]\nbackend = "memory"\n'
    (project / "dibs.toml").write_text(text)
    refused = dibs("push", ".", "1")
    assert refused.code == 2
    assert "dibs serve" in refused.err
    daemon = serve(project)
    assert dibs("push", ".", "1").code == 0
    work = dibs("work", ".", "--until-empty", "--", sys.executable, "-c", "")
    assert work.code == 0, work
    assert dibs("stats", ".", "--json").json["states"]["completed"] == 1
    shown = dibs("config", "--json").json["settings"]
    assert shown["queue.backend"] == {"value": "memory", "from": f"{project}/dibs.toml [queue]"}
    assert shown["daemon.enabled"] == {"value": True, "from": f"{project}/dibs.toml [daemon]"}
    daemon.kill()
    daemon.communicate()
    assert dibs("stats", ".").code == 2


def test_what_lists_come_from_must_be_possible(dibs: Run, project: Path) -> None:
    (project / "dibs.toml").write_text('[queue]\nbackend = "derived"\n[daemon]\ncache = false\n')
    refused = dibs("serve")
    assert refused.code == 2
    assert "cache = true" in refused.err
