"""A daemon, asked about itself and the queue behind it, which is left alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import dibs
from doctor.broken import doctor, refusal, words
from serve.daemon import READ_TOKEN, TOKEN, Daemon
from serve.process import Process
from servers import ports
from servers.server import Server


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    one = Daemon(lambda: dibs.open(f"file:{tmp_path}/q?sync=off", pid=None), path=f"{tmp_path}/s")
    yield one
    one.stop()


def test_a_daemon_says_who_it_is_and_what_is_behind_it(tmp_path: Path) -> None:
    process = Process(tmp_path, f"{tmp_path}/q")
    try:
        url = process.url("q")
        with dibs.open(url) as queue:
            task = queue.push("left alone")
        code, report = doctor(url, "--quick")
        with dibs.open(url) as queue:
            assert [one.id for one in queue.tasks("ready")] == [task.id]
    finally:
        process.end()
    assert (code, report["verdict"], report["kind"]) == (0, "safe on one host", f"daemon {dibs.__version__}")
    assert report["reason"].startswith("place behind: not tried") and "where 'q' is" in report["reason"]
    assert "where the daemon runs" in report["remedy"]
    assert words(report, "queue") == "'q', the only one that the daemon serves"
    assert words(report, "token") == "it suffices to look and to work"
    assert words(report, "clock") == "agrees with this host's"
    assert report["figures"]["answer_seconds"] > 0
    assert url.partition("token=")[2] not in str(report)
    assert report["seconds"] <= 30


def test_a_socket_is_asked_too(tmp_path: Path, daemon: Daemon) -> None:
    _, report = doctor(f"unix:{tmp_path}/s/q", "--quick")
    assert (report["verdict"], report["kind"]) == ("safe on one host", f"daemon {dibs.__version__}")


def test_a_token_that_may_only_look_is_not_enough(daemon: Daemon) -> None:
    code, report = doctor(daemon.url.replace(TOKEN, READ_TOKEN), "--quick")
    assert (code, report["verdict"]) == (1, "not safe")
    assert report["reason"] == "token: this token may only look"


def test_a_wrong_token_and_a_queue_that_is_not_served_are_no_verdict(daemon: Daemon) -> None:
    assert "the token is wrong" in refusal(daemon.url.replace(TOKEN, "x" * 20))
    assert "none" in refusal(daemon.url_of("none"))


@pytest.mark.parametrize("place", ["http://127.0.0.1:{}/q", "unix:/nowhere-{}/s/q"])
def test_a_daemon_that_is_not_there_is_no_verdict(place: str) -> None:
    line = refusal(place.format(ports.free()))
    assert "no answer from the daemon" in line and "dibs serve" in line


def test_a_server_that_is_no_daemon_is_said_to_be_none(moto: Server) -> None:
    line = refusal(f"{moto.endpoint}/q")
    assert "does not answer as a dibs daemon does" in line
