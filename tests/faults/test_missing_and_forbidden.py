"""A folder deleted underneath, a folder nobody may write to, and names that try to lead out of the queue."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from children import environment
from dibs.queues.files.layout import FOLDERS
from dibs.queues.queue import Queue
from dibs.testing.topics.keys import HOSTILE
from waiting import PATIENCE

VERBS: dict[str, Callable[[Queue, Any], object]] = {
    "push": lambda queue, lease: queue.push(1),
    "push keyed": lambda queue, lease: queue.push(1, key="k"),
    "push many": lambda queue, lease: queue.push_many(range(10)),
    "claim": lambda queue, lease: queue.claim(),
    "claim filtered": lambda queue, lease: queue.claim(project="p"),
    "renew": lambda queue, lease: lease.renew(),
    "complete": lambda queue, lease: lease.complete("result"),
    "release": lambda queue, lease: lease.release(),
    "fail": lambda queue, lease: lease.fail("no"),
    "handle": lambda queue, lease: queue.handle(lease),
    "cancel": lambda queue, lease: queue.cancel(lease.id),
    "retry": lambda queue, lease: queue.retry(lease.id),
    "pause": lambda queue, lease: queue.pause(),
    "get": lambda queue, lease: queue.get(lease.id),
    "why": lambda queue, lease: queue.why(lease.id),
    "list": lambda queue, lease: list(queue.tasks()),
    "stats": lambda queue, lease: queue.stats(),
    "claimed": lambda queue, lease: queue.claimed(),
    "purge": lambda queue, lease: queue.purge(),
    "close": lambda queue, lease: queue.close(),
}
CHANGING = set(VERBS) - {"get", "why", "list", "stats", "claimed", "purge", "close"}


@pytest.mark.parametrize("verb", VERBS)
def test_a_folder_deleted_underneath(verb: str, tmp_path: Path) -> None:
    root = tmp_path / "q"
    queue = dibs.open(f"{root}?sync=off")
    queue.push_many(range(5))
    lease = queue.claim()
    shutil.rmtree(root)
    refused = ""
    try:
        VERBS[verb](queue, lease)
    except dibs.DibsError as error:
        refused = str(error)
        assert "\n" not in refused
    assert refused or verb not in CHANGING
    assert not root.exists(), "a deleted queue came back by itself"
    again = dibs.open(f"{root}?sync=off")
    task = again.push("fresh start")
    fresh = again.claim()
    assert fresh is not None
    assert fresh.id == task.id


@pytest.mark.parametrize("part", FOLDERS)
def test_one_folder_deleted_underneath(part: str, tmp_path: Path) -> None:
    """What is gone is gone; the rest goes on, or says what is wrong and goes on after a fresh start."""
    root = tmp_path / "q"
    queue = dibs.open(f"{root}?sync=off")
    queue.push("before", project="p", key="before")
    shutil.rmtree(root / part)
    ran = False
    for attempt in range(3):
        try:
            task = queue.push("after", key=f"after-{attempt}", project="p", delay=0.001)
            for lease in queue.claims(wait=0.3):
                lease.complete("fine")
                ran |= lease.id == task.id
        except dibs.StorageError as error:
            assert "\n" not in str(error)
            assert ";" in str(error)
            queue = dibs.open(f"{root}?sync=off")
        if ran:
            return
    raise AssertionError(f"without {part} the queue never works again")


FORBIDDEN = """
import os, sys, tempfile, dibs

def use(path):
    try:
        queue = dibs.open(path)
        print("states", queue.stats().states["ready"], len(list(queue.tasks())), queue.claimed())
        print("why", queue.why(next(iter(queue.tasks())).id).state)
        for verb in (lambda: queue.push(1), lambda: queue.push(1, key="k"), queue.claim, queue.pause,
                     lambda: queue.cancel(next(iter(queue.tasks())).id)):
            try:
                verb()
                print("allowed")
            except dibs.StorageError as error:
                print("refused", error)
    except dibs.StorageError as error:
        print("closed", error)

with tempfile.TemporaryDirectory() as folder:  # everything is imported while we still may read it
    dibs.open(folder + "/q").push(0)
    use(folder + "/q")
    use("/dev/null/q")
print("--")
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
use(sys.argv[1])
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach, as pytest's own are not."""
    folder = tempfile.mkdtemp(prefix="dibs-test-")
    os.chmod(folder, 0o755)
    yield Path(folder)
    for place, _, _ in os.walk(folder):
        os.chmod(place, 0o755)
    shutil.rmtree(folder)


def as_another_user(path: Path) -> list[str]:
    """As somebody whom permissions stop: root turns into nobody first."""
    script = [sys.executable, "-c", FORBIDDEN, str(path)]
    run = subprocess.run(script, capture_output=True, text=True, env=environment(), timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    warm_up, _, said = run.stdout.partition("--\n")
    assert warm_up.count("allowed") == 5
    return said.splitlines()


def test_a_folder_that_can_only_be_read(open_folder: Path) -> None:
    root = open_folder / "q"
    dibs.open(f"{root}?sync=off").push("a task")
    before = {place: os.listdir(place) for place, _, _ in os.walk(root)}
    for place in before:
        os.chmod(place, 0o555)
    said = as_another_user(root)
    assert said[:2] == ["states 1 1 []", "why ready"]
    assert len(said) == 7
    for line in said[2:]:
        assert line.startswith("refused")
        assert "ermission" in line
        assert str(root) in line
    assert {place: os.listdir(place) for place, _, _ in os.walk(root)} == before


def test_a_folder_that_cannot_even_be_read(open_folder: Path) -> None:
    root = open_folder / "q"
    dibs.open(f"{root}?sync=off").push("a task")
    os.chmod(root, 0o000)
    (line,) = as_another_user(root)
    assert line.startswith("closed")
    assert "ermission" in line


def test_a_place_where_no_folder_can_be_made(open_folder: Path) -> None:
    os.chmod(open_folder, 0o555)
    (line,) = as_another_user(open_folder / "q")
    assert line.startswith("closed")
    assert "ermission" in line


@pytest.mark.parametrize("path", ["file/q", "file"])
def test_a_file_in_the_way(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(dibs.StorageError, match=r"not a (folder|directory)|in the way"):
        dibs.open(f"{tmp_path}/{path}")
    assert (tmp_path / "file").read_text() == "not a folder"


def test_no_key_project_label_or_reference_leads_out_of_the_queue(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    queue = dibs.open(f"{tmp_path}/outside/q?sync=off")
    for text in HOSTILE:
        queue.push({"n": 1}, key=text, project=text[:30], labels=[text[:30]], after=[text + "?"])
        queue.push({"n": 1}, project=text[:30])
        for look in (queue.get, queue.why):
            look(text)
        for missing in (f"{text}/../../x", f"../{text}"):
            with pytest.raises((dibs.TaskNotFound, dibs.BadInput)):
                queue.get(missing)
    for lease in queue.claim_many(100):
        lease.complete(lease.task.project)
    assert os.listdir(tmp_path) == ["outside"]
    assert os.listdir(tmp_path / "outside") == ["q"]
    top = set(os.listdir(tmp_path / "outside" / "q"))
    assert all(name.isascii() and name.replace(".", "").isalnum() for name in top), top
