"""The steps of `specs:` to be killed in, and what must hold afterwards whatever the moment was."""

import os
import time
from collections.abc import Callable
from functools import partial

import dibs
from crash.scenarios import PATIENCE_SECONDS, Say, Scenario
from dibs.errors import LeaseLost
from dibs.queues.held import Lease
from dibs.queues.specs import SpecsQueue
from dibs.specs.frontmatter import body, read
from dibs.states import LIVE, TERMINAL, State

BODY = b"# Title\n\n" + b"A line of text.\n" * 400
ONE = b"---\n# above\nstatus: pending # why\nmax_attempts: 5\nbackoff: 0\nx: 'y'\n---\n" + BODY


def opened(path: str, pid: int | str | None = "self") -> SpecsQueue:
    queue = dibs.open(f"specs:{path}/.dibs/specs", pid=pid)
    assert isinstance(queue, SpecsQueue)
    return queue


def fresh(path: str) -> None:
    """A spec, and nothing of dibs yet."""
    os.makedirs(f"{path}/.dibs/specs")
    for name in ("one", "two"):
        with open(f"{path}/.dibs/specs/{name}.md", "wb") as file:
            file.write(ONE if name == "one" else ONE.replace(b"x: 'y'", b"depends_on: one"))


def used(path: str) -> None:
    """It was claimed before, so that the epochs must go on."""
    fresh(path)
    taken(opened(path)).release()


def ended(how: Callable[[Lease], None], path: str) -> None:
    used(path)
    how(taken(opened(path)))


def held(path: str) -> None:
    """By a process that is dead as soon as this returns."""
    used(path)
    taken(opened(path))


def held_by_the_living(path: str) -> None:
    """By the process that looks afterwards."""
    used(path)
    taken(opened(path, pid=os.getppid()))


def deadly(path: str) -> None:
    """It has killed a worker, and may not kill another one."""
    fresh(path)
    with open(f"{path}/.dibs/specs/one.md", "wb") as file:
        file.write(ONE.replace(b"x: 'y'", b"x: 'y'\nmax_deaths: 1"))
    taken(opened(path))


def taken(queue: SpecsQueue) -> Lease:
    lease = queue.claim(ttl=600)
    assert lease is not None
    return lease


def claimed(path: str, say: Say) -> Lease:
    lease = taken(opened(path))
    say(f"{lease.epoch}")
    return lease


def claim_complete(path: str, say: Say) -> None:
    claimed(path, say).complete({"result": 1})
    say("completed")


def claim_renew_complete(path: str, say: Say) -> None:
    lease = claimed(path, say)
    lease.renew()
    opened(path).lease(lease.id, lease.epoch).complete("elsewhere")
    say("completed")


def claim_fail(path: str, say: Say) -> None:
    claimed(path, say).fail("no luck")


def claim_fail_for_good(path: str, say: Say) -> None:
    claimed(path, say).fail("no luck", retry=False)
    say("failed")


def claim_release(path: str, say: Say) -> None:
    claimed(path, say).release(0.001)


def cancel(path: str, say: Say) -> None:
    opened(path).cancel("one")
    say("cancelled")


def retry_complete(path: str, say: Say) -> None:
    queue = opened(path)
    queue.retry("one")
    lease = taken(queue)
    say(f"{lease.epoch}")
    lease.complete()
    say("completed")


def expire(path: str, say: Say) -> None:
    """Whatever a dead worker left is given back, and the next spec looked for."""
    opened(path).claim()


def push(path: str, say: Say) -> None:
    queue = opened(path)
    say(queue.push({"title": "New", "body": BODY.decode()}, key="new").id)
    say(queue.push({"n": 1}, after=["one"]).id)


def check(path: str, said: list[str]) -> None:
    """Each spec is whole and ends once, as was said if anything was; the epochs rise; nothing is left over."""
    epochs = [int(word) for word in said if word.isdigit()]
    before = whole(path)
    queue = opened(path)
    state = queue.get("one").state
    for word in said:
        if word in ("completed", "failed", "cancelled"):
            assert state == word, f"{word} was said, but it is {state}"
        elif not word.isdigit():
            assert word in before, f"lost: {word}"
    give_back_ours(queue)
    done = drain(path)
    after = queue.get("one")
    assert after.state in TERMINAL
    if state in TERMINAL:
        assert done.get("one") is None, "it ran again"
    elif after.state is State.COMPLETED:
        assert done["one"] > max(epochs, default=0), f"{done['one']} is no later epoch than {epochs}"
    assert sorted(whole(path)) == sorted(before)
    assert [name for name in os.listdir(f"{path}/.dibs/.locks") if name.endswith(".pid")] == []
    history = [event.what for event in queue.detail("one").history]
    assert history.count("completed") == (after.state is State.COMPLETED), history
    with open(f"{path}/.dibs/.locks/.gitignore") as file:
        assert file.read() == "*\n"


def whole(path: str) -> list[str]:
    """The ids of all specs; nothing else may be in the folder."""
    folder = f"{path}/.dibs/specs"
    ids = []
    for name in os.listdir(folder):
        assert name.endswith(".md"), f"{name} was left in the folder"
        ids.append(name.removesuffix(".md"))
        with open(f"{folder}/{name}", "rb") as file:
            data = file.read()
        fields = read(data)
        if name in ("one.md", "two.md"):
            assert body(data) == BODY, "the text was changed"
            assert data.startswith(b"---\n# above\nstatus: ") and fields["max_attempts"] == 5
            assert b" # why\n" in data
        else:
            assert body(data).startswith(b"# ")
    return ids


def drain(path: str) -> dict[str, int]:
    """Complete everything that can be; the epochs at which that was."""
    done: dict[str, int] = {}
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        queue = opened(path)
        while (lease := queue.claim()) is not None:
            assert lease.id not in done, f"{lease.id} ran twice"
            done[lease.id] = lease.epoch
            lease.complete("drained")
        stopped = queue.get("one").state in (State.FAILED, State.CANCELLED)
        live = [task.id for task in queue.tasks() if task.state in LIVE and not (stopped and "one" in task.after)]
        if not live:
            return done
        assert time.monotonic() < end, f"stuck: {live}: {queue.why(live[0]).text}"
        time.sleep(0.001)


def give_back_ours(queue: SpecsQueue) -> None:
    """What this process holds: it has its lease still in hand, and lets go of it or learns that it is lost."""
    found = queue._leases.read("one.pid")
    if found is not None and found.record.holder is not None and found.record.holder.pid == os.getpid():
        lease = queue._lease_of(queue.get("one"), queue._leases.held("one.pid", found))
        try:
            lease.release()
        except LeaseLost:
            assert queue.get("one").state is State.CANCELLED


SPEC_SCENARIOS = {
    "specs: first use": Scenario(fresh, claim_complete, check),
    "specs: claim complete": Scenario(used, claim_complete, check),
    "specs: claim renew complete": Scenario(used, claim_renew_complete, check),
    "specs: claim fail": Scenario(used, claim_fail, check),
    "specs: claim fail for good": Scenario(used, claim_fail_for_good, check),
    "specs: claim release": Scenario(used, claim_release, check),
    "specs: cancel": Scenario(used, cancel, check),
    "specs: cancel of what died": Scenario(held, cancel, check),
    "specs: cancel of what is held": Scenario(held_by_the_living, cancel, check),
    "specs: retry after fail": Scenario(
        partial(ended, lambda lease: lease.fail("x", retry=False)), retry_complete, check
    ),
    "specs: take over": Scenario(held, claim_complete, check),
    "specs: expire": Scenario(held, expire, check),
    "specs: expire for good": Scenario(deadly, expire, check),
    "specs: push": Scenario(used, push, check),
}
