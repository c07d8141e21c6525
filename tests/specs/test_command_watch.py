"""`dibs specs list --watch`, as a real process, on a pipe and on a terminal."""

import json
import os
import pty
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import PROGRAM, environment
from dibs.clock import SYSTEM, iso
from waiting import PATIENCE


def write(folder: Path, name: str, *lines: str) -> None:
    """As a person's editor does: all at once."""
    spare = folder / ".spare"
    spare.write_text("\n".join(["---", *lines, "---", f"# Title of {name}", ""]))
    spare.rename(folder / f"{name}.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / ".dibs" / "specs"
    made.mkdir(parents=True)
    write(made, "a", "status: pending", "labels: [x]")
    write(made, "b", "status: pending", "depends_on: a")
    return made


class Watching:
    """What a running `dibs specs list --watch` has written so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: int) -> None:
        self.process = process
        self._output = output
        self.text = ""

    def until(self, true: Callable[[str], bool]) -> str:
        """Read until that is true of all that was written; its answer."""
        deadline = SYSTEM.boottime() + PATIENCE
        while not true(self.text):
            left = deadline - SYSTEM.boottime()
            assert left > 0, self.text
            assert self.process.poll() is None, self.text
            if select.select([self._output], [], [], left)[0]:
                self.text += os.read(self._output, 65536).decode()
        return self.text

    def lines(self, count: int) -> list[Any]:
        """The next `count` lines of JSON."""
        text = self.until(lambda text: text.count("\n") >= count)
        assert text.count("\n") == count
        self.text = ""
        return [json.loads(line) for line in text.splitlines()]

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Callable[..., Watching]]:
    started = []

    def start(*words: str, terminal: bool = False) -> Watching:
        output, theirs = pty.openpty() if terminal else os.pipe()
        command = [PROGRAM, "specs", "list", "--watch", *words]
        process = subprocess.Popen(command, cwd=tmp_path, env=environment(TERM="xterm"), stdout=theirs, stderr=theirs)
        os.close(theirs)
        started.append((process, output))
        return Watching(process, output)

    yield start
    for process, output in started:
        process.kill()
        process.wait()
        os.close(output)


def test_each_change_is_a_line_of_json(folder: Path, watching: Callable[..., Watching]) -> None:
    seen = watching("--json")
    assert seen.lines(2) == [{"id": "a", "from": None, "to": "ready"}, {"id": "b", "from": None, "to": "blocked"}]
    write(folder, "a", "status: completed")
    assert seen.lines(2) == [
        {"id": "a", "from": "ready", "to": "completed"},
        {"id": "b", "from": "blocked", "to": "ready"},
    ]
    write(folder, "b", "status: [")
    write(folder, "c", "status: failed")
    assert sorted(seen.lines(2), key=str) == [
        {"id": "b", "from": "ready", "to": "unreadable"},
        {"id": "c", "from": None, "to": "failed"},
    ]
    (folder / "c.md").unlink()
    assert seen.lines(1) == [{"id": "c", "from": "failed", "to": None}]
    assert seen.end() == 0


def test_a_filter_shows_what_comes_and_what_goes(folder: Path, watching: Callable[..., Watching]) -> None:
    seen = watching("--json", "--ready", "--label", "x")
    assert seen.lines(1) == [{"id": "a", "from": None, "to": "ready"}]
    write(folder, "d", "status: pending")
    write(folder, "a", "status: completed", "labels: [x]")
    assert seen.lines(1) == [{"id": "a", "from": "ready", "to": "completed"}]
    write(folder, "d", "status: pending", "labels: [x]")
    assert seen.lines(1) == [{"id": "d", "from": None, "to": "ready"}]


def test_time_alone_makes_a_spec_ready(folder: Path, watching: Callable[..., Watching]) -> None:
    write(folder, "b", f"not_before: {SYSTEM.wall() + 2}")
    seen = watching("--json", "--summary")
    first = seen.lines(1)[0]
    assert first in ({"ready": 1, "scheduled": 1}, {"ready": 2})
    if first != {"ready": 2}:
        assert seen.lines(1) == [{"ready": 2}]


def test_on_a_pipe_the_list_is_printed_anew(folder: Path, watching: Callable[..., Watching]) -> None:
    began = iso(SYSTEM.wall())
    seen = watching()
    seen.until(lambda text: "Title of b" in text)
    write(folder, "b", "status: [")
    text = seen.until(lambda text: text.endswith("\n") and "b.md:3: " in text)
    pages = text.split("\n\n")
    assert len(pages) == 2
    days = (began[:10], iso(SYSTEM.wall())[:10])
    assert all(page.startswith(days) for page in pages)
    assert "Title of b" not in pages[1]
    assert seen.end() == 0


def test_on_a_terminal_the_list_takes_its_own_place(folder: Path, watching: Callable[..., Watching]) -> None:
    seen = watching(terminal=True)
    seen.until(lambda text: "Title of b" in text)
    write(folder, "a", "status: paused")
    text = seen.until(lambda text: "blocked (paused)" in text)
    assert "\x1b[2K" in text  # lines are cleared, not added
    assert seen.end() == 0
