"""Processes that do what they are told: one that failed, or answers late, does not spoil the next order."""

import pytest

from children import environment
from dibs.clock import SYSTEM
from dibs.doctor.crew import Crew, NoAnswer
from dibs.doctor.finding import said
from dibs.errors import StorageError


class Acts:
    def __init__(self, place: str) -> None:
        self._place = place

    def name(self, me: int) -> str:
        return f"{self._place} {me}"

    def fail(self, me: int) -> None:
        raise OSError(f"no luck at postgres://me:secret@{self._place}/")

    def late(self, me: int, seconds: float) -> str:
        SYSTEM.sleep(seconds)
        return "late"


def test_answers_belong_to_their_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    with Crew("doctor.test_crew", "here", 2, SYSTEM) as crew:
        assert crew.all("name") == ["here 0", "here 1"]
        with pytest.raises(StorageError, match="no luck") as raised:
            crew.all("fail")
        assert "secret" not in str(raised.value)
        assert crew.all("name") == ["here 0", "here 1"]  # not what the second still had to say
        crew.tell(0, "late", seconds=0.2)
        with pytest.raises(NoAnswer):
            crew.hear(0, 0.01)
        assert crew.one(0, "name") == "here 0"


def test_a_process_that_cannot_begin_says_why() -> None:
    with Crew("dibs.no_such_module", "here", 1, SYSTEM) as crew, pytest.raises(StorageError, match="no_such_module"):
        crew.one(0, "name")


def test_what_happened_and_what_to_do_are_told_apart() -> None:
    assert said(StorageError("cannot reach x: a; b; check the network")) == (
        "cannot reach x: a; b",
        "check the network",
    )
    happened, remedy = said(StorageError("a process of the doctor ended: code 1"))
    assert happened == "a process of the doctor ended: code 1" and remedy
