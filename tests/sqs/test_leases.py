"""Leases: visibility is the lease, the receipt is the token, and the holder's own deadline fences it off."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dibs
from dibs.errors import BadInput, LeaseLost, Unsupported
from dibs.queues.held import Lease
from dibs.queues.sqs import SqsQueue
from dibs.queues.sqs.steps import deadline
from sqs.conftest import Open
from sqs.server import Server
from waiting import PATIENCE, until

VERBS: dict[str, Callable[[Lease], None]] = {
    "renew": lambda lease: lease.renew(),
    "complete": lambda lease: lease.complete("stale"),
    "release": lambda lease: lease.release(),
    "fail": lambda lease: lease.fail("stale"),
    "fail for good": lambda lease: lease.fail("stale", retry=False),
}


def one(queue: SqsQueue, ttl: float = 60.0, wait: float = 0.0) -> Lease:
    lease = queue.claim(ttl=ttl, wait=wait)
    assert lease is not None
    return lease


def steps(queue: SqsQueue) -> dict[str, int]:
    """The requests so far that could change a message."""
    return {name: count for name, count in queue.requests.items() if "message" in name and name != "receive_message"}


def test_a_task_is_taken_over_when_its_visibility_ran_out_and_its_holder_is_refused(
    queue: SqsQueue, open_sqs: Open
) -> None:
    other = open_sqs()
    tasks = queue.push_many(range(len(VERBS)))
    stale = queue.claim_many(len(VERBS), ttl=4)
    assert len(stale) == len(tasks)
    assert {lease.epoch for lease in stale} == {1}
    assert other.claim() is None
    fresh = [one(other, wait=60) for _ in tasks]
    assert {(lease.id, lease.epoch) for lease in fresh} == {(task.id, 2) for task in tasks}
    before = steps(queue)
    for lease, verb in zip(stale, VERBS, strict=True):
        assert not lease.held
        with pytest.raises(LeaseLost, match=f"{lease.id}.*epoch 1"):
            VERBS[verb](lease)
    assert steps(queue) == before, "a late step was sent, though this server would have accepted the old receipt"
    for lease in fresh:
        lease.renew()
        lease.complete()
    assert other.stats().total == 0


def test_the_deadline_counts_from_before_the_request(queue: SqsQueue) -> None:
    queue.push(1)
    before = queue.clock.boottime()
    lease = one(queue, ttl=2.5)
    assert lease.ttl == 3.0
    assert before + 2.9 < lease.deadline < queue.clock.boottime() + 3.0
    renewed = queue.clock.boottime()
    lease.renew()
    assert renewed + 2.9 < lease.deadline < queue.clock.boottime() + 3.0


def test_a_long_poll_makes_the_lease_longer_not_shorter(
    open_sqs: Open, sqs_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[float, int]] = []

    def noted(sent: float, visibility: int) -> float:
        asked.append((sent, visibility))
        return deadline(sent, visibility)

    monkeypatch.setattr("dibs.queues.sqs.receiver.deadline", noted)
    queue = open_sqs(sqs_server.url(poll=1))
    pushed = queue.push(1, delay=1)
    lease = one(queue, ttl=4, wait=60)
    assert lease.id == pushed.id
    sent, visibility = asked[-1]
    assert visibility == 4 + 1, "it may come at the very start of the poll, or at its end"
    assert sent + 4 < lease.deadline < sent + 5


def test_a_ttl_beyond_twelve_hours_is_refused(queue: SqsQueue) -> None:
    with pytest.raises(BadInput, match=r"ttl .* 12 hours"):
        queue.claim(ttl=43201)


def test_a_released_task_is_ready_at_once_or_later(queue: SqsQueue, open_sqs: Open) -> None:
    queue.push(1)
    one(queue).release()
    lease = one(open_sqs())
    assert lease.epoch == 2
    with pytest.raises(Unsupported, match="12 hours"):
        lease.release(13 * 3600)
    lease.release(4)
    assert queue.claim() is None
    assert one(queue, wait=60).epoch == 3


def test_another_process_of_the_host_takes_a_lease_up(queue: SqsQueue, url: str) -> None:
    task = queue.push({"n": 1})
    lease = one(queue)
    code = (
        "import dibs, sys\n"
        "lease = dibs.open(sys.argv[1]).lease(sys.argv[2], 1)\n"
        "lease.renew(); lease.complete(); print(lease.payload)"
    )
    done = subprocess.run([sys.executable, "-c", code, url, task.id], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "{'n': 1}\n", done.stderr
    with pytest.raises(LeaseLost, match=task.id):
        lease.complete()
    with pytest.raises(LeaseLost, match="on the host that claimed it"):
        queue.lease(task.id, 1)
    assert queue.stats().total == 0


def test_what_is_held_is_nobody_elses_business(queue: SqsQueue, open_sqs: Open, url: str) -> None:
    queue.push("secret")
    lease = one(queue)
    folder = queue._holdings.folder
    path = os.path.join(folder, queue.handle(lease))
    assert "secret" in Path(path).read_text()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    lease.complete()
    assert os.listdir(folder) == []
    os.chmod(folder, 0o777)
    with pytest.raises(dibs.StorageError, match="leases="):
        open_sqs(url).claim()


def test_a_lease_from_before_the_last_boot_is_lost(queue: SqsQueue) -> None:
    task = queue.push(1)
    lease = one(queue)
    path = os.path.join(queue._holdings.folder, queue.handle(lease))
    stamps = os.stat(path)
    record = {**json.loads(Path(path).read_text()), "boot": "another"}
    Path(path).write_text(json.dumps(record))
    os.utime(path, ns=(stamps.st_mtime_ns, stamps.st_mtime_ns))
    with pytest.raises(LeaseLost):
        queue.lease(task.id, 1)
    assert queue.beat(queue.handle(lease)) is None


def test_a_message_given_out_twice_is_run_once_on_a_host(queue: SqsQueue, open_sqs: Open) -> None:
    queue.push(1)
    lease = one(queue)
    name, holding = lease.token
    other = open_sqs()
    assert not other._holdings.add(name, holding, lease.deadline)
    assert lease.held
    lease.complete()
    assert other._holdings.add(name, holding, lease.deadline)
    other._holdings.remove(name)


def test_another_process_beats_and_ends(queue: SqsQueue, open_sqs: Open) -> None:
    queue.push(1)
    guard, other = open_sqs(), open_sqs()
    lease = one(queue, ttl=3)
    handle = queue.handle(lease)
    end = time.monotonic() + 4
    while time.monotonic() < end or guard.requests["change_message_visibility"] < 3:
        kept = guard.beat(handle)
        assert kept is not None
        assert other.claim(wait=0.2) is None
        assert lease.held
        assert queue.kept_until(lease) == pytest.approx(kept)
    guard.end(handle)
    assert one(other).epoch == 2
    assert guard.beat(handle) is None
    with pytest.raises(LeaseLost):
        lease.complete()


def test_what_was_just_claimed_needs_no_beat(queue: SqsQueue, open_sqs: Open) -> None:
    queue.push(1)
    lease = one(queue, ttl=600)
    guard = open_sqs()
    assert guard.beat(queue.handle(lease)) == pytest.approx(lease.deadline)
    assert guard.requests["change_message_visibility"] == 0


def test_max_runtime_ends_a_lease_that_is_renewed(queue: SqsQueue) -> None:
    queue.push(1, max_runtime=0.3, backoff=0.0)
    lease = one(queue, ttl=30)
    with pytest.raises(LeaseLost, match="max_runtime"):
        until(lambda: lease.renew())
    assert queue.beat(queue.handle(lease)) is None
    assert one(queue).epoch == 2


def test_nobody_beats_for_a_lease_past_its_max_runtime(queue: SqsQueue, open_sqs: Open) -> None:
    queue.push(1, max_runtime=0.2)
    lease = one(queue, ttl=30)
    guard = open_sqs()
    until(lambda: guard.beat(queue.handle(lease)) is None)
    guard.lease(lease.id, 1).fail("timed out")
    with pytest.raises(LeaseLost):
        lease.complete()


def test_another_host_takes_over_and_cannot_use_a_lease_that_is_not_its_own(
    queue: SqsQueue, open_sqs: Open, url: str, tmp_path: Path
) -> None:
    task = queue.push(1)
    stale = one(queue, ttl=1)
    far = open_sqs(f"{url}&leases={tmp_path}/far")  # the last one counts
    with pytest.raises(LeaseLost, match="on this host"):
        far.lease(task.id, 1)
    fresh = one(far, wait=60)
    assert (fresh.id, fresh.epoch) == (task.id, 2)
    with pytest.raises(LeaseLost):
        stale.complete()
    fresh.complete()
    assert far.stats().total == 0


FROZEN = """
import dibs, sys
lease = dibs.open(sys.argv[1]).claim(ttl=2)
try:
    with lease:
        print("held", flush=True)
        sys.stdin.readline()
except dibs.LeaseLost:
    print("refused")
"""


def test_a_frozen_worker_that_thaws_is_refused(queue: SqsQueue, url: str) -> None:
    task = queue.push(1)
    worker = subprocess.Popen(
        [sys.executable, "-c", FROZEN, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    assert worker.stdout is not None
    assert worker.stdout.readline() == "held\n"
    worker.send_signal(signal.SIGSTOP)
    lease = one(queue, wait=60)
    assert (lease.id, lease.epoch) == (task.id, 2)
    worker.send_signal(signal.SIGCONT)
    assert worker.communicate("go on\n", timeout=PATIENCE)[0] == "refused\n"
    lease.complete()
    assert queue.stats().total == 0


def test_a_batch_names_what_was_lost(queue: SqsQueue, open_sqs: Open) -> None:
    queue.push_many(range(4))
    leases = queue.claim_many(4)
    open_sqs().lease(leases[0].id, 1).complete()
    leases[1].release()
    lost = queue.complete_many(leases)
    assert lost == leases[:2]
    assert [lease.state for lease in leases] == ["lost", "released", "completed", "completed"]
    assert queue.stats().total == 1


def test_threads_take_over_what_is_stale_once(queue: SqsQueue, open_sqs: Open) -> None:
    ids = {task.id for task in queue.push_many(range(40))}
    queues = [open_sqs() for _ in range(4)]
    stale = queue.claim_many(40, ttl=5)
    assert len({lease.id for lease in stale}) == 40

    def work(mine: SqsQueue) -> list[Lease]:
        return list(mine.claims(ttl=600, wait=7))

    with ThreadPoolExecutor(4) as pool:
        fresh = [lease for part in pool.map(work, queues) for lease in part]
    assert {lease.id for lease in fresh} == ids
    assert len(fresh) == len(ids)
    assert max(Counter((lease.id, lease.epoch) for lease in stale + fresh).values()) == 1
    assert queue.complete_many(stale) == stale
    assert queue.complete_many(fresh) == []
    assert queue.stats().total == 0


def test_a_block_is_kept_by_a_process_of_its_own(queue: SqsQueue, open_sqs: Open) -> None:
    queue.push(1)
    with one(queue, ttl=5) as lease:
        assert open_sqs().claim(wait=6.5) is None
        assert lease.held
    assert lease.state == "completed"
    assert queue.stats().total == 0
