"""QUEUE, dibs.toml and `dibs config` through the program; completion scripts."""

import os
import subprocess
from pathlib import Path

import pytest

from dibs.cli.commands import COMMANDS
from waiting import PATIENCE

from .conftest import PROGRAM, Run, environment


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "dibs.toml").write_text(
        'queue = "scrape"\nmax_attempts = 4\n\n[queues.scrape]\nurl = "queues/scrape"\nttl = "5m"\n\n'
        '[queues.secret]\nurl = "postgres://app:${DB_PASSWORD}@127.0.0.1:1/jobs?api_key=${DB_PASSWORD}"\n'
    )
    below = tmp_path / "deep" / "below"
    below.mkdir(parents=True)
    return below


SECRET = {"DB_PASSWORD": "hunter2"}


def test_a_named_queue_is_relative_to_the_file(dibs: Run, project: Path, tmp_path: Path) -> None:
    assert dibs("push", "scrape", "1", cwd=project).code == 0
    assert (tmp_path / "queues" / "scrape" / "dibs.json").exists()
    lease = dibs("claim", "scrape", cwd=project).json
    assert lease["ttl"] == 300.0
    assert dibs("show", "scrape", lease["id"], "--json", cwd=project).json["task"]["max_attempts"] == 4


def test_the_default_queue(dibs: Run, project: Path, tmp_path: Path) -> None:
    assert dibs("push", ".", '"by dot"', cwd=project).code == 0
    assert dibs("claim", cwd=project).json["payload"] == "by dot"
    assert dibs("push", ".", '"env"', cwd=project, env={"DIBS_QUEUE": "elsewhere"}).code == 0
    assert (project / "elsewhere" / "dibs.json").exists()
    assert dibs("stats", "--json", cwd=project, env={"DIBS_QUEUE": "elsewhere"}).json["total"] == 1
    assert dibs("push", ".", "1", cwd=tmp_path, env={"DIBS_QUEUE": "scrape"}).code == 0
    assert dibs("stats", "queues/scrape", "--json").json["total"] == 2


def test_a_default_path_is_relative_to_the_file(dibs: Run, project: Path, tmp_path: Path) -> None:
    (tmp_path / "dibs.toml").write_text('queue = "here/q"')
    assert dibs("push", ".", "1", cwd=project).code == 0
    assert (tmp_path / "here" / "q" / "dibs.json").exists()


def test_without_any_setting_the_default_is_here(dibs: Run, tmp_path: Path) -> None:
    assert dibs("push", ".", "1").code == 0
    assert (tmp_path / ".dibs" / "queues" / "default" / "dibs.json").exists()


def test_a_name_wins_over_a_folder(dibs: Run, project: Path, tmp_path: Path) -> None:
    dibs("push", "./scrape", "1")
    dibs("push", "scrape", "1")
    dibs("push", "scrape", "2")
    assert dibs("stats", "./scrape", "--json").json["total"] == 1
    assert dibs("stats", "scrape", "--json").json["total"] == 2


def test_paths_of_a_dir_queue_are_relative_to_the_file(dibs: Run, tmp_path: Path) -> None:
    (tmp_path / "dibs.toml").write_text('[queues.tiles]\nurl = "dir:tiles?done=done&leases=/abs"\n')
    below = tmp_path / "below"
    below.mkdir()
    url = dibs("config", "tiles", "--json", cwd=below).json["url"]
    assert url == f"dir:{tmp_path}/tiles?done={tmp_path}/done&leases=/abs"


@pytest.mark.parametrize("how", ["flag", "environment", "file", "queue"])
def test_an_unknown_queue_type_lists_the_known(dibs: Run, tmp_path: Path, how: str) -> None:
    words = ["push", "q", "1"]
    env = {}
    if how == "flag":
        words += ["--queue-type", "rabbit"]
    elif how == "environment":
        env = {"DIBS_QUEUE_TYPE": "rabbit"}
    elif how == "file":
        (tmp_path / "dibs.toml").write_text('queue_type = "rabbit"')
    else:
        (tmp_path / "dibs.toml").write_text('[queues.q]\nurl = "q"\nqueue_type = "rabbit"')
    result = dibs(*words, env=env)
    assert result.code == 2
    assert "'rabbit' is not known; known: filesystem, memory, directory" in result.err
    assert not (tmp_path / "q").exists()


def test_queue_type_says_what_a_plain_path_is(dibs: Run, tmp_path: Path) -> None:
    def url(queue: str, kind: str) -> str:
        return str(dibs("config", queue, "--queue-type", kind, "--json").json["url"])

    assert url("tiles", "filesystem") == "file:tiles"
    assert url("tiles", "directory") == "dir:tiles"
    assert url("file:tiles", "directory") == "file:tiles"


def test_config_for_people(dibs: Run, project: Path, tmp_path: Path) -> None:
    result = dibs("config", cwd=project, env={**SECRET, "DIBS_TTL": "90"})
    assert result.code == 0
    rows = {line.split()[0]: line for line in result.out.splitlines() if line}
    assert rows["ttl"].endswith("environment DIBS_TTL")
    assert "90s" in rows["ttl"]
    assert rows["max_attempts"].endswith(str(tmp_path / "dibs.toml"))
    assert rows["backoff"].endswith("default")
    assert f"file:{tmp_path}/queues/scrape" in result.out
    assert "postgres://app:***@127.0.0.1:1/jobs?api_key=***" in result.out


def test_config_as_json(dibs: Run, project: Path, tmp_path: Path) -> None:
    found = dibs("config", "scrape", "--json", cwd=project, env=SECRET).json
    assert found["file"] == str(tmp_path / "dibs.toml")
    assert found["settings"]["ttl"] == {"value": 300.0, "from": f"{tmp_path}/dibs.toml [queues.scrape]"}
    assert found["settings"]["max_runtime"] == {"value": None, "from": "default"}
    assert found["queues"]["secret"]["url"] == "postgres://app:***@127.0.0.1:1/jobs?api_key=***&queue=secret"
    assert dibs("config", "--json", cwd=Path("/")).json["file"] is None


def test_config_names(dibs: Run, project: Path) -> None:
    assert dibs("config", "--names", cwd=project).out.split() == ["scrape", "secret"]


@pytest.mark.parametrize(
    "words", [["stats", "secret"], ["push", "secret", "1"], ["claim", "secret"], ["config", "secret"]]
)
def test_secrets_are_never_printed(dibs: Run, project: Path, words: list[str]) -> None:
    result = dibs(*words, cwd=project, env=SECRET)
    assert "hunter2" not in result.out + result.err
    for url in ("redis://u:hunter2@127.0.0.1:1/0", "postgres://u:hunter2@127.0.0.1:1/db", "nothing://u:hunter2@h/0"):
        direct = dibs("stats", url, cwd=project)
        assert direct.code in (1, 2)
        assert "hunter2" not in direct.out + direct.err


def test_bash_completions_work(dibs: Run, project: Path, tmp_path: Path) -> None:
    script = dibs("completions", "bash").out
    assert subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True).stderr == b""

    def complete(*words: str) -> set[str]:
        line = " ".join(f"'{word}'" for word in words)
        ask = f'{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _dibs; printf "%s\\n" "${{COMPREPLY[@]}}"'
        env = environment(PATH=f"{Path(PROGRAM).parent}:{os.environ['PATH']}")
        done = subprocess.run(["bash", "-c", ask], capture_output=True, cwd=project, env=env, timeout=PATIENCE)
        assert done.stderr == b""
        return set(done.stdout.decode().split())

    assert complete("dibs", "cl") == {"claim", "claimed"}
    assert complete("dibs", "claim", "scr") == {"scrape"}
    assert complete("dibs", "claim", "scrape", "--max") == {"--max-priority"}
    assert complete("dibs", "list", "scrape", "--state", "c") == {"claimed", "completed", "cancelled"}
    assert complete("dibs", "completions", "f") == {"fish"}
    assert complete("dibs", "claim", "scrape", "--ttl", "") == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_completed(dibs: Run, shell: str) -> None:
    script = dibs("completions", shell).out
    for command in COMMANDS:
        assert command in script
    for option in ("max-priority", "queue-type", "until-empty", "older-than"):
        assert option in script
    assert dibs("completions", shell, "--json").json == {"shell": shell, "script": script}


def test_zsh_quotes_and_brackets_are_balanced(dibs: Run) -> None:
    for line in dibs("completions", "zsh").out.splitlines():
        if line.strip().startswith("'"):
            assert line.count("[") == line.count("]")
            assert line.replace("'\\''", "").count("'") == 2


def test_fish_lines_are_all_complete_commands(dibs: Run) -> None:
    lines = dibs("completions", "fish").out.splitlines()
    assert all(line.startswith(("complete -c dibs ", "#")) for line in lines)
