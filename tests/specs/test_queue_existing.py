"""A folder of specs that another tool has made and uses: workable as it is, and left as it is."""

import json
import os
from pathlib import Path

import pytest

from dibs.specs.frontmatter import read
from dibs.states import State
from specs.spec_folder import Folder, all_taken, taken

DAY = "2026-01-01"


def text(*lines: str) -> str:
    """Fields, and the last line as the title."""
    return "\n".join(["---", *lines[:-1], "---", "", f"# {lines[-1]}", "", "- [ ] criterion", ""])


APPROVAL = ("type: task", "status: pending", "approval:", "  required: true")
MEMBERS = ("members:", f"- {DAY}-005-eee.1", f"- {DAY}-005-eee.2")
SPECS = {
    f"{DAY}-001-aaa": text("type: code", "status: completed", "commits:", "- abc1234", "model: large", "Done"),
    f"{DAY}-002-bbb": text(
        "type: code", "status: ready", "depends_on:", f"- {DAY}-001-aaa", "- 2025-12-31-001-zzz", "labels:", "- api",
        "target_files:", "- src/a.rs", "Ready, as its tool writes it",
    ),
    f"{DAY}-003-ccc": text(*APPROVAL, "  status: pending", "Not approved"),
    f"{DAY}-004-ddd": text(*APPROVAL, "  status: approved", "  by: ann", "Approved"),
    f"{DAY}-005-eee": text("type: driver", "status: pending", *MEMBERS, "Driver"),
    f"{DAY}-005-eee.1": text("type: code", "status: pending", "First member"),
    f"{DAY}-005-eee.2": text("type: code", "status: pending", "depends_on:", f"- {DAY}-005-eee.1", "Second member"),
    f"{DAY}-006-fff": text("type: code", "status: needs_attention", "Look at me"),
    f"{DAY}-007-ggg": text("type: code", "status: in_progress", "Somebody is at it"),
}  # fmt: skip


@pytest.fixture
def folder(quick_folder: Path) -> Folder:
    folder = Folder(quick_folder, ".chant/specs")
    for name, written in SPECS.items():
        folder.add(name, written)
    archive = quick_folder / ".chant" / "archive" / "2025-12-31"
    archive.mkdir(parents=True)
    (archive / "2025-12-31-001-zzz.md").write_text("---\ntype: code\nstatus: completed\n---\n\n# Old\n")
    (quick_folder / ".chant" / "config.md").write_text("---\nproject:\n  name: x\n---\n")
    return folder


def test_its_states_are_understood(folder: Folder) -> None:
    states = {task.id[-3:].strip("."): str(task.state) for task in folder.open().tasks()}
    assert states == {
        "aaa": "completed", "bbb": "ready", "ccc": "blocked", "ddd": "ready", "eee": "blocked", "e.1": "ready",
        "e.2": "blocked", "fff": "failed", "ggg": "claimed",
    }  # fmt: skip


def test_it_is_worked_through_and_only_what_was_done_is_changed(folder: Folder) -> None:
    queue = folder.open()
    done = []
    for lease in queue.claims():
        done.append(lease.id)
        lease.complete()
    assert sorted(done) == [
        "2026-01-01-002-bbb",
        "2026-01-01-004-ddd",
        "2026-01-01-005-eee",
        "2026-01-01-005-eee.1",
        "2026-01-01-005-eee.2",
    ]
    assert done.index("2026-01-01-005-eee.1") < done.index("2026-01-01-005-eee.2") < done.index("2026-01-01-005-eee")
    for name, written in SPECS.items():
        data = folder.path(name).read_bytes()
        if name not in done:
            assert data.decode() == written
        else:
            fields, before = read(data), read(written.encode())
            added = ("started_by", "started_at", "completed_at")
            assert {key: fields[key] for key in fields if key not in added} == before | {"status": "completed"}
            assert data.decode().partition("\n---\n")[2] == written.partition("\n---\n")[2]
    assert sorted(os.listdir(folder.specs)) == sorted(f"{name}.md" for name in SPECS)
    assert sorted(os.listdir(folder.root / ".chant")) == [".locks", "archive", "config.md", "specs"]


def test_its_locks_are_where_its_tool_looks_for_them(folder: Folder) -> None:
    lease = taken(folder.open())
    path = folder.root / ".chant" / ".locks" / f"{lease.id}.pid"
    assert json.loads(path.read_text())["pid"] == os.getpid()
    lease.release()
    assert not path.exists()


def test_a_lock_of_its_tool_keeps_others_out(folder: Folder) -> None:
    folder.put_lock("2026-01-01-002-bbb", str(os.getpid()))
    assert all_taken(folder.open()) == {"2026-01-01-004-ddd", "2026-01-01-005-eee.1"}


def test_approval_given_by_hand_lets_it_run(folder: Folder) -> None:
    queue = folder.open()
    name = "2026-01-01-003-ccc"
    assert "approval" in queue.why(name).text
    folder.path(name).write_text(SPECS[name].replace("  status: pending", "  status: approved"))
    assert queue.get(name).state is State.READY
    queue.claim_one(name, 60).complete()
    assert read(folder.path(name).read_bytes())["approval"] == {"required": True, "status": "approved"}


def test_retry_of_what_needed_attention(folder: Folder) -> None:
    queue = folder.open()
    name = "2026-01-01-006-fff"
    assert "attention" in queue.why(name).text
    queue.retry(name)
    assert folder.path(name).read_text() == SPECS[name].replace("needs_attention", "pending")
