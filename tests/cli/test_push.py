import json
from pathlib import Path

import pytest

from .conftest import Run


def test_prints_the_id_of_the_task(dibs: Run) -> None:
    result = dibs("push", "q", '{"a": 1}')
    assert result.code == 0
    assert len(result.out.strip()) == 32
    assert result.err == ""
    assert dibs("show", "q", result.out.strip(), "--json").json["task"]["payload"] == {"a": 1}


def test_every_option_reaches_the_task(dibs: Run) -> None:
    first = dibs("push", "q", "1", "--key", "first").out.strip()
    result = dibs(
        "push", "q", "--key", "k", '[1, "é"]', "--unique", "completed", "--priority", "high", "--project", "p",
        "--label", "b", "--label", "a", "--after", first, "--max-attempts", "7", "--max-deaths", "8",
        "--max-runtime", "2h", "--backoff", "5s", "--max-backoff", "1d", "--at", "2040-01-01T00:00:00Z", "--json",
    )  # fmt: skip
    assert result.code == 0, result
    task = result.json
    assert task.pop("id")
    assert task.pop("pushed_at") > 1_600_000_000
    assert task == {
        "payload": [1, "é"], "key": "k", "unique": "completed", "priority": 100, "project": "p", "labels": ["a", "b"],
        "after": [first], "not_before": 2208988800.0, "max_attempts": 7, "max_deaths": 8, "max_runtime": 7200.0,
        "backoff": 5.0, "max_backoff": 86400.0, "state": "blocked", "epoch": 0, "attempts": 0, "deaths": 0,
        "duplicate": False,
    }  # fmt: skip


def test_delay_makes_it_scheduled(dibs: Run) -> None:
    assert dibs("push", "q", "1", "--delay", "1h", "--json").json["state"] == "scheduled"


def test_payload_from_standard_input(dibs: Run) -> None:
    assert dibs("push", "q", "-", "--json", stdin='{"from": "stdin"}').json["payload"] == {"from": "stdin"}
    assert dibs("push", "q", "-", "--text", "--json", stdin="two\nlines\n").json["payload"] == "two\nlines"


def test_text_payload_and_key_alone(dibs: Run) -> None:
    assert dibs("push", "q", "--text", "https://example.com", "--json").json["payload"] == "https://example.com"
    assert dibs("push", "q", "--key", "only", "--json").json["payload"] is None


def test_a_key_twice_is_one_task(dibs: Run) -> None:
    first = dibs("push", "q", "1", "--key", "k")
    again = dibs("push", "q", "2", "--key", "k", "--json")
    assert again.code == 0
    assert again.json["duplicate"] is True
    assert again.json["id"] == first.out.strip()
    assert again.json["payload"] == 1


@pytest.mark.parametrize(
    "words",
    [
        ["q"],
        ["q", "1", "--jsonl", "f"],
        ["q", "--jsonl", "f", "--key", "k"],
        ["q", "--jsonl", "f", "--text", "--records"],
        ["q", "1", "--records"],
        ["q", "1", "--delay", "1", "--at", "2040-01-01"],
    ],
)
def test_what_does_not_go_together_is_bad_usage(dibs: Run, tmp_path: Path, words: list[str]) -> None:
    result = dibs("push", *words)
    assert result.code == 2
    assert result.err.startswith("dibs: push: ")
    assert "Try: dibs push --help" in result.err
    assert not (tmp_path / "q").exists()


def test_lines_are_payloads(dibs: Run, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"n": 1}\n\n2\r\n"three"')
    result = dibs("push", "q", "--jsonl", "tasks.jsonl", "--project", "p")
    assert result.out == "pushed 3 tasks\n"
    tasks = dibs("list", "q", "--json").lines
    assert sorted(json.dumps(task["payload"]) for task in tasks) == ['"three"', "2", '{"n": 1}']
    assert {task["project"] for task in tasks} == {"p"}


def test_lines_of_text_from_standard_input(dibs: Run) -> None:
    assert dibs("push", "q", "--jsonl", "-", "--text", "--json", stdin="a\nb\n").json == {"pushed": 2, "duplicates": 0}
    assert {task["payload"] for task in dibs("list", "q", "--json").lines} == {"a", "b"}


def test_records_say_more_and_options_are_their_defaults(dibs: Run) -> None:
    lines = [
        {"payload": 1, "key": "a", "priority": "high", "labels": ["x"], "delay": "1h", "max_attempts": 9},
        {"payload": 2, "key": "b", "at": "2040-01-01T00:00:00Z", "project": "other"},
        {"payload": None, "key": None, "after": ["a"]},
        {"payload": 3, "key": "a"},
    ]
    text = "\n".join(map(json.dumps, lines))
    result = dibs("push", "q", "--jsonl", "-", "--records", "--project", "mine", "--json", stdin=text)
    assert result.json == {"pushed": 3, "duplicates": 1}
    tasks = {task["payload"]: task for task in dibs("list", "q", "--json").lines}
    assert (tasks[1]["priority"], tasks[1]["labels"], tasks[1]["max_attempts"]) == (100, ["x"], 9)
    assert (tasks[1]["state"], tasks[1]["project"]) == ("scheduled", "mine")
    assert (tasks[2]["not_before"], tasks[2]["project"]) == (2208988800.0, "other")
    assert tasks[None]["state"] == "blocked"


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("{half", "not JSON"),
        ("[" * 100_000, "nested too deep"),
        ("NaN", "not JSON"),
        ('"\\ud800"', "not JSON"),
    ],
)
def test_a_bad_line_pushes_what_stands_before_it(dibs: Run, bad: str, says: str) -> None:
    result = dibs("push", "q", "--jsonl", "-", stdin=f"1\n2\n{bad}\n4\n")
    assert result.code == 2
    assert "line 3 of standard input" in result.err
    assert says in result.err
    assert "Try: mend it, then: tail -n +3" in result.err
    assert sorted(task["payload"] for task in dibs("list", "q", "--json").lines) == [1, 2]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ("[1]", "no record"),
        ('{"payload": 1, "prioritie": 2}', "'prioritie', which is not known"),
        ('{"payload": 1, "priority": [2]}', "priority is [2]"),
        ('{"payload": 1, "priority": 1.5}', "priority is 1.5"),
        ('{"payload": 1, "priority": "urgent"}', "'urgent' is neither"),
        ('{"payload": 1, "priority": true}', "priority is True"),
        ('{"payload": 1, "delay": "soon"}', "duration 'soon'"),
        ('{"payload": 1, "at": "soon"}', "time 'soon'"),
        ('{"payload": 1, "labels": "x"}', "labels is 'x'"),
        ('{"payload": 1, "labels": [1]}', "label 1"),
        ('{"payload": 1, "unique": "never"}', "unique 'never'"),
        ('{"payload": 1, "key": "k", "after": ["k"]}', "after itself"),
    ],
)
def test_a_bad_record_says_what_is_wrong(dibs: Run, record: str, says: str) -> None:
    result = dibs("push", "q", "--jsonl", "-", "--records", stdin=f'{{"payload": 0}}\n{record}\n')
    assert result.code == 2
    assert "line 2 of standard input" in result.err
    assert says in result.err
    assert [task["payload"] for task in dibs("list", "q", "--json").lines] == [0]


def test_more_lines_than_a_batch(dibs: Run) -> None:
    result = dibs("push", "q?sync=off", "--jsonl", "-", stdin="\n".join(map(str, range(2500))))
    assert result.out == "pushed 2,500 tasks\n"
    assert dibs("stats", "q", "--json").json["states"]["ready"] == 2500


def test_a_file_that_is_not_there(dibs: Run) -> None:
    result = dibs("push", "q", "--jsonl", "nosuch.jsonl")
    assert result.code == 1
    assert result.err == "dibs: cannot read nosuch.jsonl: No such file or directory\n"


def test_a_queue_in_memory_is_refused_rather_than_lost(dibs: Run) -> None:
    result = dibs("push", "memory:", "1")
    assert result.code == 2
    assert "inside one process" in result.err
