"""Where a changed priority is kept: in the name of a file, in the frontmatter of a spec."""

import json
from pathlib import Path

import pytest

import dibs
from dibs.errors import Refused
from dibs.states import STEPS, WAITING, Cell, State, prioritise


def files_of(folder: Path, task_id: str) -> list[Path]:
    return [path for path in folder.rglob(f"{task_id}*") if path.is_file()]


def test_the_table_of_steps_says_who_may_be_prioritised() -> None:
    assert STEPS["prioritise"] == (WAITING, WAITING)
    for state in State:
        cell = Cell(state, 3, 1, 2, "me" if state is State.CLAIMED else "")
        if state in WAITING:
            assert prioritise(cell) == cell
        else:
            with pytest.raises(Refused, match=f"that is {state}; .*(first|again)"):
                prioritise(cell)


def test_a_file_is_renamed_and_not_written(tmp_path: Path) -> None:
    queue = dibs.open(f"file:{tmp_path}/q")
    task = queue.push({"n": 1}, priority=7)
    (before,) = files_of(tmp_path, task.id)
    content, inode = before.read_bytes(), before.stat().st_ino
    queue.set_priority(task.id, "high")
    (after,) = files_of(tmp_path, task.id)
    assert (after.name, after.parts[-3]) == (f"{task.id}.0.0.0.100", "0100")
    assert (after.read_bytes(), after.stat().st_ino) == (content, inode)
    assert json.loads(content)["priority"] == 7
    assert dibs.open(f"file:{tmp_path}/q").get(task.id).priority == 100


def test_a_facet_is_described_before_a_name_has_it(tmp_path: Path) -> None:
    queue = dibs.open(f"file:{tmp_path}/q")
    task = queue.push({"n": 1}, project="shop", after=["another"])
    queue.set_priority(task.id, 3)
    (file,) = (path for path in files_of(tmp_path, task.id) if path.parts[-3] == "blocked")
    code = file.name.split(".")[4]
    described = json.loads((tmp_path / "q" / "facets" / code).read_bytes())
    assert described == {"priority": 3, "project": "shop", "labels": []}


def test_a_damaged_task_keeps_its_project(tmp_path: Path) -> None:
    queue = dibs.open(f"file:{tmp_path}/q")
    task = queue.push({"n": 1}, project="shop")
    (file,) = files_of(tmp_path, task.id)
    file.write_bytes(b"{")
    assert queue.set_priority(task.id, "high").priority == 100
    assert queue.stats().projects == {"shop": {"ready": 1}}
    assert [found.priority for found in queue.tasks(project="shop")] == [100]


SPEC = """---
# first
priority: low  # until the release
status: pending
not_before: 2020-01-01
labels: [a,   b]
---
# Fix it

priority: low
"""


def test_of_a_spec_one_value_changes(tmp_path: Path) -> None:
    folder = tmp_path / ".dibs" / "specs"
    folder.mkdir(parents=True)
    (folder / "fix.md").write_text(SPEC)
    queue = dibs.open(f"specs:{folder}")
    assert queue.set_priority("fix", 100).priority == 100
    assert (folder / "fix.md").read_text() == SPEC.replace("priority: low  #", "priority: high  #")
    queue.set_priority("fix", 73)
    assert "priority: 73  # until" in (folder / "fix.md").read_text()
    assert [path.name for path in (tmp_path / ".dibs" / ".locks").rglob("fix*")] == []


def test_a_spec_that_has_the_priority_keeps_its_bytes(tmp_path: Path) -> None:
    folder = tmp_path / ".dibs" / "specs"
    folder.mkdir(parents=True)
    (folder / "fix.md").write_text("---\nstatus: pending\n---\n# Fix it\n")
    dibs.open(f"specs:{folder}").set_priority("fix", "normal")
    assert (folder / "fix.md").read_text() == "---\nstatus: pending\n---\n# Fix it\n"


def test_a_spec_in_somebodys_hands_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / ".dibs" / "specs"
    folder.mkdir(parents=True)
    text = "---\nstatus: in_progress\nstarted_by: ann@laptop\n---\n# Fix it\n"
    (folder / "fix.md").write_text(text)
    with pytest.raises(Refused, match="claimed"):
        dibs.open(f"specs:{folder}").set_priority("fix", "high")
    assert (folder / "fix.md").read_text() == text
