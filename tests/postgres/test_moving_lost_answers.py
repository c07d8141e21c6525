"""A connection that breaks in the middle of a move: the outcome is found out, and the same move goes on."""

from pathlib import Path

import pytest

import dibs
from dibs.moving import move
from dibs.queues.parcel import Outcome
from dibs.queues.postgres import statements
from dibs.states import State
from moving.places import fill, look
from postgres.conftest import Open
from postgres.relay import Relay
from postgres.test_lost_answers import ANSWERED
from postgres.test_lost_answers import relay as relay  # the fixtures
from postgres.test_lost_answers import through as through

SENT = {"failed": 1, "scheduled": 2, "ready": 4, "blocked": 2}


def words(verb: str) -> bytes:
    """By which the relay knows a statement: how it begins."""
    return statements._text(verb).encode()[:40]


@ANSWERED
@pytest.mark.parametrize("verb", ["admit", "own", "stands", "wait", "await", "unblock", "waiting"])
def test_on_the_way_in(open_queue: Open, through: str, relay: Relay, verb: str, answered: bool, tmp_path: Path) -> None:
    queue = open_queue(through)
    with dibs.open(f"file:{tmp_path}/files?sync=off") as files:
        fill(files)
        before = look(files)
        relay.cut(words(verb), answered=answered)
        report = move(files, queue)
        assert relay.cuts == 1
        assert (report.sent, report.there, report.along, report.verified) == (SENT, 0, 1, True)
        assert look(files) == {}
    assert look(open_queue()) == before


@ANSWERED
@pytest.mark.parametrize("verb", ["pack", "find", "depart", "dismiss", "place"])
def test_on_the_way_out(
    open_queue: Open, through: str, relay: Relay, verb: str, answered: bool, tmp_path: Path
) -> None:
    queue = open_queue(through)
    fill(queue)
    before = look(queue)
    relay.cut_all()  # what is prepared on a connection is sent by its number
    relay.cut(words(verb), answered=answered)
    with dibs.open(f"file:{tmp_path}/files?sync=off") as files:
        report = move(queue, files)
        assert relay.cuts == 1
        assert (report.sent, report.there, report.along, report.verified) == (SENT, 0, 1, True)
        assert look(files) == before
    assert look(queue) == {}
    assert list(queue.gate().departed()) == []


@ANSWERED
def test_a_commit_whose_answer_is_lost(
    open_queue: Open, place: str, through: str, relay: Relay, answered: bool
) -> None:
    """What was let in, or kept because its key was taken, is not taken for something that was there before."""
    source, queue = open_queue(f"{place}-source"), open_queue(through)
    added, taken, there = (source.push(key, key=key) for key in ("added", "taken", "there"))
    parcels = list(source.gate().export(State.READY))
    queue.push("theirs", key="taken")
    queue.gate().admit([parcel for parcel in parcels if parcel.id == there.id])
    relay.cut(b"COMMIT", answered=answered)
    outcomes = queue.gate().admit(parcels)
    assert relay.cuts == 1
    assert outcomes == {added.id: Outcome.ADDED, taken.id: Outcome.DUPLICATE, there.id: Outcome.THERE}
    assert queue.sent["settled"] >= 1
    assert queue.get(taken.id).state is State.FAILED
