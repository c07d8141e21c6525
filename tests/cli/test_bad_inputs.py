"""Whatever is given, the answer is a line and an exit code, never a traceback."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from waiting import PATIENCE

from .conftest import PROGRAM, Run, environment

ID = "0" * 32

BATTERY: list[tuple[list[str], int]] = [
    (["nosuch"], 2),
    (["--nosuch"], 2),
    (["statz", "q"], 2),
    (["push"], 2),
    (["push", ""], 2),
    (["push", "", "1"], 2),
    (["push", "q", "{half"], 2),
    (["push", "q", "hello"], 2),
    (["push", "q", "NaN"], 2),
    (["push", "q", '"\\ud800"'], 2),
    (["push", "q", "[" * 5000], 2),
    (["push", "q", "1", "2"], 2),
    (["push", "q", "1", "--nosuch"], 2),
    (["push", "q", "1", "--priority", "urgent"], 2),
    (["push", "q", "1", "--priority", "-1"], 2),
    (["push", "q", "1", "--priority", "10000"], 2),
    (["push", "q", "1", "--key", ""], 2),
    (["push", "q", "1", "--key", "k" * 5000], 2),
    (["push", "q", "1", "--key", "\udcff"], 2),
    (["push", "q", "1", "--text", "\udcff"], 2),
    (["push", "q", "\udcff"], 2),
    (["push", "q", "--text", "\udcff"], 2),
    (["push", "q", "1", "--label", ""], 2),
    (["push", "q", "1", "--delay", "soon"], 2),
    (["push", "q", "1", "--delay", "-5"], 2),
    (["push", "q", "1", "--delay", "99999999999d"], 2),
    (["push", "q", "1", "--at", "soon"], 2),
    (["push", "q", "1", "--at", "99999-01-01"], 2),
    (["push", "q", "1", "--max-attempts", "0"], 2),
    (["push", "q", "1", "--max-attempts", "9" * 5000], 2),
    (["push", "q", "1", "--unique", "never"], 2),
    (["push", "nosuch:q", "1"], 2),
    (["push", "file:", "1"], 2),
    (["push", "q?nosuch=1", "1"], 2),
    (["push", "q?sync=maybe", "1"], 2),
    (["push", "new?shards=3", "1"], 2),
    (["push", "there", "1"], 1),
    (["push", "there/file", "1"], 1),
    (["push", "/proc/nosuch", "1"], 1),
    (["push", "n" * 300, "1"], 1),
    (["claim", "q", "--limit", "0"], 2),
    (["claim", "q", "--limit", "many"], 2),
    (["claim", "q", "--ttl", "0"], 2),
    (["claim", "q", "--ttl", "31d"], 2),
    (["claim", "q", "--wait", "soon"], 2),
    (["claim", "q", "--pid", "0"], 2),
    (["claim", "q", "--pid", "999999999999999999999"], 2),
    (["claim", "q", "--pid", "4194305"], 2),
    (["claim", "q", "--max-priority", "urgent"], 2),
    (["claim", "q", "extra"], 2),
    (["claim", "q", "--ttl"], 2),
    (["claim", "nosuch"], 1),
    (["complete", "q"], 2),
    (["complete", "q", ID], 2),
    (["complete", "q", ID, "--epoch", "0"], 2),
    (["complete", "q", ID, "--epoch", "one"], 2),
    (["complete", "q", ID, "--epoch", "1"], 1),
    (["complete", "q", "../../etc/passwd", "--epoch", "1"], 1),
    (["complete", "q", "", "--epoch", "1"], 1),
    (["renew", "q", ID, "--epoch", "1"], 1),
    (["release", "q", ID, "--epoch", "1", "--delay", "x"], 2),
    (["fail", "q", ID, "--epoch", "1", "--error", "é"], 1),
    (["list", "q", "--state", "nosuch"], 2),
    (["list", "q", "--limit", "-1"], 2),
    (["list", "there"], 1),
    (["show", "q", "nosuch"], 1),
    (["show", "q", ID], 1),
    (["show", "q", "../../etc/passwd"], 1),
    (["show", "q", ""], 1),
    (["show", "q", "a\nb"], 1),
    (["show", "q", "😀" * 300], 1),
    (["show", "q"], 2),
    (["why", "q", "nosuch"], 1),
    (["why", "q", "k", "--max-priority", "urgent"], 2),
    (["stats", "nosuch"], 1),
    (["stats", "https://u:secret@host/q"], 2),
    (["claimed", "nosuch"], 1),
    (["watch", "nosuch"], 1),
    (["watch", "q", "--interval", "x"], 2),
    (["pause", "nosuch"], 1),
    (["resume", "nosuch"], 1),
    (["cancel", "q"], 2),
    (["cancel", "q", "nosuch"], 1),
    (["cancel", "q", ""], 1),
    (["retry", "q"], 2),
    (["retry", "q", "nosuch"], 1),
    (["retry", "q", "k"], 1),
    (["purge", "q", "--state", "ready"], 2),
    (["purge", "q", "--older-than", "x"], 2),
    (["config", "--nosuch"], 2),
    (["completions"], 2),
    (["completions", "tcsh"], 2),
]


@pytest.mark.parametrize(
    ("words", "code"), BATTERY, ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else ""
)
def test_a_line_and_a_code(tmp_path: Path, words: list[str], code: int) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("somebody's")
    run = subprocess.run(
        [PROGRAM, "push", "q", "1", "--key", "k"], cwd=tmp_path, env=environment(), capture_output=True, check=True
    )
    assert run.stdout
    done = subprocess.run(
        [os.fsencode(PROGRAM), *(word.encode(errors="surrogateescape") for word in words)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=PATIENCE,
    )
    err = done.stderr.decode()
    assert (done.returncode, done.stdout) == (code, b""), err
    first, *rest = err.splitlines()
    assert first.startswith("dibs: ")
    assert "internal error" not in err
    assert all(line.startswith("Try: ") for line in rest)
    assert len(rest) <= 1
    assert "secret" not in err
    assert (tmp_path / "there" / "file").read_text() == "somebody's"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["q", "there"]


def test_a_close_command_is_proposed(dibs: Run) -> None:
    assert dibs("statz").err == "dibs: 'statz' is no command\nTry: dibs stats\n"
    assert dibs("xyzzy").err == "dibs: 'xyzzy' is no command\nTry: dibs --help\n"


def test_usage_errors_name_the_command(dibs: Run) -> None:
    result = dibs("claim", "q", "--ttl", "soon")
    assert result.err == (
        "dibs: claim: argument --ttl: duration 'soon' is not acceptable; write seconds, or 30s, 5m, 2h, 7d\n"
        "Try: dibs claim --help\n"
    )


def test_options_may_stand_anywhere(dibs: Run) -> None:
    assert dibs("push", "--key", "k", "q", "--priority", "high", '{"a": 1}').code == 0
    assert dibs("claim", "--ttl", "60", "q").code == 0


def test_a_reader_that_stops_early_is_no_error(dibs: Run, tmp_path: Path) -> None:
    dibs("push", "q?sync=off", "--jsonl", "-", "--text", stdin="\n".join(["x" * 500] * 2000))
    with subprocess.Popen(
        [PROGRAM, "list", "q", "--json", "--limit", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) == 141
        assert process.stderr.read() == b""


def test_ctrl_c_is_130_and_silent(dibs: Run, tmp_path: Path) -> None:
    dibs("push", "q", "1")
    with subprocess.Popen(
        [PROGRAM, "watch", "q", "--json", "--interval", "0.05"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (130, b"")


def test_closed_streams(dibs: Run, tmp_path: Path) -> None:
    dibs("push", "q", "1")
    for redirect in ("<&-", "2>&-", ">&-"):
        done = subprocess.run(
            f"'{PROGRAM}' push q - {redirect}",
            shell=True,
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            timeout=PATIENCE,
        )
        assert b"Traceback" not in done.stderr
        assert done.returncode in (1, 2)
    done = subprocess.run(
        f"'{PROGRAM}' claim q >&-", shell=True, cwd=tmp_path, env=environment(), capture_output=True, timeout=60
    )
    assert done.returncode == 1
    assert b"standard output is closed" in done.stderr
    assert dibs("claim", "q").json["epoch"] == 2


def test_the_working_directory_is_gone(tmp_path: Path) -> None:
    done = subprocess.run(
        f"mkdir gone && cd gone && rmdir ../gone && '{PROGRAM}' stats q",
        shell=True,
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 2
    assert b"dibs: the working directory is gone" in done.stderr


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "stats", "nosuch"], cwd=tmp_path, env=environment(DIBS_DEBUG="1"), capture_output=True, timeout=60
    )
    assert done.returncode == 1
    assert b"Traceback" in done.stderr
