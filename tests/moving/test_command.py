"""`dibs move` and `dibs copy`, as a person and as a script use them."""

import hashlib
from pathlib import Path

from cli.conftest import Run
from cli.conftest import dibs as dibs  # the fixture
from cli.test_terminal import on_terminal


def tree(folder: Path) -> dict[str, str]:
    """Everything below: names, contents and times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(folder))] = f"{content} {path.stat().st_mtime_ns}"
    return found


def fill(dibs: Run) -> None:
    dibs("push", "a", "1", "--key", "one")
    dibs("push", "a", "2", "--delay", "1h")
    dibs("push", "a", "3", "--after", "one")
    for number in range(4, 9):
        dibs("push", "a", str(number), "--priority", "low")


def test_a_move_says_what_it_did(dibs: Run) -> None:
    fill(dibs)
    result = dibs("move", "a", "b")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == ["moved 8 tasks: 1 scheduled, 6 ready, 1 blocked", "found in b: 8 of 8"]
    assert dibs("move", "a", "b").out.splitlines() == ["moved 0 tasks", "found in b: 0 of 0"]
    assert dibs("stats", "b", "--json").json["total"] == 8
    assert dibs("stats", "a", "--json").json["total"] == 0


def test_a_dry_run_changes_nothing(dibs: Run, tmp_path: Path) -> None:
    fill(dibs)
    dibs("push", "b", "9", "--key", "one")
    before = tree(tmp_path)
    result = dibs("move", "a", "b", "--dry-run")
    assert result.out == "would move 6 tasks: 1 scheduled, 5 ready\n"
    assert "key 'one' is taken" in result.err
    assert "1 task held back" in result.err
    assert result.code == 1
    for command in ("move", "copy"):
        result = dibs(command, "a", "c", "--dry-run", "--json")
        assert result.code == 0
        assert (result.json["total"], result.json["dry_run"], result.json["target"]) == (8, True, "file:c")
    assert tree(tmp_path) == before


def test_what_stays_is_told(dibs: Run) -> None:
    fill(dibs)
    dibs("claim", "a")
    dibs("push", "b", "9", "--key", "nine")
    dibs("push", "a", "9", "--key", "nine")
    result = dibs("move", "a", "b")
    assert result.code == 1
    assert result.out.splitlines()[-1] == "left in a: 1 ready, 1 blocked, 1 claimed"
    assert "claimed tasks stay until their leases end; --follow waits for them" in result.err
    assert "(nine): its key 'nine' is taken there by task" in result.err


def test_a_copy_leaves_everything(dibs: Run) -> None:
    fill(dibs)
    assert dibs("copy", "a", "b").out.splitlines()[0] == "copied 8 tasks: 1 scheduled, 6 ready, 1 blocked"
    again = dibs("copy", "a", "b").out.splitlines()[0]
    assert again == "copied 8 tasks: 1 scheduled, 6 ready, 1 blocked (8 of them there already)"
    assert dibs("stats", "a", "--json").json["total"] == dibs("stats", "b", "--json").json["total"] == 8


def test_follow_waits_for_what_is_held(dibs: Run) -> None:
    dibs("push", "a", "1", "--key", "one")
    dibs("claim", "a", "--ttl", "0.5")
    result = dibs("move", "a", "b", "--follow", "--json")
    assert (result.code, result.json["total"], result.json["left"]) == (0, 1, {})
    assert dibs("show", "b", "one", "--json").json["task"]["deaths"] == 1


def test_what_cannot_be_done_is_one_line(dibs: Run, tmp_path: Path) -> None:
    fill(dibs)
    (tmp_path / "in").mkdir()
    for words, code, told in (
        (("a", "a"), 2, "the same queue"),
        (("a", "./a"), 2, "the same queue"),
        (("nowhere", "b"), 1, "no queue at"),
        (("a", "dir:in"), 1, "dir: cannot let whole tasks in or out"),
        (("dir:in", "b"), 1, "dir: cannot let whole tasks in or out"),
        (("a", "memory:"), 2, "lives inside one process"),
        (("a",), 2, "DST"),
    ):
        result = dibs("move", *words)
        assert (result.code, result.out) == (code, ""), result
        assert told in result.err, result
    assert dibs("stats", "a", "--json").json["total"] == 8


def test_a_bar_on_a_terminal(dibs: Run, tmp_path: Path) -> None:
    dibs("push", "a?sync=off", "--jsonl", "-", stdin="\n".join(map(str, range(1500))))
    code, seen = on_terminal(tmp_path, "move", "a?sync=off", "b?sync=off")
    assert code == 0
    assert "moving" in seen
    assert "1500/1500" in seen
    assert "moved 1,500 tasks: 1,500 ready" in seen


def test_a_task_on_its_way_is_told(dibs: Run, tmp_path: Path) -> None:
    import dibs as library
    from dibs.states import State

    fill(dibs)
    with library.open(f"{tmp_path}/a") as queue:
        gone = queue.gate().depart(list(queue.gate().export(State.SCHEDULED)), f"file:{tmp_path}/b")
    result = dibs("show", "a", gone[0].id)
    assert result.code == 1
    assert f"it is on its way to file:{tmp_path}/b" in result.err
    assert f"1 task on the way from a to file:{tmp_path}/b" in dibs("move", "a", "c").err
    assert dibs("move", "a", "b").out.splitlines()[0] == "moved 1 task: 1 scheduled"
