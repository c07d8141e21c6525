"""`dibs sync`, as a person and as a script use it."""

import json

from cli.conftest import Run
from cli.conftest import dibs as dibs  # the fixture


def test_a_pass_says_what_it_did(dibs: Run) -> None:
    for number in range(3):
        dibs("push", "shared", str(number))
    dibs("push", "here", "9", "--key", "mine")
    result = dibs("sync", "here", "shared", "--batch", "2")
    assert (result.code, result.err) == (0, "")
    assert result.out == "up: 1 pushed here; down: 2 to do; reserved here: 2\n"
    assert dibs("work", "here", "--until-empty", "--", "true").code == 0
    assert dibs("sync", "here", "shared", "--batch", "2").out == "up: 2 completed; down: 2 to do; reserved here: 2\n"
    report = dibs("sync", "here", "shared", "--give-back", "--json").json
    assert (report["given_back"], report["reserved"]) == (2, 0)
    assert dibs("stats", "shared", "--json").json["states"]["ready"] == 2
    assert dibs("sync", "here", "shared", "--batch", "0").out == "up: nothing; down: 0 to do; reserved here: 0\n"


def test_what_cannot_be_reconciled_is_named_and_is_an_error(dibs: Run) -> None:
    dibs("push", "shared", "1", "--key", "k")
    dibs("push", "here", "2", "--key", "k")
    result = dibs("sync", "here", "shared")
    assert result.code == 1
    assert "key 'k' is taken" in result.err
    assert "(k)" in result.err
    assert result.err.count("\n") == 2


def test_what_was_done_here_too_late_is_told_and_kept(dibs: Run) -> None:
    task = dibs("push", "shared", "1", "--key", "k").out.strip()
    dibs("sync", "here", "shared")
    dibs("work", "here", "--until-empty", "--", "true")
    dibs("cancel", "shared", task)  # as if somebody else had got it, and ended it
    result = dibs("sync", "here", "shared")
    assert result.code == 1
    assert f"conflict: task {task} (k) was completed here under epoch 1, too late: there it is cancelled" in result.err
    path = result.err.split("is kept in ")[1].strip()
    with open(path) as file:
        assert [json.loads(line)["id"] for line in file] == [task]


def test_bad_usage_is_one_line(dibs: Run) -> None:
    for words in (["--batch", "-1"], ["--hold", "1s"], ["--watch", "--give-back"]):
        result = dibs("sync", "here", "shared", *words)
        assert result.code == 2, words
        assert result.err.startswith("dibs: ")
    assert dibs("sync", "here", "here").code == 2
    assert "only a file: queue" in dibs("sync", "dir:.?done=out", "here").err
