"""Lanes: many things at once, answers in order, and nothing left running behind an error."""

import os
import threading
import time
from collections.abc import Callable

import pytest

from dibs.queues.stored.lanes import Lanes

SECONDS = 30


def meeting(count: int) -> Callable[[int], int]:
    """Returns only when so many are under way at once."""
    barrier = threading.Barrier(count)

    def act(number: int) -> int:
        barrier.wait(SECONDS)
        return -number

    return act


def test_so_many_are_under_way_at_once_and_answers_come_in_order() -> None:
    lanes = Lanes(4)
    for _ in range(3):
        assert list(lanes.each(meeting(4), range(8))) == [-number for number in range(8)]


def test_threads_are_kept() -> None:
    lanes = Lanes(2)
    names: set[str] = set()
    for _ in range(5):
        list(lanes.each(lambda _: names.add(threading.current_thread().name), range(10)))
    assert len(names) <= 2


def test_one_lane_or_one_thing_needs_no_thread() -> None:
    here = threading.current_thread()
    assert list(Lanes(1).each(lambda _: threading.current_thread(), range(3))) == [here] * 3
    assert list(Lanes(4).each(lambda _: threading.current_thread(), [1])) == [here]


def test_an_error_is_raised_when_what_is_under_way_has_ended() -> None:
    begun, ended = [], []
    another, failed = threading.Event(), threading.Event()

    def act(number: int) -> None:
        begun.append(number)
        if number == 0:
            another.wait(SECONDS)
            failed.set()
            raise ValueError("the first")
        another.set()
        failed.wait(SECONDS)
        time.sleep(0.1)  # it goes on for a while
        ended.append(number)

    with pytest.raises(ValueError, match="the first"):
        list(Lanes(2).each(act, range(1000)))
    assert sorted(ended) == sorted(set(begun) - {0})
    assert len(begun) < 1000


def test_a_forked_child_has_threads_of_its_own() -> None:
    lanes = Lanes(2)
    list(lanes.each(meeting(2), range(2)))
    child = os.fork()
    if not child:
        os._exit(0 if list(lanes.each(meeting(2), range(2))) == [0, -1] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
