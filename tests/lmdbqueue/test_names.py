"""Ids, keys, projects and labels are only names, whatever is in them and however long: LMDB's own keys are short."""

from pathlib import Path

import pytest

import dibs
from dibs.errors import BadInput, LeaseLost, TaskNotFound
from dibs.queues.lmdb import layout
from dibs.queues.parcel import Parcel
from dibs.queues.queue import Queue
from dibs.task import Task

TABLES = [chr(number) for number in range(1, 17)]
HOSTILE = ["\x01format", "\x00", "\x06\x26\xdd" + "\x00" * 16, "dibs.json", "é" * 512, "x" * 1024, "a\x00b", *TABLES]


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return dibs.open(f"lmdb:{tmp_path}/q?sync=off")


def test_names_reach_into_nothing(queue: Queue) -> None:
    for name in HOSTILE:
        queue.push("after", after=[name], priority="low")
        queue.push({"of": name}, key=name, project=name[:60], labels=[name[:60], "all"])
    assert len({queue.get(name).id for name in HOSTILE}) == len(HOSTILE)
    for name in HOSTILE:
        lease = queue.claim(project=name[:60], labels=[name[:60], "all"])
        assert lease is not None
        assert lease.payload == {"of": name}
        assert queue.push("again", key=name).duplicate
        lease.complete(name)
        assert queue.detail(name).result == name
    stats = queue.stats()
    assert (stats.states["completed"], stats.states["ready"]) == (len(HOSTILE), len(HOSTILE))
    assert stats.labels["all"] == {"completed": len(HOSTILE)}
    queue.close()


def test_names_that_begin_alike_beyond_the_limit_are_different(queue: Queue) -> None:
    long = "k" * 1023
    first, second = queue.push(1, key=long + "a"), queue.push(2, key=long + "b")
    waits = queue.push(3, after=[long + "a"])
    assert first.id != second.id
    assert not second.duplicate
    lease, other = queue.claim_many(2)
    other.complete()
    assert queue.claim() is None
    lease.complete()
    taken = queue.claim()
    assert taken is not None
    assert taken.id == waits.id


@pytest.mark.parametrize("ref", ["", "0" * 32, "g" * 32, "0" * 31 + "\x00", "\x0d" + "0" * 32, "x" * 5000])
def test_what_is_no_task_is_not_found(queue: Queue, ref: str) -> None:
    for look in (queue.get, queue.cancel, queue.retry, queue.detail):
        with pytest.raises(TaskNotFound):
            look(ref)
    with pytest.raises((LeaseLost, TaskNotFound)):
        queue.lease(ref, 1)


def test_a_handle_that_is_none_beats_nothing(queue: Queue) -> None:
    for handle in ("", "1:me", "1:me:nobody", "one:me:" + "0" * 32, f"1:me:{'0' * 32}"):
        assert queue.beat(handle) is None
        queue.end(handle)


def test_a_handle_of_another_epoch_or_holder_beats_and_ends_nothing(queue: Queue) -> None:
    queue.push(1)
    lease = queue.claim()
    assert lease is not None
    epoch, holder, task_id = queue.handle(lease).split(":")
    for other in (f"2:{holder}:{task_id}", f"0:{holder}:{task_id}", f"{epoch}:{holder}0:{task_id}"):
        assert queue.beat(other) is None
        queue.end(other)
    assert queue.beat(f"{epoch}:{holder}:{task_id}") is not None
    lease.complete()


def test_an_id_that_is_none_is_not_let_in(queue: Queue) -> None:
    with pytest.raises(BadInput, match="hex"):
        queue.gate().admit([Parcel(task=Task(id="../../x", payload=1))])
    assert queue.stats().total == 0


def test_every_key_fits(queue: Queue) -> None:
    queue.push("x", key="k" * 1024, project="p" * 128, labels=["l" * 128], after=["a" * 1024])
    lengths = queue._database.read(lambda txn: [len(key) for key in txn.cursor().iternext(values=False)])  # type: ignore[attr-defined]
    assert max(lengths) < 100
    assert len(layout.hashed("x" * 1024)) == 24
