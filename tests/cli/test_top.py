"""`dibs top`: by its keys without a terminal, and through a real one."""

import fcntl
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

import dibs
from children import environment
from dibs.cli.topkeys import named
from dibs.cli.toplook import Looker
from dibs.cli.topscreen import Screen
from dibs.cli.topview import TopView
from dibs.clock import SYSTEM
from dibs.errors import StorageError
from dibs.queues.queue import Queue
from dibs.states import State
from waiting import PATIENCE, until

PROGRAM = str(Path(sys.executable).with_name("dibs"))
_STEERING = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def pair(quick_folder: Path) -> Iterator[tuple[Queue, Queue]]:
    with (
        dibs.open(f"file:{quick_folder}/alpha?sync=off") as one,
        dibs.open(f"file:{quick_folder}/beta?sync=off") as other,
    ):
        yield one, other


def _itself(queue: Queue) -> Queue:
    return queue


def screen_on(*queues: Queue) -> Screen:
    lookers = [
        Looker(queue.url.partition("?")[0].rpartition("/")[2], queue.url, partial(_itself, queue), 1.0)
        for queue in queues
    ]
    for looker in lookers:
        looker.look()
    return Screen(lookers)


def press(screen: Screen, *keys: str) -> None:
    for key in keys:
        screen.press(key)


def test_the_arrows_choose_a_queue_and_then_a_task(pair: tuple[Queue, Queue]) -> None:
    pair[1].push_many([1, 2])
    first, second = pair[1].claim(ttl=60), pair[1].claim(ttl=60)
    assert first is not None
    assert second is not None
    screen = screen_on(*pair)
    assert screen.queue is not None
    assert screen.queue.name == "alpha"
    press(screen, "down", "down", "tab", "down")
    assert screen.queue.name == "beta"
    assert screen.task is not None
    assert screen.task.id == second.id
    press(screen, "up", "up")
    assert screen.task.id == first.id


def test_cancel_asks_first_and_takes_only_the_chosen(pair: tuple[Queue, Queue]) -> None:
    pair[0].push("x", key="tile-1")
    lease = pair[0].claim(ttl=60)
    assert lease is not None
    screen = screen_on(*pair)
    press(screen, "c")
    assert "choose a task" in screen.told
    press(screen, "tab", "c")
    assert "cancel tile-1" in screen.asked
    press(screen, "n")
    assert pair[0].stats().states["claimed"] == 1
    press(screen, "c", "y")
    assert screen.told == "tile-1 is cancelled"
    assert pair[0].get(lease.id).state == "cancelled"


def test_failed_tasks_are_put_back_when_asked_for(pair: tuple[Queue, Queue]) -> None:
    pair[0].push_many([1, 2])
    for lease in pair[0].claim_many(2):
        lease.fail("no", retry=False)
    screen = screen_on(*pair)
    press(screen, "r", "x")
    assert pair[0].stats().states["failed"] == 2
    press(screen, "r", "y")
    assert (screen.told, pair[0].stats().states["ready"]) == ("2 put back", 2)
    press(screen, "down", "r")
    assert "nothing of beta" in screen.told


def test_pause_and_go_on(pair: tuple[Queue, Queue]) -> None:
    screen = screen_on(*pair)
    press(screen, "down", "p")
    assert (pair[0].paused, pair[1].paused) == (None, "dibs top")
    press(screen, "p")
    assert pair[1].paused is None


def test_a_filter_is_for_queues_and_for_tasks(pair: tuple[Queue, Queue]) -> None:
    pair[0].push_many([dibs.NewTask(payload=1, key="north"), dibs.NewTask(payload=2, key="south")])
    assert len(pair[0].claim_many(2, ttl=60)) == 2
    screen = screen_on(*pair)
    press(screen, "/", *"bet", "x", "backspace", "enter")
    assert [one.name for one in screen.queues] == ["beta"]
    press(screen, "/", *"SOUTH", "enter")
    assert [one.name for one in screen.queues] == ["alpha"]
    assert [task.key for task in screen.tasks] == ["south"]
    press(screen, "/", *"zzz", "enter")
    assert (screen.queue, screen.tasks, screen.task) == (None, [], None)
    press(screen, "p", "r", "c", "/", "escape")
    assert len(screen.queues) == 2
    press(screen, "q")
    assert screen.over


def test_keys_are_told_apart() -> None:
    assert named(b"\x1b[A\x1b[Bq/\x1bOC\r\t\x7f") == ["up", "down", "q", "/", "right", "enter", "tab", "backspace"]
    assert named("é\x1b".encode()) == ["é", "escape"]
    assert named(b"\x03") == ["ctrl-c"]


def test_one_snapshot_as_json(pair: tuple[Queue, Queue], quick_folder: Path) -> None:
    pair[0].push_many([1, 2, 3])
    lease = pair[0].claim(ttl=60)
    assert lease is not None
    words = [PROGRAM, "top", f"{quick_folder}/alpha", f"{quick_folder}/beta", "--json", "--interval", "0.1"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=PATIENCE, check=True)
    alpha, beta = json.loads(done.stdout)["queues"]
    assert (alpha["name"], alpha["states"]["ready"], alpha["claims"][0]["id"]) == ("alpha", 2, lease.id)
    assert alpha["oldest_ready_seconds"] >= 0
    assert (beta["ended_per_second"], beta["oldest_ready_seconds"], beta["error"]) == (0.0, None, None)
    plain = subprocess.run([*words[:4], "--interval", "0.1"], capture_output=True, text=True, env=environment())
    assert plain.stdout.startswith("QUEUE")
    assert "beta" in plain.stdout


def test_how_long_a_spec_has_been_ready_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nstatus: pending\n---\n# A\n")
    with dibs.open(f"specs:{tmp_path}") as queue:
        seen = Looker("specs", queue.url, partial(_itself, queue), 1.0).look()
    assert (seen.error, seen.count(State.READY), seen.oldest) == ("", 1, None)


def drawn(screen: Screen, width: int) -> list[str]:
    console = Console(width=width, height=24, file=io.StringIO(), record=True)
    console.print(TopView(screen, SYSTEM, console).shown())
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 110, 200])
def test_names_and_numbers_are_whole_at_any_width(pair: tuple[Queue, Queue], width: int) -> None:
    pair[0].push_many(range(1234))
    pair[1].pause("somebody has to look at this first, and it takes a while to say why")
    screen = screen_on(*pair)
    head, alpha, beta, words, *_ = drawn(screen, width)
    columns = head.split()
    assert columns[:2] == ["QUEUE", "READY"]
    assert set(columns) <= {"QUEUE", *map(str.upper, State), "IN/S", "OUT/S", "OLDEST", "WORKERS"}
    assert len(columns) == 12 or width < 110
    assert alpha.split()[:3] == [">", "alpha", "1,234"]
    assert beta.split()[:2] == ["beta", "0"]
    assert words.startswith("beta: paused: somebody")


def test_a_long_name_is_cut_last_and_never_to_nothing(quick_folder: Path) -> None:
    with dibs.open(f"file:{quick_folder}/{'pictures-of-' * 5}?sync=off") as queue:
        queue.push_many(range(1000))
        head, row, *_ = drawn(screen_on(queue), 40)
    assert head.split() == ["QUEUE", "READY"]
    assert row.startswith("> pictures-of-")
    assert row.endswith("…  1,000")


def test_a_task_keeps_its_name_and_for_how_long_it_is_held(pair: tuple[Queue, Queue]) -> None:
    pair[0].push(1)
    lease = pair[0].claim(ttl=60)
    assert lease is not None
    text = "\n".join(drawn(screen_on(*pair), 60))
    assert lease.id in text
    assert "HELD FOR" in text


def test_a_queue_that_cannot_be_reached_is_opened_anew_with_the_next_look(pair: tuple[Queue, Queue]) -> None:
    class Gone:
        def stats(self) -> None:
            raise StorageError("no answer from the daemon")

        def close(self) -> None:
            pass

    ways = [Gone(), pair[0]]
    looker = Looker("alpha", "file:alpha", lambda: ways.pop(0), 1.0)  # type: ignore[arg-type, return-value]
    assert looker.look().error == "no answer from the daemon"
    screen = Screen([looker])
    head, row, words, *_ = drawn(screen, 80)
    assert (head.split()[:2], row.split()[:3]) == (["QUEUE", "READY"], [">", "alpha", "-"])
    assert words == "alpha: no answer from the daemon"
    assert looker.look().error == ""


class Terminal:
    """A program in a terminal of 120 columns."""

    def __init__(self, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.before = termios.tcgetattr(theirs)
        env = {**environment(), "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
        self.process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
        self._theirs = theirs
        self.heard = b""

    def until(self, text: str) -> None:
        """From now on."""
        self.heard = b""
        while text.encode() not in _STEERING.sub(b"", self.heard):
            assert select.select([self._ours], [], [], PATIENCE)[0], f"{text!r} did not come: {self.heard[-2000:]!r}"
            self.heard += os.read(self._ours, 65536)

    def _drain(self) -> None:
        while select.select([self._ours], [], [], 0)[0]:
            os.read(self._ours, 65536)

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def ended(self) -> int:
        until(lambda: self._drain() or self.process.poll() is not None, "the end")  # what nobody reads holds it up
        code = self.process.wait()
        assert termios.tcgetattr(self._theirs)[3] == self.before[3]  # given back as it was
        os.close(self._ours)
        os.close(self._theirs)
        return code


def test_through_a_terminal(pair: tuple[Queue, Queue], quick_folder: Path) -> None:
    pair[1].push("x", key="tile-7")
    lease = pair[1].claim(ttl=600)
    assert lease is not None
    words = [f"{quick_folder}/alpha", f"{quick_folder}/beta", "--interval", "0.2"]
    terminal = Terminal(PROGRAM, "top", *words)
    terminal.until("> alpha")
    terminal.press(b"\x1b[B")
    terminal.until("> beta")
    terminal.until("tile-7")
    terminal.press(b"p")
    terminal.until("paused: dibs top")
    assert pair[1].paused == "dibs top"
    terminal.press(b"\tc")
    terminal.until("cancel tile-7")
    terminal.press(b"y")
    terminal.until("tile-7 is cancelled")
    assert pair[1].get(lease.id).state == "cancelled"
    terminal.press(b"q")
    assert terminal.ended() == 0
