import json
from pathlib import Path

import pytest

from .conftest import Run


@pytest.fixture
def q(dibs: Run, tmp_path: Path) -> Path:
    """Six tasks: one of each live state, one failed, one completed."""
    dibs("push", "q", '{"n": 0}', "--key", "done", "--project", "shop")
    dibs("complete", "q", dibs("claim", "q").json["id"], "--epoch", "1", "--result", "42")
    dibs("push", "q", '{"n": 1}', "--key", "broken", "--label", "eu")
    dibs("fail", "q", dibs("claim", "q").json["id"], "--epoch", "1", "--error", "no such page", "--no-retry")
    dibs("push", "q", '{"n": 2}', "--key", "held")
    dibs("claim", "q", "--ttl", "1h")
    dibs("push", "q", '{"n": 3}', "--key", "waiting", "--after", "held")
    dibs("push", "q", '{"n": 4}', "--key", "later", "--delay", "1h")
    dibs("push", "q", '{"n": 5}', "--key", "next", "--priority", "high", "--project", "shop", "--label", "eu")
    return tmp_path / "q"


def test_list_for_people(dibs: Run, q: Path) -> None:
    result = dibs("list", "q")
    header, *rows = result.out.splitlines()
    assert header.split() == ["ID", "STATE", "PRIO", "TRIES", "PROJECT", "LABELS", "KEY", "PAYLOAD"]
    assert len(rows) == 6
    assert {row.index('{"n"') for row in rows} == {header.index("PAYLOAD")}
    assert result.err == ""


def test_list_leaves_out_columns_that_are_empty(dibs: Run) -> None:
    dibs("push", "q", "1")
    assert dibs("list", "q").out.split("\n")[0].split() == ["ID", "STATE", "PRIO", "TRIES", "PAYLOAD"]


def test_list_filters_and_limit(dibs: Run, q: Path) -> None:
    def keys(*words: str) -> set[str]:
        return {task["key"] for task in dibs("list", "q", "--json", *words).lines}

    assert keys() == {"done", "broken", "held", "waiting", "later", "next"}
    assert keys("--state", "failed") == {"broken"}
    assert keys("--project", "shop") == {"done", "next"}
    assert keys("--label", "eu") == {"broken", "next"}
    assert keys("--limit", "0") == keys()
    cut = dibs("list", "q", "--limit", "2", "--json")
    assert len(cut.lines) == 2
    assert "--limit 0 lists all" in cut.err
    assert dibs("list", "q", "--limit", "6").err == ""


def test_an_empty_list(dibs: Run, q: Path) -> None:
    assert dibs("list", "q", "--project", "none").out == "no tasks\n"
    assert dibs("list", "q", "--project", "none", "--json").out == ""


def test_show_for_people(dibs: Run, q: Path) -> None:
    out = dibs("show", "q", "broken").out
    for words in ("failed", "no such page", '"n": 1', "eu", "1 of 3 used"):
        assert words in out
    assert "result\n  42" in dibs("show", "q", "done").out
    assert "held by" in dibs("show", "q", "held").out
    assert "held (claimed)" in dibs("show", "q", "waiting").out


def test_show_as_json_by_key_or_id(dibs: Run, q: Path) -> None:
    by_key = dibs("show", "q", "held", "--json").json
    assert set(by_key) == {"task", "due", "claim", "history", "result", "error", "ended_at", "waits_for", "paused"}
    assert by_key["claim"]["epoch"] == 1
    by_id = dibs("show", "q", by_key["task"]["id"], "--json").json
    assert by_id["task"] == by_key["task"]


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("next", "ready at priority 100"),
        ("held", "held by"),
        ("waiting", "waits for held"),
        ("later", "scheduled: ready at"),
        ("broken", "no such page"),
        ("done", "completed at epoch 1"),
    ],
)
def test_why_for_each_state(dibs: Run, q: Path, key: str, says: str) -> None:
    result = dibs("why", "q", key)
    assert result.code == 0
    assert says in result.out


def test_why_with_filters_and_pause(dibs: Run, q: Path) -> None:
    dibs("pause", "q", "--reason", "site is down")
    out = dibs("why", "q", "next", "--project", "other", "--max-priority", "50").out
    assert "paused: site is down" in out
    assert "its project is shop, not other" in out
    assert "its priority 100 is above 50" in out


def test_why_as_json(dibs: Run, q: Path) -> None:
    answer = dibs("why", "q", "later", "--json").json
    assert set(answer) == {"id", "state", "text", "ready_at"}
    assert answer["ready_at"].endswith("Z")


def test_stats_for_people(dibs: Run, q: Path) -> None:
    dibs("pause", "q", "--reason", "site is down")
    out = dibs("stats", "q").out
    words = out.split()
    assert words[words.index("ready") + 1] == "1"
    assert words[words.index("total") + 1] == "6"
    assert "PROJECT" in out
    assert "shop" in out
    assert "paused: site is down" in out


def test_stats_as_json(dibs: Run, q: Path) -> None:
    stats = dibs("stats", "q", "--json").json
    assert stats["states"] == {
        "ready": 1, "scheduled": 1, "blocked": 1, "claimed": 1, "completed": 1, "failed": 1, "cancelled": 0,
    }  # fmt: skip
    assert stats["total"] == 6
    assert stats["projects"]["shop"]["ready"] == 1
    assert stats["paused"] is None


def test_claimed(dibs: Run, q: Path) -> None:
    header, row = dibs("claimed", "q").out.splitlines()
    assert header.split()[:2] == ["ID", "EPOCH"]
    assert row.endswith("held")
    (claim,) = dibs("claimed", "q", "--json").lines
    assert set(claim) == {
        "id", "key", "epoch", "worker", "host", "pid", "claimed_at", "heartbeat_at", "expires_at", "ttl", "via",
    }  # fmt: skip
    dibs("complete", "q", claim["id"], "--epoch", "1")
    assert dibs("claimed", "q").out == "nothing is claimed\n"


def test_watch_in_a_log(dibs: Run, q: Path) -> None:
    result = dibs("watch", "q", "--count", "2", "--interval", "0.05")
    lines = result.out.splitlines()
    assert len(lines) == 2
    assert "ready 1" in lines[0]
    assert "/s" in lines[0]


def test_watch_as_json(dibs: Run, q: Path) -> None:
    (look,) = dibs("watch", "q", "--count", "1", "--json").lines
    assert look["states"]["claimed"] == 1
    assert {"at", "rate", "total"} <= set(look)


def test_watch_until_empty(dibs: Run) -> None:
    dibs("push", "q", "1")
    task = dibs("claim", "q").json
    dibs("complete", "q", task["id"], "--epoch", "1")
    assert len(dibs("watch", "q", "--until-empty", "--json").lines) == 1


@pytest.mark.parametrize("command", ["list", "stats", "claimed", "watch", "claim", "pause", "resume", "purge"])
def test_looking_creates_no_queue(dibs: Run, tmp_path: Path, command: str) -> None:
    result = dibs(command, "nosuch")
    assert result.code == 1
    assert "no queue at" in result.err
    assert list(tmp_path.iterdir()) == []


def test_control_characters_do_not_reach_the_terminal(dibs: Run) -> None:
    nasty = "a\x1b[31mb\x07\u202ec"
    dibs("push", "q", json.dumps({"x": nasty}), "--key", nasty, "--project", nasty, "--label", nasty)
    dibs("pause", "q", "--reason", nasty)
    for words in (
        ("list", "q"),
        ("show", "q", nasty),
        ("stats", "q"),
        ("why", "q", nasty),
        ("watch", "q", "--count", "1"),
    ):
        result = dibs(*words)
        assert result.code == 0, result
        assert not set("\x1b\x07\u202e") & set(result.out + result.err), words
    missing = dibs("show", "q", "no\x1b[2Jsuch")
    assert missing.code == 1
    assert "\x1b" not in missing.err
    dibs("resume", "q")
    assert dibs("claim", "q").json["key"] == nasty
    assert not set("\x1b\x07\u202e") & set(dibs("claimed", "q").out)


@pytest.mark.parametrize("command", ["list", "stats", "claimed"])
def test_looking_at_a_folder_leaves_no_trace(dibs: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("a")
    assert dibs(command, "dir:in?settle=0").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_folder_is_claimed_from_like_any_queue(dibs: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("a")
    url = "dir:in?done=out&settle=0"
    lease = dibs("claim", url).json
    assert dibs("claimed", url, "--json").json["pid"] is None
    assert dibs("complete", url, lease["id"], "--epoch", "1", "--result", "7").code == 0
    assert dibs("show", url, "a", "--json").json["result"] == 7
    assert (tmp_path / "in" / "a").read_text() == "a"
