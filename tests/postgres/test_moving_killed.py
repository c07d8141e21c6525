"""A mover to or from PostgreSQL that is killed, anywhere: nothing is lost, nothing is doubled, the next one goes on."""

import json
import random
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

import children
import dibs
from dibs.task import NewTask
from moving.sums import sum_up
from postgres.places import url
from servers.server import Server
from waiting import LONG_PATIENCE

TASKS = 3000
MOST_KILLS = 12
MOVE = """
import sys, dibs
from dibs.moving import move
queues = [dibs.open(place) for place in sys.argv[1:]]
print("go", flush=True)
sys.exit(0 if move(*queues).verified else 1)
"""


@pytest.mark.parametrize("direction", ["to", "from"])
def test_killed_before_every_third_statement(direction: str, postgres: Server, quick_folder: Path) -> None:
    first = random.randint(1, 3)
    places = str(quick_folder), url(postgres, queue=f"{uuid4().hex}-")
    done = subprocess.run(
        children.command("postgres.kill_each", *places, direction, str(first), "3"),
        env=children.environment(), capture_output=True, text=True, timeout=LONG_PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["failures"] == [], f"first {first}"
    assert found["points"] > 20


@pytest.mark.parametrize("direction", ["to", "from"])
def test_killed_at_random_again_and_again(direction: str, place: str, quick_folder: Path) -> None:
    seed = random.randrange(10**9)
    rng = random.Random(seed)
    places = [f"file:{quick_folder}/a?sync=off", place]
    if direction == "from":
        places.reverse()
    source, target = map(dibs.open, places)
    keyed = [NewTask(payload=n, key=f"key-{n}", after=[f"key-{n - 1}"] if n % 3 else ()) for n in range(60)]
    plain = [NewTask(payload=n, delay=5000.0 * (n % 4 == 1), priority=n % 3) for n in range(60, TASKS)]
    ids = {task.id for task in source.push_many([*keyed, *plain])}
    for turn in range(MOST_KILLS + 1):
        with subprocess.Popen(
            [sys.executable, "-c", MOVE, *places],
            env=children.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as mover:  # fmt: skip
            assert mover.stdout is not None
            assert mover.stdout.readline() == b"go\n"
            try:
                soon = rng.uniform(0.0, 0.3 if turn else 0.02)  # the first time before it can be done
                _, said = mover.communicate(timeout=soon if turn < MOST_KILLS else 120)
                assert mover.returncode == 0, f"seed {seed}: {said.decode()}"
                break
            except subprocess.TimeoutExpired:
                mover.kill()
        sum_up(source, target, ids)
    assert turn > 0, f"seed {seed}: it was never killed; make it move more"
    sum_up(source, target, ids)
    assert list(source.gate().departed()) == list(source.tasks()) == []
    assert sorted(task.id for task in target.tasks()) == sorted(ids), f"seed {seed}"
    assert {target.get(f"key-{n}").payload for n in range(60)} == set(range(60))
    for queue in (source, target):
        queue.close()
