"""Waiting: it returns what was seen, looks once more behind the end, and says what it waited for and what it saw."""

from itertools import count
from types import SimpleNamespace

import pytest

import waiting
from waiting import until


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)


def test_it_returns_what_was_seen() -> None:
    numbers = count()
    assert until(lambda: next(numbers)) == 1
    assert until(lambda: next(numbers), "a number", equals=4) == 4
    assert until(list, equals=[]) == []


def test_it_says_what_was_waited_for_and_what_was_seen(impatient: None) -> None:
    with pytest.raises(AssertionError, match=r"^waited 0 s for the end; seen last: \[\]$"):
        until(list, "the end")
    with pytest.raises(AssertionError, match=r"^waited 0 s for the end to be 3; seen last: 2$"):
        until(lambda: 2, "the end", equals=3)
    with pytest.raises(AssertionError, match=r"for until\(lambda: 1 > 2\); seen last: False$"):
        until(lambda: 1 > 2)


def test_the_last_look_is_behind_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long this process was kept from running."""
    moments, numbers = iter([0.0, 0.0, 1e9]), count()
    frozen = SimpleNamespace(monotonic=lambda: next(moments), sleep=lambda seconds: None)
    monkeypatch.setattr(waiting, "time", frozen)
    assert until(lambda: next(numbers)) == 1
