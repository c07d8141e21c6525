"""`dibs specs`, as a person and as a script use it."""

from pathlib import Path

import pytest

from cli.conftest import Run
from cli.conftest import dibs as dibs  # the fixture


@pytest.fixture
def folder(dibs: Run, tmp_path: Path) -> Path:
    assert dibs("specs", "init").code == 0
    return tmp_path / ".dibs" / "specs"


def spec(folder: Path, name: str, *lines: str, title: str = "") -> None:
    (folder / f"{name}.md").write_text(
        "\n".join(["---", *lines, "---", f"# {title or name}", "", f"text of {name}", ""])
    )


def test_a_spec_is_added_listed_and_shown(dibs: Run, folder: Path) -> None:
    first = dibs("specs", "add", "Fix", "the  login: now", "--priority", "high", "--label", "a b", "--json").json
    assert (folder / f"{first['id']}.md").read_text() == (
        "---\nstatus: pending\npriority: high\nlabels: [a b]\n---\n# Fix the login: now\n"
    )
    second = dibs("specs", "add", "Docs", "--depends-on", "fix-the", "--body", "-", stdin="some\ntext\n")
    assert second.out.startswith(".dibs/specs/")
    listed = dibs("specs", "list", "--json").lines
    assert [(one["title"], one["state"]) for one in listed] == [("Fix the login: now", "ready"), ("Docs", "blocked")]
    shown = dibs("specs", "show", "docs", "--json").json
    assert shown["depends_on"] == [first["id"]]
    assert shown["body"] == "# Docs\n\nsome\ntext\n"
    assert f"waits for {first['id']}, which is pending" in dibs("specs", "why", "docs").out


def test_two_who_add_the_same_title_do_not_meet(dibs: Run, folder: Path) -> None:
    ids = {dibs("specs", "add", "Same", "--json").json["id"] for _ in range(3)}
    assert len(ids) == 3
    result = dibs("specs", "show", "same")
    assert result.code == 2
    assert all(one in result.err for one in ids)


def test_list_filters(dibs: Run, folder: Path) -> None:
    spec(folder, "a", "status: completed", "type: code")
    spec(folder, "b", "status: pending", "depends_on: a", "labels: [x, y]", "project: p")
    spec(folder, "c", "status: pending", "depends_on: [b]")
    spec(folder, "d", "status: needs_attention")

    def ids(*words: str) -> list[str]:
        return [one["id"] for one in dibs("specs", "list", "--json", *words).lines]

    assert ids() == ["b", "a", "c", "d"]
    assert ids("--ready") == ["b"]
    assert ids("--blocked") == ["c"]
    assert ids("--status", "completed") == ids("--type", "code") == ["a"]
    assert ids("--label", "x", "--label", "y") == ids("--project", "p") == ["b"]
    assert dibs("specs", "list", "--summary", "--json").json == {"ready": 1, "blocked": 1, "completed": 1, "failed": 1}
    assert "failed (needs_attention)" in dibs("specs", "list").out


def test_what_cannot_be_read_is_named_and_blocks_only_what_depends_on_it(dibs: Run, folder: Path) -> None:
    spec(folder, "bad", "status: [")
    spec(folder, "after", "depends_on: bad")
    spec(folder, "free", "status: pending")
    before = (folder / "bad.md").read_bytes()
    listed = dibs("specs", "list", "--ready", "--json")
    assert [one["id"] for one in listed.lines] == ["free"]
    assert listed.err.startswith(".dibs/specs/bad.md:3: ")
    assert "cannot be read" in dibs("specs", "why", "after").out
    assert ".dibs/specs/bad.md:3: " in dibs("specs", "why", "bad").out
    lint = dibs("specs", "lint", "--json")
    assert lint.code == 1
    assert [(one["path"], one["line"]) for one in lint.lines] == [(".dibs/specs/bad.md", 3)]
    assert (folder / "bad.md").read_bytes() == before


def test_circles_are_drawn_and_named(dibs: Run, folder: Path) -> None:
    spec(folder, "a", "depends_on: b")
    spec(folder, "b", "depends_on: a")
    result = dibs("specs", "graph")
    assert result.code == 1
    assert result.err == "a circle: a → b → a\n"
    assert "in a circle" in dibs("specs", "why", "a").out
    assert dibs("specs", "graph", "--format", "dot").out.startswith("digraph")


def test_search_wants_every_word(dibs: Run, folder: Path) -> None:
    spec(folder, "one", "labels: [red]", title="Größe")
    spec(folder, "two", title="Other")
    assert dibs("specs", "search", "GRÖSSE", "red").out == "one  Größe\n"
    assert dibs("specs", "search", "text of two").out == "two  Other\n"
    assert dibs("specs", "search", "nowhere").code == 1


def test_the_folder_is_found_from_below_and_may_be_any(dibs: Run, folder: Path, tmp_path: Path) -> None:
    spec(folder, "here")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    assert [one["id"] for one in dibs("specs", "list", "--json", cwd=tmp_path / "deep" / "er").lines] == ["here"]
    (tmp_path / "docs").mkdir()
    spec(tmp_path / "docs", "there")
    assert [one["id"] for one in dibs("specs", "list", "--folder", "docs", "--json").lines] == ["there"]


def test_bad_usage_is_one_line(dibs: Run, folder: Path, tmp_path: Path) -> None:
    for words in (
        ["add"],
        ["show"],
        ["why", "a", "b"],
        ["search"],
        ["nothing"],
        ["show", "../x"],
        ["add", "x", "--priority", "?"],
    ):
        result = dibs("specs", *words)
        assert result.code == 2, words
        assert result.err.startswith("dibs: ")
    assert "dibs specs init" in dibs("specs", "list", "--folder", "nowhere").err
    assert dibs("specs", "add", "x", "--folder", "nowhere").code == 2
