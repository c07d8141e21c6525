"""Two hosts on one folder: a clock that is wrong by an hour, or steps by one, neither loses nor steals a lease.

Real processes, real boottime; only what a wrong clock would change is changed. The same check catches processes
that measure leases by wall clocks.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dibs
from dibs.clock import SYSTEM
from hosts.members import Remote, remotes

TTL = 1.5
WATCH = TTL * 1.6  # long enough to see a lease that is not renewed run out
HOUR = 3600.0


def problems(folder: Path, wrong: float, step: float, *, under: Sequence[str] = (), **options: Any) -> list[str]:
    """One host holds and renews while the other watches, then falls silent; then the other way round."""
    url = f"{folder}/q?sync=off"
    queue = dibs.open(url)
    near = Remote(url, **options)
    far = Remote(url, boot="another-boot", wall=wrong, under=under, **options)
    found: list[str] = []
    with remotes(near, far):
        for holder, watcher, name in ((near, far, "near"), (far, near, "far")):
            task = queue.push({"held by": name})
            if holder.ask(f"claim {TTL}") != f"{task.id} 1 0":
                found.append(f"{name} could not claim")
                continue
            watcher.send(f"watch {WATCH} 60")
            far_steps = iter([step, -step, 0.0, 0.0])
            for _ in range(int(WATCH / 0.2)):
                time.sleep(0.2)
                far_step = next(far_steps, 0.0)
                if far_step and holder is far:
                    far.ask(f"step {far_step}")
                answer = holder.ask("renew")
                if answer != "done":
                    found.append(f"{name} lost its lease: {answer}")
                    break
            stolen = watcher.answer()
            if stolen != "none":
                found.append(f"{name} was stolen from: {stolen}")
            if found:
                continue
            taken = watcher.ask(f"watch {TTL * 8} 60")
            if taken != f"{task.id} 2 1":
                found.append(f"{name} fell silent and was not taken over from: {taken}")
                continue
            if not holder.ask("complete").startswith("lost"):
                found.append(f"{name} completed what it had lost")
            if watcher.ask("complete") != "done":
                found.append("the new holder could not complete")
    return found


def test_leases_are_measured_on_a_clock_that_never_steps() -> None:
    never_steps = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    before = time.clock_gettime(never_steps)
    assert before <= SYSTEM.boottime() <= time.clock_gettime(never_steps)


def outcomes(folder: Path, cases: dict[str, tuple[float, float]], **options: Any) -> dict[str, list[str]]:
    """Mostly waiting: so all at once."""
    for name in cases:
        (folder / name).mkdir()
    with ThreadPoolExecutor(len(cases)) as pool:
        running = {name: pool.submit(problems, folder / name, *case, **options) for name, case in cases.items()}
        return {name: run.result() for name, run in running.items()}


WRONG = {"ahead": (HOUR, 0.0), "behind": (-HOUR, 0.0), "steps on": (0.0, HOUR), "steps back": (0.0, -HOUR)}


def test_a_wrong_clock_neither_loses_nor_steals(tmp_path: Path) -> None:
    assert outcomes(tmp_path, WRONG) == {name: [] for name in WRONG}


def test_the_check_catches_expiry_by_wall_clocks(tmp_path: Path) -> None:
    """While all clocks are right it passes: so it is the clocks that are caught."""
    found = outcomes(tmp_path, {"right": (0.0, 0.0), **WRONG}, by_wall=True)
    assert found.pop("right") == []
    assert all(found.values()), found
