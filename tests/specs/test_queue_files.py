"""What `specs:` does to files: the fields it must change, and no other byte."""

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import dibs.queues.specs.pages
from dibs.errors import BadInput, DibsError, StorageError
from dibs.queues.lockfiles.past import Pasts
from dibs.queues.specs import SpecsQueue
from dibs.specs.frontmatter import read
from dibs.states import State
from specs.spec_folder import PENDING, Folder, all_taken, taken
from waiting import until

OURS = (b"status", b"started_by", b"started_at", b"completed_at", b"attempts", b"error", b"not_before")

PLAIN = {
    "plain": b"---\nstatus: pending\n---\n# x\n",
    "comments and order": b"---\n# above\nlabels: [b,  a]\n\nstatus: pending   # to do\nx: {a: 1}\n# last\n---\n# x\n",
    "CRLF": b"---\r\nstatus: pending\r\npriority: high # c\r\n---\r\ntext\r\n",
    "CRLF above LF": b"---\r\nstatus: pending\r\n---\r\ntext\nmore\r\n",
    "BOM": b"\xef\xbb\xbf---\nstatus: pending\n---\n# x\n",
    "no final newline": b"---\nstatus: pending\n---\nthe end",
    "no body": b"---\nstatus: pending\n---",
    "other end": b"---\nstatus: pending\n...\nbody\n",
    "fences in the body": b"---\nstatus: pending\n---\n---\nstatus: completed\n---\n",
    "text that is no text": b"---\nstatus: pending\n---\n\xff\xfe\x00\r\r\n",
    "blanks": b"---  \nstatus:    pending  \n---  \nx",
    "quoted others": b"---\n'a b': \"c\\td\"\nstatus: pending\nnote: |\n  status: x\n\n  y\nlabels:\n- a # b\n---\n",
}
ODD = {
    "no status": b"---\nproject: p\n---\n# x\n",
    "nothing": b"---\n---\n# x\n",
    "quoted": b"---\n\"status\" : 'pending' # c\nproject: p\n---\n",
    "alias": b"---\nstatus: ready\n---\n",
    "null": b"---\nstatus: ~ # none\nproject: p\n---\n",
    "left over": b"---\nstatus: pending\nstarted_by: ann\nproject: p\nstarted_at: '2020-01-01'\ncompleted_at: x\n---\n",
    "folded": b"---\nproject: p\nerror: >\n  long\n  ago\nstatus: pending\nz: 1\n---\n",
}
ALL = PLAIN | ODD


@pytest.fixture
def folder(quick_folder: Path) -> Folder:
    return Folder(quick_folder)


def rest(data: bytes) -> bytes:
    """All bytes but those of the fields that dibs sets."""
    lines = data.split(b"\n")
    kept, inside = [], False
    end = next(n for n, line in enumerate(lines[1:], 1) if line.strip() in (b"---", b"..."))
    for number, line in enumerate(lines):
        name = line.partition(b":")[0].strip(b"\"' ")
        inside = name in OURS or (inside and line[:1] in b" ")
        if number > end or not inside:
            kept.append(line)
    return b"\n".join(kept)


@pytest.mark.parametrize("data", PLAIN.values(), ids=PLAIN)
def test_claim_and_release_leave_the_file_as_it_was(folder: Folder, data: bytes) -> None:
    path = folder.add("a", data)
    lease = taken(folder.open())
    assert path.read_bytes() != data
    lease.release()
    assert path.read_bytes() == data


@pytest.mark.parametrize("data", ALL.values(), ids=ALL)
def test_every_step_changes_its_fields_only(folder: Folder, data: bytes) -> None:
    path = folder.add("a", data)
    queue = folder.open("?max_attempts=2&backoff=0")
    before = {name: value for name, value in read(data).items() if name.encode() not in OURS}
    seen = []

    def look() -> dict[str, Any]:
        now = path.read_bytes()
        seen.append(now)
        assert rest(now) == rest(data)
        fields = read(now)
        assert {name: value for name, value in fields.items() if name.encode() not in OURS} == before
        return {name: value for name, value in fields.items() if name.encode() in OURS}

    lease = taken(queue)
    assert look()["status"] == "in_progress"
    lease.fail("no\nluck: # 1")
    found = look()
    assert (found["status"], found["attempts"], found["error"]) == ("pending", 1, "no luck: # 1")
    assert not {"started_by", "started_at"} & set(found)
    taken(queue).fail("again")
    found = look()
    assert (found["status"], found["attempts"], found["error"]) == ("failed", 2, "again")
    queue.retry("a")
    found = look()
    assert found["status"] == "pending" and not {"attempts", "error", "not_before"} & set(found)
    queue.cancel("a")
    assert look()["status"] == "cancelled"
    queue.retry("a")
    taken(queue).complete()
    found = look()
    assert found["status"] == "completed" and {"started_by", "started_at", "completed_at"} <= set(found)
    assert not {"error", "attempts"} & set(found)
    assert os.listdir(folder.specs) == ["a.md"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o777])
def test_a_file_keeps_its_mode(folder: Folder, mode: int) -> None:
    path = folder.add("a")
    path.chmod(mode)
    lease = taken(folder.open())
    assert stat.S_IMODE(path.stat().st_mode) == mode
    lease.complete()
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_spec_has_the_mode_that_the_user_wants(folder: Folder) -> None:
    before = os.umask(0o027)
    try:
        folder.open().push({"title": "New"}, key="new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.path("new").stat().st_mode) == 0o640


BROKEN = {
    "no frontmatter": b"# Only a title\n",
    "empty": b"",
    "open frontmatter": b"---\nstatus: pending\n",
    "not UTF-8": b"---\nstatus: pending\nx: \xff\n---\n",
    "a tab": b"---\nstatus: pending\nx:\n\t- a\n---\n",
    "a key twice": b"---\nstatus: pending\nstatus: pending\n---\n",
    "a tag": b"---\nstatus: pending\nx: !!python/object:os.system 1\n---\n",
    "no status": b"---\nstatus: done\n---\n",
    "a wrong type": b"---\nstatus: pending\nlabels: {a: b}\n---\n",
    "a wrong number": b"---\nstatus: pending\nmax_runtime: soon\n---\n",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_read_is_never_rewritten_and_blocks_only_what_depends_on_it(folder: Folder, data: bytes) -> None:
    path = folder.add("bad", data)
    folder.add("after", "---\ndepends_on: bad\n---\n")
    folder.add("free")
    queue = folder.open()
    assert all_taken(queue) == {"free"}
    assert {task.id: str(task.state) for task in queue.tasks()} == {"free": "claimed", "after": "blocked"}
    assert "bad" in queue.why("after").text and "unreadable" in queue.why("after").text
    for step in (queue.get, queue.why, queue.cancel, queue.retry, queue.free, lambda name: queue.claim_one(name, 60)):
        with pytest.raises(BadInput) as caught:
            step("bad")
        assert str(caught.value).startswith(f"{path}:"), caught.value
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == data
    assert folder.left_locks() == ["free.pid"]


def test_a_link_out_of_the_folder_is_no_spec(folder: Folder) -> None:
    outside = folder.root / "outside.md"
    outside.write_text(PENDING)
    folder.path("link").symlink_to(outside)
    folder.path("nowhere").symlink_to("/nowhere/x.md")
    folder.path("folder").mkdir()
    os.mkfifo(folder.path("pipe"))
    folder.add("after", "---\ndepends_on: link\n---\n")
    queue = folder.open()
    assert queue.claim() is None
    for step in (queue.why, queue.cancel, lambda name: queue.claim_one(name, 60)):
        with pytest.raises(BadInput, match="symbolic link"):
            step("link")
    with pytest.raises(BadInput, match="not a regular file"):
        queue.cancel("pipe")
    assert "unreadable" in queue.why("after").text
    assert outside.read_text() == PENDING
    assert folder.path("link").is_symlink()


def test_no_id_leads_out_of_the_folder(folder: Folder) -> None:
    (folder.specs.parent / "secret.md").write_text(PENDING)
    queue = folder.open()
    for name in ("../secret", "../specs/../secret", "/etc/passwd", ".", "..", "a/b", "", "-x"):
        for step in (queue.get, queue.cancel, queue.why):
            with pytest.raises(DibsError):
                step(name)
    assert (folder.specs.parent / "secret.md").read_text() == PENDING


def test_a_readme_is_no_spec(folder: Folder) -> None:
    folder.add("README", PENDING)
    queue = folder.open()
    assert queue.claim() is None
    with pytest.raises(BadInput, match="another key"):
        queue.push({"title": "Read me"}, key="readme")
    assert not folder.path("readme").exists()


# Others write at the same time


@contextmanager
def saved_within(monkeypatch: pytest.MonkeyPatch, path: Path, text: str) -> Iterator[None]:
    """Once, while a change is being written, an editor saves the file with this text below."""
    real = dibs.queues.specs.pages.spare
    saves = [text]

    @contextmanager
    def spare(*args: Any, **more: Any) -> Iterator[str]:
        with real(*args, **more) as written:
            if saves:
                path.write_bytes(path.read_bytes() + saves.pop().encode())
            yield written

    with monkeypatch.context() as patched:
        patched.setattr(dibs.queues.specs.pages, "spare", spare)
        yield
    assert not saves


def test_a_save_while_a_step_is_written_is_kept(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder.add("a")
    queue = folder.open("?backoff=0")
    text = PENDING.partition("# Title\n")[2]
    steps = {
        "claim": lambda: leases.append(queue.claim_one("a", 60)),
        "fail": lambda: leases.pop().fail("x"),
        "claim again": lambda: leases.append(taken(queue)),
        "release": lambda: leases.pop().release(),
        "cancel": lambda: queue.cancel("a"),
        "retry": lambda: queue.retry("a"),
        "claim once more": lambda: leases.append(taken(queue)),
        "complete": lambda: leases.pop().complete(),
    }
    leases: list[Any] = []
    for name, step in steps.items():
        with saved_within(monkeypatch, path, f"saved during {name}\n"):
            step()
        text += f"saved during {name}\n"
        assert path.read_text().endswith("# Title\n" + text)
    assert read(path.read_bytes())["status"] == "completed"
    assert folder.left_locks() == []


def test_what_died_is_given_back_though_somebody_saves(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder.add("a")
    folder.claim_and_die()
    with saved_within(monkeypatch, path, "saved\n"):
        assert folder.open().claim(wait=60) is not None
    assert path.read_text().endswith("# Title\nsaved\n")


@pytest.mark.parametrize("in_place", [False, True], ids=["by rename", "in place"])
def test_beside_an_editor_that_saves_all_the_time(folder: Folder, in_place: bool) -> None:
    path = folder.add("a", "---\nstatus: pending\n---\n0\n")
    editor = Editor(path, in_place)
    queue = folder.open("?backoff=0&max_attempts=1000")
    with editor:
        for round_ in range(60):
            lease = until(lambda: _free(queue) and queue.claim(ttl=600), "a claim")
            lease.fail("x") if round_ % 2 else lease.release()
        until(lambda: editor.saves > 60, "saves")
    data = path.read_bytes()
    assert data.startswith(b"---\nstatus: ") and read(data)["status"] in ("pending", "in_progress")
    assert data.rpartition(b"---\n")[2].strip().isdigit()
    assert editor.lost <= editor.saves // 10, "each loss is a save within microseconds"
    assert os.listdir(folder.specs) == ["a.md"]


class Editor:
    """Saves what it has just read, with the text below counted up, and looks whether its last save was kept."""

    def __init__(self, path: Path, in_place: bool) -> None:
        self.saves = self.lost = 0
        self._path = path
        self._in_place = in_place
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(0.0005):
            top, fence, below = self._path.read_bytes().rpartition(b"---\n")
            self.lost += below != b"%d\n" % self.saves
            self.saves += 1
            new = top + fence + b"%d\n" % self.saves
            if self._in_place:
                self._path.write_bytes(new)
            else:
                spare = self._path.with_suffix(".saved")
                spare.write_bytes(new)
                spare.rename(self._path)


def _free(queue: SpecsQueue) -> bool:
    """True when it can be claimed; an editor that had read before a step has perhaps put back what was."""
    try:
        if queue.get("a").state is State.CLAIMED:
            queue.free("a")
        return queue.get("a").state is State.READY
    except BadInput:
        return False  # read while it was written in place


def test_a_spec_that_is_broken_while_held_is_completed_when_it_is_mended(folder: Folder) -> None:
    path = folder.add("a")
    queue = folder.open()
    lease = taken(queue)
    held = path.read_bytes()
    path.write_bytes(b"---\nstatus: [\n---\n")
    with pytest.raises(BadInput, match=r"a\.md:3: "):
        lease.complete()
    assert path.read_bytes() == b"---\nstatus: [\n---\n"
    assert queue.claim() is None
    path.write_bytes(held)
    lease.complete()
    assert queue.get("a").state is State.COMPLETED


def test_a_spec_that_is_broken_when_its_holder_dies_is_given_back_when_it_is_mended(folder: Folder) -> None:
    path = folder.add("a")
    folder.claim_and_die()
    held = path.read_bytes()
    path.write_bytes(b"---\nstatus: [\n---\n")
    queue = folder.open()
    assert queue.claim() is None
    assert path.read_bytes() == b"---\nstatus: [\n---\n"
    path.write_bytes(held)
    lease = queue.claim(wait=60)
    assert lease is not None and lease.epoch == 2


def test_a_completion_that_broke_off_after_the_file_was_written_is_repeated(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder.add("a")
    queue = folder.open()
    lease = taken(queue)
    with monkeypatch.context() as patched:
        patched.setattr(Pasts, "write", _full)
        with pytest.raises(StorageError, match="full"):
            lease.complete("mine")
    data = path.read_bytes()
    assert read(data)["status"] == "completed"
    lease.complete("mine")
    assert path.read_bytes() == data
    assert queue.detail("a").result == "mine"
    assert folder.left_locks() == []


def _full(*_: object) -> None:
    raise StorageError("storage full")


def test_locks_may_be_on_another_file_system(folder: Folder, tmp_path: Path) -> None:
    folder.add("a")
    queue = folder.open(f"?locks={tmp_path}/locks")
    queue.push({"title": "New"}, key="b")
    for lease in queue.claims():
        assert (tmp_path / "locks" / f"{lease.id}.pid").exists()
        lease.complete()
    assert sorted(os.listdir(folder.specs)) == ["a.md", "b.md"]
    assert not folder.locks.exists()
