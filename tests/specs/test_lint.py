"""Every problem of a folder, with file, line and reason."""

from pathlib import Path

import pytest

from dibs.specs.catalog import Catalog
from dibs.specs.lint import lint


def problems(folder: Path) -> list[tuple[str, int | None, str]]:
    found = lint(Catalog(str(folder), cache=None).specs())
    return [(Path(problem.path).name, problem.line, problem.reason) for problem in found]


def write(folder: Path, name: str, front: str) -> None:
    (folder / f"{name}.md").write_text(f"---\n{front}\n---\n# {name}\n")


def test_a_folder_in_order_has_none(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    write(tmp_path / "archive", "old", "status: completed")
    write(
        tmp_path, "a", "status: completed\nstarted_by: ann\nstarted_at: 2026-11-16T09:00:00Z\ncompleted_at: 2026-11-17"
    )
    write(tmp_path, "b", "status: in_progress\nstarted_by: ann\ndepends_on: [a.md, old]")
    write(tmp_path, "c", "status: pending\ndepends_on: b\nbranch: x\nmodel: y\npriority: 3\nattempts: 1\nerror: once")
    write(tmp_path, "d", "members: [c]\nstatus: failed\nstarted_by: bob")
    assert problems(tmp_path) == []


@pytest.mark.parametrize(
    ("front", "line", "reason"),
    [
        ("a: [", 3, "not YAML"),
        ("a: 1\na: 2", 3, "the key 'a' occurs twice"),
        ("x: 1\nstatus: done", 3, "status: 'done' is not a status"),
        ("priority: urgent", 2, "priority: priority 'urgent'"),
        ("depends_on: [gone, it]", 2, "depends_on: 'gone' is neither here nor in the archive"),
        ("x: 1\nmembers:\n- gone", 3, "members: 'gone' is neither here nor in the archive"),
        ("depends_on:\n- it", 2, "depends_on: the spec waits for itself"),
        ("status: pending\nstarted_by: ann", 3, "started_by: names 'ann', but the spec is pending"),
        ("status: in_progress", 2, "status: is in_progress, but nobody is named in started_by"),
        ("status: failed\ncompleted_at: 2026-11-16", 3, "completed_at: is set, but the spec is failed"),
        ("status: paused\nstarted_at: soon", 3, "started_at: 'soon' is not a time"),
        ("depend_on: x", 2, "depend_on: is not a field that dibs knows; is depends_on meant?"),
        ("Status: pending", 2, "Status: is not a field that dibs knows; is status meant?"),
        ("depends-on: x", 2, "depends-on: is not a field that dibs knows; is depends_on meant?"),
        ("label: x", 2, "label: is not a field that dibs knows; is labels meant?"),
    ],
)
def test_each_problem_has_its_line(tmp_path: Path, front: str, line: int, reason: str) -> None:
    write(tmp_path, "it", front)
    found = problems(tmp_path)
    assert ("it.md", line) in [(name, at) for name, at, words in found if words.startswith(reason)], found


def test_one_wrong_field_does_not_hide_another(tmp_path: Path) -> None:
    write(tmp_path, "it", "status: done\npriority: urgent\nlabels: 5")
    assert [(line, reason.split(":")[0]) for _, line, reason in problems(tmp_path)] == [
        (2, "status"),
        (3, "priority"),
        (4, "labels"),
    ]


def test_a_circle_is_told_once(tmp_path: Path) -> None:
    for name, needs in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")):
        write(tmp_path, name, f"depends_on: {needs}")
    (only,) = problems(tmp_path)
    assert only[1] == 2
    assert "in a circle" in only[2]
    assert {"a", "b", "c"} == set(only[2].split("circle: ")[1].split(";")[0].split(" → "))


def test_names_that_differ_only_in_case_or_form(tmp_path: Path) -> None:
    for name in ("Fix", "fix", "cafe\u0301", "caf\u00e9"):
        write(tmp_path, name, "status: pending")
    found = problems(tmp_path)
    assert [name for name, _, _ in found] == ["caf\u00e9.md", "fix.md"]
    assert all("where case does not count" in reason for _, _, reason in found)


def test_links_and_odd_names_are_problems_and_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("---\nstatus: hunter2\n---\n")
    (folder / "link.md").symlink_to("../secret.md")
    write(folder, "-rf", "status: pending")
    found = problems(folder)
    assert [name for name, _, _ in found] == ["-rf.md", "link.md"]
    assert "hunter2" not in str(found)
