"""The JSON that the reference documents is the JSON that is printed."""

from pathlib import Path
from typing import Any

from dibs.cli.reference import FIELDS, TASK

from .conftest import Run

APART = {"specs list --watch", "migrate"}  # tested by their own


def test_documented_fields_are_the_printed_fields(dibs: Run, tmp_path: Path) -> None:
    seen: dict[str, Any] = {}
    seen["push"] = dibs("push", "q", "1", "--json").json
    seen["push --jsonl"] = dibs("push", "q", "--jsonl", "-", "--json", stdin="2\n3\n").json
    seen["claim"] = lease = dibs("claim", "q", "--json").json
    step = ("q", lease["id"], "--epoch", "1", "--json")
    seen["claimed"] = dibs("claimed", "q", "--json").json
    seen["renew"] = dibs("renew", *step).json
    seen["complete, release, fail"] = dibs("release", *step).json
    lease = dibs("claim", "q").json
    step = ("q", lease["id"], "--epoch", str(lease["epoch"]), "--json")
    assert set(dibs("fail", *step, "--no-retry").json) == set(seen["complete, release, fail"])
    seen["list, cancel, retry, priority"] = dibs("retry", "q", lease["id"], "--json").json
    assert set(dibs("cancel", "q", lease["id"], "--json").json) == set(TASK.split())
    assert {frozenset(task) for task in dibs("list", "q", "--json").lines} == {frozenset(TASK.split())}
    seen["show"] = dibs("show", "q", lease["id"], "--json").json
    assert set(seen["show"]["task"]) == set(TASK.split())
    seen["why"] = dibs("why", "q", lease["id"], "--json").json
    seen["stats"] = dibs("stats", "q", "--json").json
    seen["watch"] = dibs("watch", "q", "--json", "--count", "1").json
    seen["pause, resume"] = dibs("pause", "q", "--json").json
    seen["purge"] = dibs("purge", "q", "--json").json
    seen["move, copy"] = dibs("copy", "q", "other", "--json").json
    assert set(dibs("move", "q", "other", "--json").json) == set(seen["move, copy"])
    seen["sync"] = dibs("sync", "here", "q", "--json").json
    seen["mcp"] = dibs("mcp", "q", "--json").json
    seen["specs init"] = dibs("specs", "init", "--json").json
    seen["specs add"] = dibs("specs", "add", "a title", "--json").json
    seen["specs list, search"] = dibs("specs", "list", "--json").json
    assert set(dibs("specs", "search", "title", "--json").json) == set(seen["specs list, search"])
    seen["specs show"] = dibs("specs", "show", "a-title", "--json").json
    seen["specs why"] = dibs("specs", "why", "a-title", "--json").json
    Path(tmp_path, ".dibs/specs/bad.md").write_text("---\nstatus: [\n---\n")
    seen["specs lint"] = dibs("specs", "lint", "--json").json
    files = [str(tmp_path / ".dibs/specs/bad.md")] * 4
    seen["specs merge-driver"] = dibs("specs", "merge-driver", *files, "--json").json
    seen["config"] = dibs("config", "--json").json
    seen["completions"] = dibs("completions", "bash", "--json").json
    assert {command: set(printed) for command, printed in seen.items()} == {
        command: set(names.split()) for command, names in FIELDS.items() if command in seen
    }
    assert set(seen) == {command for command in FIELDS if not command.startswith("index ")} - APART  # those by theirs


def test_json_is_ascii_where_the_stream_is_not_utf_8(dibs: Run) -> None:
    dibs("push", "q", '"é☃"', "--key", "é")
    result = dibs("claim", "q", env={"PYTHONIOENCODING": "ascii"})
    assert result.out.isascii()
    assert (result.json["payload"], result.json["key"]) == ("é☃", "é")
    listed = dibs("list", "q", env={"PYTHONIOENCODING": "ascii"})
    assert listed.code == 0
    assert "\\xe9" in listed.out
