"""A mover that is killed, anywhere: nothing is lost, nothing is doubled, and the next one goes on."""

import json
import random
import subprocess
from pathlib import Path

import pytest

import children
from dibs.task import NewTask
from waiting import LONG_PATIENCE

from .places import open_place
from .sums import sum_up

TASKS = 1200
MOST_KILLS = 12


def killed_before_calls(folder: Path, one: str, other: str, first: int, step: int) -> None:
    done = subprocess.run(
        children.command("moving.kill_each", str(folder), one, other, str(first), str(step)),
        env=children.environment(), capture_output=True, text=True, timeout=LONG_PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["failures"] == [], f"first {first}"
    assert found["points"] > 100


def test_killed_before_every_other_system_call(quick_folder: Path) -> None:
    killed_before_calls(quick_folder, "file", "file", random.randint(1, 2), 2)


@pytest.mark.parametrize(("one", "other"), [("file", "stored"), ("stored", "file")])
def test_killed_before_every_fifth_system_call(one: str, other: str, quick_folder: Path) -> None:
    killed_before_calls(quick_folder, one, other, random.randint(1, 5), 5)


@pytest.mark.parametrize(("one", "other"), [("file", "file"), ("stored", "file"), ("file", "stored")])
def test_killed_at_random_again_and_again(one: str, other: str, quick_folder: Path) -> None:
    seed = random.randrange(10**9)
    rng = random.Random(seed)
    source, target = open_place(one, f"{quick_folder}/a"), open_place(other, f"{quick_folder}/b")
    keyed = [NewTask(payload=n, key=f"key-{n}", after=[f"key-{n - 1}"] if n % 3 else ()) for n in range(60)]
    plain = [NewTask(payload=n, delay=5000.0 * (n % 4 == 1), priority=n % 3) for n in range(60, TASKS)]
    ids = {task.id for task in source.push_many([*keyed, *plain])}
    command = children.command("moving.carrier", one, f"{quick_folder}/a", other, f"{quick_folder}/b")
    for turn in range(MOST_KILLS + 1):
        with subprocess.Popen(
            command, env=children.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as carrier:
            assert carrier.stdout is not None
            assert carrier.stdout.readline() == b"go\n"
            try:
                soon = rng.uniform(0.0, 0.25 if turn else 0.02)  # the first time before it can be done
                _, said = carrier.communicate(timeout=soon if turn < MOST_KILLS else 120)
                assert carrier.returncode == 0, f"seed {seed}: {said.decode()}"
                break
            except subprocess.TimeoutExpired:
                carrier.kill()
        sum_up(source, target, ids)
    assert turn > 0, f"seed {seed}: it was never killed; make it move more"
    sum_up(source, target, ids)
    assert list(source.gate().departed()) == list(source.tasks()) == []
    assert sorted(task.id for task in target.tasks()) == sorted(ids), f"seed {seed}"
    assert {target.get(f"key-{n}").payload for n in range(60)} == set(range(60))
