"""At least 50,000 schedules of the real code hold every guarantee; and the schedules are what they claim to be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .many import lot
from .schedule import BACKENDS, run

ROOT = Path(__file__).parents[2]
LOTS = [  # (backend, first, schedules): of what is slow to play fewer, in smaller lots
    (backend, number * size, size)
    for backend, count, size in (
        ("files", 9, 1800),
        ("files-keys", 3, 1800),
        ("stored", 4, 1800),
        ("stored-keys", 2, 1800),
        ("stored-seeds", 2, 400),
        ("files-order", 1, 1000),
        ("files-marked", 1, 600),
        ("files-marked-order", 1, 300),
        ("markers", 1, 400),
        ("specs-order", 1, 200),
        ("stored-on-files", 2, 900),
        ("directory", 2, 900),
        ("directory-share", 1, 900),
        ("specs", 2, 700),
        ("locks", 5, 1800),
    )
    for number in range(count)
]


def test_there_are_enough_schedules() -> None:
    assert sum(schedules for _, _, schedules in LOTS) >= 50_000
    assert {backend for backend, _, _ in LOTS} == set(BACKENDS)


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "first", "schedules"), LOTS)
def test_guarantees_hold(backend: str, first: int, schedules: int) -> None:
    """In a process of its own, with the hash seed with which the command line replays."""
    command = [sys.executable, "-m", "tests.simulation", "--backend", backend, "--first", str(first)]
    done = subprocess.run(
        [*command, "--schedules", str(schedules)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert f"{schedules} schedules" in done.stdout


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_seed_is_a_schedule(backend: str) -> None:
    for seed in range(8):
        first, again = (run(seed, backend, trace=True) for _ in range(2))
        assert first.trace == again.trace
        assert first.trace


@pytest.mark.parametrize("backend", ["files", "stored", "directory", "specs"])
def test_schedules_are_stormy(backend: str) -> None:
    """Every step is taken and every trouble occurs, many times: what never happens proves nothing."""
    tally = lot((backend, 0, 400))
    steps = {"push", "claim", "complete", "fail", "release", "expire", "promote", "cancel", "retry"}
    troubles = {"crash", "pause", "long pause", "stale", "lost", "vanished", "refused", "jump", "reboot"}
    if backend != "directory":
        steps.add("prioritise")
    assert not {step for step in steps if tally.steps[step] < 5}
    if backend == "stored":
        troubles.add("doubled")
    assert not {trouble for trouble in troubles if tally.troubles[trouble] < 5}
    assert tally.events > 40 * tally.schedules


def test_markers_are_taken_over_all_the_time() -> None:
    tally = lot(("markers", 0, 60))
    assert tally.troubles["taken over"] > 100 and tally.troubles["late"] > 5
    assert not tally.violated
