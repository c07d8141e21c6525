"""One server for a run: whoever asks first, whoever leaves last, whatever is killed."""

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from children import command, environment
from servers import shared
from waiting import until

KIND = "rclone"  # a program of its own, quick to start
User = Callable[[], "subprocess.Popen[str]"]


@pytest.fixture
def start_user(tmp_path: Path) -> Iterator[User]:
    with ExitStack() as stack:

        def start() -> "subprocess.Popen[str]":
            pipe = subprocess.PIPE
            user = subprocess.Popen(
                command("servers.user", KIND, str(tmp_path)), stdin=pipe, stdout=pipe, text=True, env=environment()
            )
            stack.enter_context(user)
            stack.callback(user.kill)
            return user

        yield start


def endpoint(user: "subprocess.Popen[str]") -> str:
    assert user.stdout is not None
    return user.stdout.readline().strip()


def listens(endpoint: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlsplit(endpoint).port)) == 0


def test_all_users_get_one_server_and_the_last_ends_it(tmp_path: Path, start_user: User) -> None:
    users = [start_user() for _ in range(3)]
    found = {endpoint(user) for user in users}
    assert len(found) == 1
    (where,) = found
    users[0].communicate()
    users[1].kill()
    users[1].wait()
    assert listens(where)
    assert endpoint(start_user()) == where
    for user in users[2:]:
        user.communicate()
    assert listens(where), "one user is left"


def test_a_killed_run_leaves_nothing(tmp_path: Path, start_user: User) -> None:
    user = start_user()
    where = endpoint(user)
    assert listens(where)
    user.kill()
    until(lambda: not listens(where) and not shared.kept(tmp_path / KIND) and not (tmp_path / KIND / "data").exists())
    assert not (tmp_path / KIND / "server").exists()
    again = endpoint(start_user())
    assert listens(again)


def test_a_dead_keeper_is_replaced(tmp_path: Path, start_user: User) -> None:
    first = endpoint(start_user())
    os.kill(int((tmp_path / KIND / "keeper").read_text()), signal.SIGKILL)
    until(lambda: not shared.kept(tmp_path / KIND) and not listens(first))
    assert (tmp_path / KIND / "server").exists(), "it had no time to clean"
    second = endpoint(start_user())
    assert second != first
    assert listens(second)


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="KeyError: 'nonsense'"), shared.use("nonsense", tmp_path):
        pass
