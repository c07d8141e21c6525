"""`dibs dashboard`: where it sends a browser, and that the token is seen by nobody else."""

import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dibs.cli.handover import hand_over
from serve.process import Process

from .conftest import Run

SECRET = "http://127.0.0.1:8750/#token=a-secret-token"


def fetched(address: str, seconds: float = 30) -> tuple[int, str | None]:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=seconds)
    connection.request("GET", parts.path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, answer.getheader("Location")


def test_a_browser_is_sent_on_once_and_its_command_line_has_no_secret() -> None:
    given: list[str] = []
    answers: list[tuple[int, str | None]] = []

    def browser(address: str) -> bool:
        given.append(address)
        root = address.rpartition("/")[0]
        answers.extend([fetched(f"{root}/"), fetched(f"{root}/guessed"), fetched(address)])
        with pytest.raises(OSError):
            fetched(address, seconds=2)
        return True

    assert hand_over(SECRET, browser, 30.0)
    assert "secret" not in given[0]
    assert answers == [(404, None), (404, None), (302, SECRET)]


def test_no_browser_is_said() -> None:
    assert not hand_over(SECRET, lambda _: False, 30.0)


def test_without_a_browser_the_address_is_printed_without_the_token(
    dibs: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    daemon = Process(tmp_path, "queues/scrape")
    try:
        token = (tmp_path / "token").read_text().split()[0]
        env = {"DIBS_TOKEN": token}
        where = daemon.told["url"]
        said = dibs("dashboard", where, env=env)
        assert said.code == 0
        assert f"open {where}/" in said.err
        assert token not in said.err + said.out
        shown = json.loads(dibs("dashboard", f"{where}/scrape", "--json", env=env).out)
        assert (shown["url"], shown["token"]) == (f"{where}/", True)
    finally:
        daemon.end()


def test_a_daemon_that_is_not_there_and_an_address_that_no_browser_opens(dibs: Run) -> None:
    gone = dibs("dashboard", "http://127.0.0.1:9")
    assert gone.code == 1
    assert "no daemon answers at http://127.0.0.1:9/" in gone.err
    assert "Try: dibs serve" in gone.err
    assert dibs("dashboard", "unix:/run/dibs.sock/q").code == 2
