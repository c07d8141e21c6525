"""What a person sees: progress, a word after each step, the live view. On a real pseudo-terminal."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path

from waiting import PATIENCE

from .conftest import PROGRAM, Run, environment


def on_terminal(tmp_path: Path, *words: str, stdin: bytes | None = None, columns: int = 100) -> tuple[int, str]:
    """Exit code, and everything written to the terminal that is both stdout and stderr."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = environment(TERM="xterm")
    with subprocess.Popen(
        [PROGRAM, *words],
        cwd=tmp_path,
        env=env,
        stdin=subprocess.PIPE if stdin is not None else slave,
        stdout=slave,
        stderr=slave,
    ) as process:
        os.close(slave)
        if stdin is not None:
            assert process.stdin is not None
            process.stdin.write(stdin)
            process.stdin.close()
        seen = b""
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:  # the last writer has closed it
                break
            if not data:
                break
            seen += data
        os.close(master)
        return process.wait(PATIENCE), seen.decode()


def test_steps_say_what_they_did(dibs: Run, tmp_path: Path) -> None:
    task = dibs("push", "q", "1", "--key", "k").out.strip()
    dibs("claim", "q")
    code, seen = on_terminal(tmp_path, "complete", "q", task, "--epoch", "1")
    assert (code, seen.strip()) == (0, f"completed {task} (epoch 1)")
    code, seen = on_terminal(tmp_path, "claim", "q")
    assert (code, seen.strip()) == (3, "nothing to claim")
    dibs("pause", "q", "--reason", "noon")
    assert on_terminal(tmp_path, "claim", "q")[1].strip() == "nothing to claim; the queue is paused: noon"


def test_progress_of_many(tmp_path: Path) -> None:
    lines = b"\n".join(b"%d" % number for number in range(20_000))
    code, seen = on_terminal(tmp_path, "push", "q?sync=off", "--jsonl", "-", stdin=lines)
    assert code == 0
    assert "\rpushed " in seen
    assert "/s" in seen
    assert seen.rstrip().endswith("pushed 20,000 tasks")


def test_a_table_fits_the_terminal(dibs: Run, tmp_path: Path) -> None:
    dibs("push", "q", '"' + "x" * 500 + '"')
    _, seen = on_terminal(tmp_path, "list", "q", columns=80)
    rows = seen.splitlines()
    assert rows[1].endswith("…")
    assert {len(row) for row in rows} <= set(range(81))


def test_the_live_view(dibs: Run, tmp_path: Path) -> None:
    dibs("push", "q", "1", "--key", "one\x1b]0;title\x07")
    dibs("push", "q", "1")
    dibs("claim", "q", "--ttl", "1h")
    dibs("claim", "q", "--ttl", "1h")
    dibs("pause", "q", "--reason", "noon")
    code, seen = on_terminal(tmp_path, "watch", "q", "--count", "2", "--interval", "0.05")
    assert code == 0
    for words in ("file:q", "paused: noon", "claimed", "HELD FOR", "one\\x1b]0;title\\x07"):
        assert words in seen
    assert "\x1b]0;" not in seen


def test_what_the_doctor_found_is_whole_at_80_columns(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    code, seen = on_terminal(tmp_path, "doctor", "q", "--quick", columns=80)
    shown, _, below = seen.replace("\r\n", "\n").rpartition("\x1b[K")[2].partition("\n\n")
    assert code == 0 and "safe on one host" in below
    assert max(map(len, shown.splitlines())) <= 80
    words = " ".join(shown.split())
    assert "…" not in words
    assert "contested rename one winner each time · 6 processes, 125 rounds" in words
    assert "claimed and completed, of" in words  # the end of the longest
