"""From any backend to any other: everything arrives as it stood."""

from pathlib import Path

import pytest

from dibs.errors import BadInput, Unsupported
from dibs.moving import copy, move
from dibs.states import State

from .places import fill, look, open_place

PAIRS = [(a, b) for a in ("file", "memory", "stored") for b in ("file", "memory", "stored")]
SENT = {"failed": 1, "scheduled": 2, "ready": 4, "blocked": 2}


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_every_task_arrives_as_it_stood(one: str, other: str, tmp_path: Path) -> None:
    source, target = open_place(one, f"{tmp_path}/a"), open_place(other, f"{tmp_path}/b")
    fill(source)
    before = look(source)
    told: list[int] = []
    report = move(source, target, tell=lambda report: told.append(report.total))
    assert (report.sent, report.verified, report.refused, report.along) == (SENT, True, 0, 1)
    assert told == sorted(told)
    assert told[-1] == 9
    assert report.left == {}
    assert look(source) == {}
    assert look(target) == before
    assert source.stats().states == {state: int(state is State.COMPLETED) for state in State}
    assert target.get("done").state is State.COMPLETED
    assert source.get("done").id == target.get("done").id
    again = move(source, target)
    assert (again.sent, again.along, again.verified) == ({}, 0, True)
    assert look(target) == before


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_what_arrived_runs(one: str, other: str, tmp_path: Path) -> None:
    source, target = open_place(one, f"{tmp_path}/a"), open_place(other, f"{tmp_path}/b")
    fill(source)
    move(source, target)
    order = []
    for lease in target.claims(wait=0.2):
        order.append((lease.payload["n"], lease.epoch))
        lease.complete()
    assert order[0] == ("released", 2)
    assert order[-1] == ("blocked", 1)  # told by the completion of what it waited for
    assert sorted(name for name, _ in order) == ["blocked", "keyed", "large", "plain", "released"]
    assert target.retry("failed").epoch == 1
    lease = target.claim()
    assert lease is not None
    assert (lease.task.key, lease.epoch) == ("failed", 2)
    assert target.push(1, key="scheduled").duplicate
    assert not source.push(1, key="scheduled").duplicate


@pytest.mark.parametrize(("one", "other"), [("file", "stored"), ("stored", "file"), ("memory", "file")])
def test_there_and_back_again(one: str, other: str, tmp_path: Path) -> None:
    source, target = open_place(one, f"{tmp_path}/a"), open_place(other, f"{tmp_path}/b")
    fill(source)
    before = look(source)
    move(source, target)
    back = move(target, source)
    assert (back.sent, back.verified) == (SENT, True)
    assert look(source) == before
    assert look(target) == {}


@pytest.mark.parametrize(("one", "other"), [("file", "memory"), ("memory", "file"), ("stored", "stored")])
def test_a_copy_takes_nothing_away_and_adds_only_what_is_new(one: str, other: str, tmp_path: Path) -> None:
    source, target = open_place(one, f"{tmp_path}/a"), open_place(other, f"{tmp_path}/b")
    fill(source)
    before = look(source)
    report = copy(source, target)
    assert (report.sent, report.there, report.verified) == (SENT, 0, True)
    assert look(source) == look(target) == before
    lease = target.claim()
    assert lease is not None
    lease.complete()
    new = source.push({"n": "new"})
    report = copy(source, target)
    assert (report.total, report.there, report.verified) == (10, 9, True)
    assert target.get(lease.id).state is State.COMPLETED
    assert target.get(new.id).state is State.READY
    assert source.get(lease.id).state is State.READY


def test_a_copy_that_is_moved_after_stays_one(tmp_path: Path) -> None:
    source, target = open_place("file", f"{tmp_path}/a"), open_place("file", f"{tmp_path}/b")
    fill(source)
    copy(source, target)
    lease = target.claim()
    assert lease is not None
    report = move(source, target)
    assert (report.total, report.there, report.verified) == (9, 9, True)
    assert look(source) == {}
    assert target.get(lease.id).state is State.CLAIMED


def test_a_queue_cannot_be_moved_into_itself(tmp_path: Path) -> None:
    source = open_place("file", f"{tmp_path}/a")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(BadInput, match="same queue"):
        move(source, open_place("file", f"{tmp_path}/link"))


def test_a_folder_of_inputs_is_refused(tmp_path: Path) -> None:
    import dibs

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x").write_text("x")
    folder, queue = dibs.open(f"dir:{tmp_path}/in"), open_place("file", f"{tmp_path}/a")
    for source, target in ((folder, queue), (queue, folder)):
        with pytest.raises(Unsupported, match="dir: cannot"):
            move(source, target)
