"""What commands know of a daemon on this host: where it is, which token it wants, and what they say when it is gone."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dibs.config import DAEMON
from servers import ports

from .conftest import PROGRAM, Run, environment

TOML = """\
[daemon]
socket = "none"
listen = "127.0.0.1:{port}"
token = "secrets"
index = "none"

[queues.scrape]
url = "file:q?sync=off"
"""
Serve = Callable[..., str]


@pytest.fixture
def port() -> int:
    return ports.free()


@pytest.fixture
def project(tmp_path: Path, port: int) -> Path:
    (tmp_path / "dibs.toml").write_text(TOML.format(port=port))
    return tmp_path


@pytest.fixture
def serve(project: Path) -> Iterator[Serve]:
    """Start a daemon of the project; returns what it says."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> str:
        process = subprocess.Popen(
            [PROGRAM, "serve", *words], stderr=subprocess.PIPE, text=True, cwd=project, env=environment()
        )
        started.append(process)
        assert process.stderr is not None
        return process.stderr.readline() + process.stderr.readline()

    yield start
    for process in started:
        process.kill()
        process.communicate()


def tokens(file: Path) -> tuple[str, str]:
    """(the one that may do everything, the one that may only look)."""
    lines = file.read_text().splitlines()
    return lines[0], next(line.split()[1] for line in lines if line.startswith("read"))


def test_the_token_is_taken_from_the_file_that_dibs_toml_names(dibs: Run, port: int, serve: Serve) -> None:
    serve()
    assert dibs("push", f"http://127.0.0.1:{port}/scrape", "1").code == 0
    assert dibs("stats", f"http://127.0.0.1:{port}/scrape", "--json").json["states"]["ready"] == 1
    assert dibs("dashboard", "--json").json["token"]


def test_the_token_of_the_url_wins(dibs: Run, port: int, project: Path, serve: Serve) -> None:
    """So one shell can speak to two daemons."""
    serve()
    url = f"http://127.0.0.1:{port}/scrape"
    env = {"DIBS_TOKEN": "of-another-daemon"}
    assert dibs("stats", url, env=env).code == 1
    assert dibs("stats", f"{url}?token={tokens(project / 'secrets')[0]}", env=env).code == 0


def test_the_command_that_is_named_opens_the_dashboard(dibs: Run, port: int, project: Path, serve: Serve) -> None:
    other = ports.free()
    assert "look at it with `dibs dashboard`\n" in serve()
    assert f"look at it with `dibs dashboard http://127.0.0.1:{other}`\n" in serve("--listen", f"127.0.0.1:{other}")
    third = ports.free()
    said = serve("--listen", f"0.0.0.0:{third}", "--token", "another")
    assert f"`DIBS_DAEMON_TOKEN={project}/another dibs dashboard http://127.0.0.1:{third}`" in said
    env = {"DIBS_DAEMON_TOKEN": f"{project}/another"}
    assert dibs("dashboard", f"http://127.0.0.1:{third}", "--json", env=env).json["token"]
    assert dibs("stats", f"http://127.0.0.1:{third}/scrape", env=env).code == 0


def test_there_is_no_daemon_without_a_token(dibs: Run, project: Path) -> None:
    refused = dibs("serve", "--token", "none")
    assert refused.code == 2
    assert "a token is always needed" in refused.err
    assert not (project / "none").exists()


def test_a_queue_in_the_memory_of_a_daemon_that_is_down(dibs: Run, project: Path) -> None:
    memory = '[queue]\nbackend = "memory"\n'
    (project / "dibs.toml").write_text(f"[daemon]\nenabled = true\nsocket = 's'\n{memory}")
    refused = dibs("push", ".", "1")
    assert (refused.code, "Try: dibs serve\n" in refused.err, "enabled" in refused.err) == (2, True, False), refused
    (project / "dibs.toml").write_text(memory)
    assert "enabled = true" in dibs("push", ".", "1").err


def test_config_says_where_the_daemon_is(dibs: Run, project: Path, port: int) -> None:
    shown = dibs("config", "--json").json["settings"]
    where = f"{project}/dibs.toml [daemon]"
    assert shown["daemon.listen"] == {"value": f"127.0.0.1:{port}", "from": where}
    assert shown["daemon.socket"] == {"value": "none", "from": where}
    assert shown["daemon.token"] == {"value": f"{project}/secrets", "from": where}
    assert dibs("config", env={"DIBS_DAEMON_LISTEN": "[::1]:1"}).out.count("environment DIBS_DAEMON_LISTEN") == 1


def test_config_shows_all_that_the_daemon_can_be_told(dibs: Run, project: Path) -> None:
    (project / "dibs.toml").write_text('[daemon]\nrate = 500\ngrace = "10s"\nmask = ["password", "*token*"]\n')
    shown = dibs("config", "--json").json["settings"]
    assert {name for name in shown if name.startswith("daemon.")} == {f"daemon.{name}" for name in DAEMON}
    assert shown["daemon.mask"]["value"] == ["password", "*token*"]
    lines = {line.split()[0]: line for line in dibs("config").out.splitlines() if line.startswith("daemon.")}
    assert lines["daemon.rate"].split()[1] == "500"
    assert lines["daemon.grace"].split()[1] == "10s"
    assert "password, *token*" in lines["daemon.mask"]


@pytest.mark.parametrize("until", [(), ("--until-empty",)])
def test_a_worker_whose_token_may_only_look_says_so_once_and_leaves(
    dibs: Run, port: int, project: Path, serve: Serve, until: tuple[str, ...]
) -> None:
    serve()
    look = tokens(project / "secrets")[1]
    refused = dibs("work", f"http://127.0.0.1:{port}/scrape?token={look}", *until, "--", "true")
    assert refused.code == 1
    assert refused.err.count("this token may only look") == 1, refused
    assert "storage:" not in refused.err


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ('enabled = "yes"', "write true or false"),
        ("listen = 8750", "listen in"),
        ('listen = "127.0.0.1:many"', "write HOST:PORT"),
        ('log = "xml"', "use one of text, json"),
        ('grace = "soon"', "write seconds"),
    ],
)
def test_all_of_the_settings_are_checked_before_anything_is_served(
    dibs: Run, project: Path, setting: str, said: str
) -> None:
    """Also those that a flag overrules, or that only the other commands read."""
    (project / "dibs.toml").write_text(f'[daemon]\n{setting}\ntoken = "secrets"\nsocket = "none"\n')
    refused = dibs("serve", "q", "--listen", "127.0.0.1:0", "--log", "text")
    assert (refused.code, said in refused.err, "serving" in refused.err) == (2, True, False), refused
    assert not (project / "secrets").exists()


def test_a_token_in_the_place_of_its_file_is_refused_and_not_repeated(dibs: Run, project: Path) -> None:
    secret = "q8Zt-hFbn3LmE0v_yRWx2PdKc71uAaJs"
    (project / "dibs.toml").write_text(f'[daemon]\ntoken = "{secret}"\nsocket = "none"\n')
    refused = dibs("serve", "q", "--listen", "127.0.0.1:0")
    assert (refused.code, "looks like the token itself" in refused.err) == (2, True), refused
    assert secret not in refused.err
    assert not (project / secret).exists()


def test_a_queue_that_is_made_by_serving_it_is_named(project: Path, port: int, dibs: Run) -> None:
    dibs("push", "scrape", "1")
    process = subprocess.Popen(
        [PROGRAM, "serve", "scrape", "scarpe", "--listen", f"127.0.0.1:{port}"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=project,
        env=environment(),
    )
    try:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(3)]
    finally:
        process.kill()
        process.communicate()
    assert said[2] == "dibs: there was no queue at scarpe, so a new one was made\n"
