"""Steps to be killed in, and what must hold afterwards whatever the moment was."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dibs
from dibs.queues.queue import Queue
from dibs.states import LIVE
from dibs.task import NewTask
from disk.inspect_files import places, problems, state_of

Say = Callable[[str], None]
BEFORE = 3
PATIENCE_SECONDS = 10.0


@dataclass(frozen=True)
class Scenario:
    prepare: Callable[[str], None]
    act: Callable[[str, Say], None]
    check: Callable[[str, list[str]], None]


def fill(path: str) -> None:
    queue = dibs.open(path)
    queue.push_many([{"before": n} for n in range(BEFORE)])


def nothing(path: str) -> None:
    """The step itself creates the queue."""


def fill_one(path: str) -> None:
    dibs.open(path).push({"before": 0}, key="one", max_attempts=5, backoff=0.0)


def fill_held(path: str) -> None:
    """One task, held for ten minutes by a process that is dead as soon as this returns."""
    fill_one(path)
    assert dibs.open(path).claim(ttl=600) is not None


def fill_failed(path: str) -> None:
    fill_one(path)
    lease = dibs.open(path).claim()
    assert lease is not None
    lease.fail("broken", retry=False)


def fill_completed(path: str) -> None:
    queue = dibs.open(path)
    queue.push_many([NewTask(payload=n, key=f"k{n}") for n in range(BEFORE)])
    for lease in queue.claim_many(BEFORE):
        lease.complete("result")
    queue.push({"ready": 1})


def look(path: str) -> Queue:
    """With a fresh process's eyes. Checks need no power cut, so they do not sync."""
    return dibs.open(f"{path}?sync=off")


def drain(path: str) -> Counter[str]:
    """Complete everything; how often each task ran to its end."""
    queue = look(path)
    done: Counter[str] = Counter()
    patience = time.monotonic() + PATIENCE_SECONDS
    while True:
        lease = queue.claim()
        if lease is not None:
            lease.complete("drained")
            done[lease.id] += 1
            continue
        live = {str(state): count for state, count in queue.stats().states.items() if count and state in LIVE}
        if not live:
            break
        assert time.monotonic() < patience, f"stuck: {live}"
        time.sleep(0.001)
        queue = look(path)
    assert not problems(path), problems(path)
    assert max(done.values(), default=1) == 1, f"completed twice: {done}"
    return done


def works(path: str) -> None:
    """Nothing that was left behind blocks the queue."""
    queue = look(path)
    task = queue.push("afterwards", key="afterwards", project="afterwards", labels=["l"])
    lease = queue.claim(project="afterwards")
    assert lease is not None
    assert lease.id == task.id
    lease.complete("fine")
    assert queue.detail(task.id).result == "fine"


def check_pushed(path: str, said: list[str]) -> None:
    wrong = problems(path)
    assert not wrong, wrong
    there = set(places(path))
    assert set(said) <= there, f"lost: {set(said) - there}"
    works(path)
    done = drain(path)
    assert there <= set(done), f"not run: {there - set(done)}"


def check_filled(path: str, said: list[str]) -> None:
    assert len(places(path)) >= BEFORE, "tasks of before are lost"
    check_pushed(path, said)


def check_keyed(path: str, said: list[str]) -> None:
    queue = look(path)
    task = queue.push("second try", key="k")
    if said:
        assert (task.id, task.duplicate) == (said[0], True), "the returned push lost its key"
    live = [found for found in queue.tasks() if found.key == "k" and found.state in ("ready", "blocked", "scheduled")]
    assert [found.id for found in live] == [task.id], f"{len(live)} live tasks have the key"
    done = drain(path)
    assert done[task.id] == 1
    assert len(done) == BEFORE + 1
    works(path)


def check_one(path: str, said: list[str]) -> None:
    """One task: it is once and whole; if a completion returned, it stays the only one."""
    wrong = problems(path)
    assert not wrong, wrong
    (task_id,) = places(path)
    state = state_of(places(path)[task_id][0])
    done = drain(path)
    if "completed" in said:
        assert state == "completed"
        assert done[task_id] == 0, "completed a second time"
    elif state not in ("completed", "cancelled", "failed"):
        assert done[task_id] == 1, f"lost from {state}"
    for word in said:
        if word in ("failed", "cancelled"):
            assert state == word
    works(path)


def check_purged(path: str, said: list[str]) -> None:
    wrong = problems(path)
    assert not wrong, wrong
    assert sum(drain(path).values()) == 1, "the ready task was touched"
    works(path)
    queue = look(path)
    for n in range(BEFORE):
        queue.push("again", key=f"k{n}")
    assert len(drain(path)) == BEFORE


def push(path: str, say: Say) -> None:
    say(dibs.open(path).push({"new": 1}).id)


def push_rich(path: str, say: Say) -> None:
    queue = dibs.open(path)
    first = queue.push({"new": 1}, project="p", labels=["a", "b"], priority="high")
    say(first.id)
    say(queue.push({"new": 2}, after=[first.id]).id)
    say(queue.push({"new": 3}, delay=0.001).id)


def push_many(path: str, say: Say) -> None:
    for task in dibs.open(path).push_many([{"new": n} for n in range(7)]):
        say(task.id)


def push_keyed(path: str, say: Say) -> None:
    say(dibs.open(path).push({"new": 1}, key="k").id)


def claim(path: str, **options: Any) -> tuple[Queue, Any]:
    queue = dibs.open(path)
    lease = queue.claim(**options)
    assert lease is not None
    return queue, lease


def claim_complete(path: str, say: Say) -> None:
    _, lease = claim(path)
    lease.complete({"result": 1})
    say("completed")


def claim_renew_complete(path: str, say: Say) -> None:
    queue, lease = claim(path, ttl=600)
    lease.renew()
    queue.lease(lease.id, lease.epoch).renew()
    dibs.open(path).lease(lease.id, lease.epoch).complete("elsewhere")
    say("completed")


def claim_guarded(path: str, say: Say) -> None:
    queue, lease = claim(path, ttl=600)
    handle = queue.handle(lease)
    queue.beat(handle)
    lease.complete()
    say("completed")
    queue.end(handle)
    queue.close()


def claim_fail(path: str, say: Say) -> None:
    _, lease = claim(path)
    lease.fail("no luck")


def claim_fail_for_good(path: str, say: Say) -> None:
    _, lease = claim(path)
    lease.fail("no luck", retry=False)
    say("failed")


def claim_release(path: str, say: Say) -> None:
    _, lease = claim(path)
    lease.release(0.001)


def cancel(path: str, say: Say) -> None:
    dibs.open(path).cancel("one")
    say("cancelled")


def retry_complete(path: str, say: Say) -> None:
    queue = dibs.open(path)
    queue.retry("one")
    lease = queue.claim()
    assert lease is not None
    lease.complete()
    say("completed")


def take_over(path: str, say: Say) -> None:
    _, lease = claim(path)
    assert lease.epoch == 2
    lease.complete("taken over")
    say("completed")


def purge(path: str, say: Say) -> None:
    dibs.open(path).purge("completed", older_than=0)


SCENARIOS = {
    "create": Scenario(nothing, push, check_pushed),
    "push": Scenario(fill, push, check_filled),
    "push rich": Scenario(fill, push_rich, check_filled),
    "push many": Scenario(fill, push_many, check_filled),
    "push keyed": Scenario(fill, push_keyed, check_keyed),
    "claim complete": Scenario(fill_one, claim_complete, check_one),
    "claim renew complete": Scenario(fill_one, claim_renew_complete, check_one),
    "claim guarded": Scenario(fill_one, claim_guarded, check_one),
    "claim fail": Scenario(fill_one, claim_fail, check_one),
    "claim fail for good": Scenario(fill_one, claim_fail_for_good, check_one),
    "claim release": Scenario(fill_one, claim_release, check_one),
    "cancel": Scenario(fill_one, cancel, check_one),
    "retry complete": Scenario(fill_failed, retry_complete, check_one),
    "take over": Scenario(fill_held, take_over, check_one),
    "purge": Scenario(fill_completed, purge, check_purged),
}
