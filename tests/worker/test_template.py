"""Placeholders in a command."""

from typing import Any

import pytest

from dibs.errors import BadInput
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.worker.template import check_command, fill, variables


@pytest.fixture
def held(queue: Queue) -> Lease:
    queue.push(
        {"url": "http://x/?a=1", "n": 3, "deep": {"list": [{"z": "last"}]}, "flag": True, "nothing": None},
        key="the key", priority="high", project="p", labels=["b", "a"],
    )  # fmt: skip
    lease = queue.claim()
    assert lease is not None
    return lease


def only(queue: Queue, payload: Any) -> Lease:
    queue.push(payload)
    lease = queue.claim()
    assert lease is not None
    return lease


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("{payload.url}", "http://x/?a=1"),
        ("--n={payload.n}", "--n=3"),
        ("{payload.deep.list.0.z}", "last"),
        ("{payload.deep}", '{"list":[{"z":"last"}]}'),
        ("{payload.flag}/{payload.nothing}", "true/null"),
        ("{key}:{epoch}:{attempt}:{priority}:{project}:{labels}", "the key:1:1:100:p:a,b"),
        ("{{id}} {print $1} ${HOME} {} {", None),
    ],
)
def test_fills_in(held: Lease, part: str, text: str | None) -> None:
    if text is None:
        text = "{id} {print $1} ${HOME} " + fill(["{payload}"], held)[0] + " {"
        part = part.replace("${HOME}", "${{HOME}}")
    assert fill([part], held) == [text]


def test_id_and_queue(held: Lease) -> None:
    assert fill(["{id}", "{queue}"], held) == [held.id, held.queue.url]


@pytest.mark.parametrize(
    ("payload", "text"),
    [("a b'c", "a b'c"), ({"path": "/in/1.tif", "size": 3}, "/in/1.tif"), ({"x": 1}, '{"x":1}'), (7, "7"), ("é", "é")],
)
def test_braces_alone_are_the_payload(queue: Queue, payload: Any, text: str) -> None:
    assert fill(["{}"], only(queue, payload)) == [text]


def test_value_is_not_filled_in_again(queue: Queue) -> None:
    assert fill(["{payload}"], only(queue, "{id} $(rm) {{x}}")) == ["{id} $(rm) {{x}}"]


@pytest.mark.parametrize("part", ["{payload.gone}", "{payload.deep.list.1}", "{payload.n.x}", "{payload.deep.list.-1}"])
def test_missing_field_says_which(held: Lease, part: str) -> None:
    with pytest.raises(BadInput, match=r"placeholder \{payload\..*has no"):
        fill([part], held)


def test_nul_is_refused(queue: Queue) -> None:
    with pytest.raises(BadInput, match="NUL"):
        fill(["{payload}"], only(queue, "a\0b"))


@pytest.mark.parametrize("part", ["{nothing}", "x{keyy}", "{id.x}", "{Payload}"])
def test_unknown_placeholder_is_an_error_before_any_task(part: str) -> None:
    with pytest.raises(BadInput, match="is not known; known: "):
        check_command(["job", part])


@pytest.mark.parametrize("command", [[], [""]])
def test_no_command(command: list[str]) -> None:
    with pytest.raises(BadInput, match="no command"):
        check_command(command)


def test_variables(held: Lease) -> None:
    found = variables(held)
    assert found["DIBS_ID"] == held.id
    assert found["DIBS_KEY"] == "the key"
    assert found["DIBS_EPOCH"] == "1"
    assert found["DIBS_LABELS"] == "a,b"
    assert found["DIBS_PAYLOAD"].startswith('{"url":"http://x/?a=1"')


def test_huge_payload_is_left_out_of_the_environment(queue: Queue) -> None:
    assert "DIBS_PAYLOAD" not in variables(only(queue, "x" * 200_000))
