import pytest

from .conftest import Run


def test_pause_and_resume(dibs: Run) -> None:
    dibs("push", "q", "1")
    paused = dibs("pause", "q", "--reason", "noon", "--json")
    assert (paused.code, paused.json) == (0, {"paused": "noon"})
    assert dibs("claim", "q").code == 3
    assert dibs("stats", "q", "--json").json["paused"] == "noon"
    resumed = dibs("resume", "q", "--json")
    assert (resumed.code, resumed.json) == (0, {"paused": None})
    assert dibs("resume", "q").code == 0
    assert dibs("claim", "q").code == 0


def test_cancel_by_id_and_key(dibs: Run) -> None:
    first = dibs("push", "q", "1").out.strip()
    dibs("push", "q", "2", "--key", "k")
    result = dibs("cancel", "q", first, "k")
    assert result.code == 0
    assert result.out.splitlines()[0] == f"{first}  cancelled"
    assert dibs("stats", "q", "--json").json["states"]["cancelled"] == 2


def test_cancel_fences_off_the_holder(dibs: Run) -> None:
    dibs("push", "q", "1", "--key", "k")
    lease = dibs("claim", "q").json
    assert dibs("cancel", "q", "k", "--json").lines[0]["state"] == "cancelled"
    assert dibs("complete", "q", lease["id"], "--epoch", "1").code == 4


def test_cancel_reads_lines(dibs: Run) -> None:
    ids = [dibs("push", "q", str(n)).out.strip() for n in range(2)]
    assert dibs("cancel", "q", "-", stdin="\n".join(ids)).code == 0
    assert dibs("stats", "q", "--json").json["states"]["cancelled"] == 2


def test_one_that_is_refused_does_not_stop_the_others(dibs: Run) -> None:
    task = dibs("push", "q", "1").out.strip()
    result = dibs("cancel", "q", "nosuch", task)
    assert result.code == 1
    assert "nosuch" in result.err
    assert f"{task}  cancelled" in result.out


def test_retry_of_one_and_of_all(dibs: Run) -> None:
    for key, project in (("a", "p"), ("b", "p"), ("c", "r")):
        dibs("push", "q", "1", "--key", key, "--project", project)
        lease = dibs("claim", "q").json
        dibs("fail", "q", lease["id"], "--epoch", "1", "--no-retry")
    (back,) = dibs("retry", "q", "a", "--json").lines
    assert (back["key"], back["state"], back["attempts"], back["epoch"]) == ("a", "ready", 0, 1)
    assert [task["key"] for task in dibs("retry", "q", "--all", "--project", "r", "--json").lines] == ["c"]
    assert dibs("retry", "q", "--all").code == 0
    assert dibs("stats", "q", "--json").json["states"]["ready"] == 3
    assert dibs("retry", "q", "--all").out == ""
    refused = dibs("retry", "q", "a")
    assert refused.code == 1
    assert refused.err.startswith("dibs: ")


@pytest.mark.parametrize("words", [[], ["a", "--all"]])
def test_retry_wants_ids_or_all(dibs: Run, words: list[str]) -> None:
    dibs("push", "q", "1")
    assert dibs("retry", "q", *words).code == 2


def test_purge(dibs: Run) -> None:
    for _ in range(2):
        dibs("push", "q", "1")
    lease = dibs("claim", "q").json
    dibs("complete", "q", lease["id"], "--epoch", "1")
    lease = dibs("claim", "q").json
    dibs("fail", "q", lease["id"], "--epoch", "1", "--no-retry")
    assert dibs("purge", "q").out == "purged 0 completed\n"
    assert dibs("purge", "q", "--older-than", "0").out == "purged 1 completed\n"
    purged = dibs("purge", "q", "--older-than", "0", "--state", "failed", "--state", "cancelled", "--json")
    assert purged.json == {"purged": 1, "states": {"failed": 1, "cancelled": 0}}
    assert dibs("purge", "q", "--state", "ready").code == 2
    assert dibs("stats", "q", "--json").json["total"] == 0


def test_priority_of_several_by_id_and_key(dibs: Run) -> None:
    first = dibs("push", "q", "1").out.strip()
    second = dibs("push", "q", "2", "--key", "k", "--delay", "1h").out.strip()
    result = dibs("priority", "q", first, "k", "high")
    assert (result.code, result.out.splitlines()) == (0, [f"{first}  100", f"{second}  100"])
    (shown,) = dibs("priority", "q", "-", "7", "--json", stdin=f"{first}\n").lines
    assert (shown["id"], shown["priority"], shown["state"]) == (first, 7, "ready")
    assert dibs("show", "q", "k", "--json").json["task"]["priority"] == 100
    assert dibs("claim", "q").json["priority"] == 7


def test_a_priority_that_cannot_be_changed_does_not_stop_the_others(dibs: Run) -> None:
    held = dibs("push", "q", "1").out.strip()
    dibs("claim", "q")
    waiting = dibs("push", "q", "2").out.strip()
    result = dibs("priority", "q", held, "nosuch", waiting, "0")
    assert (result.code, result.out) == (1, f"{waiting}  0\n")
    assert "claimed; release it first" in result.err
    assert "nosuch" in result.err


@pytest.mark.parametrize("words", [[], ["high"], ["k", "urgent"], ["k", "10000"], ["k", "-1"]])
def test_priority_wants_a_task_and_a_priority(dibs: Run, words: list[str]) -> None:
    dibs("push", "q", "1", "--key", "k")
    assert dibs("priority", "q", *words).code == 2
    assert dibs("show", "q", "k", "--json").json["task"]["priority"] == 50
