"""The command line on a bucket."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

import dibs
from dibs.states import State
from waiting import PATIENCE

Url = Callable[..., str]


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "dibs", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **environment},
    )


def test_from_push_to_completion(url: Url) -> None:
    place = url()
    assert run("push", place, '{"n": 1}', "--key", "one").returncode == 0
    claimed = run("claim", place, "--json")
    lease = json.loads(claimed.stdout)
    assert lease["payload"] == {"n": 1} and lease["epoch"] == 1
    assert lease["id"] in run("claimed", place).stdout
    assert run("renew", place, lease["id"], "--epoch", "1").returncode == 0
    done = run("complete", place, lease["id"], "--epoch", "1")
    assert done.returncode == 0, done.stderr
    again = run("complete", place, lease["id"], "--epoch", "1")
    assert again.returncode == 4 and "s3cr3t" not in again.stderr
    shown = run("show", place, "one")
    assert "completed" in shown.stdout and "s3cr3t" not in shown.stdout


def test_a_worker_runs_commands(url: Url) -> None:
    place = url(idle=0.2, fresh=1, upkeep=1)
    queue = dibs.open(place)
    queue.push_many({"n": n} for n in range(12))
    done = run("work", place, "-j", "3", "--until-empty", "--", "cat")
    assert done.returncode == 0, done.stderr
    assert queue.stats().states[State.COMPLETED] == 12
    assert "s3cr3t" not in done.stdout + done.stderr


def test_looking_creates_nothing(url: Url) -> None:
    place = url()
    looked = run("stats", place)
    assert looked.returncode == 1 and "no queue at" in looked.stderr
    assert "s3cr3t" not in looked.stderr and "Traceback" not in looked.stderr


def test_the_cost_is_told(url: Url) -> None:
    place = url()
    run("push", place, "1")
    cost = json.loads(run("stats", place, "--cost", "--json").stdout)["cost"]
    assert cost["task"]["requests"] == 5 and cost["idle_hour"]["list"] <= 120
    assert cost["this_command"]["list"] > 0
    table = run("stats", place, "--cost")
    assert "an idle worker" in table.stdout
    refused = run("stats", "memory:x", "--cost")
    assert refused.returncode != 0


@pytest.mark.parametrize(
    ("kind", "queue", "text"),
    [
        ("s3", "scrape", "s3://scrape names no queue"),
        ("sqs", "scrape", "needs a region"),
        ("carrier-pigeon", "scrape", "known: filesystem"),
    ],
)
def test_an_incomplete_queue_type_names_what_is_missing(kind: str, queue: str, text: str) -> None:
    looked = run("stats", queue, DIBS_QUEUE_TYPE=kind, AWS_REGION="", AWS_DEFAULT_REGION="", AWS_CONFIG_FILE="/nowhere")
    assert looked.returncode == 2 and text in looked.stderr


def test_moving_between_a_folder_and_a_bucket(url: Url, tmp_path: object) -> None:
    place = url()
    with dibs.open(f"{tmp_path}/q") as queue:
        ids = {task.id for task in queue.push_many(range(30))} | {queue.push("later", delay=3600, key="k").id}
    there = run("move", f"{tmp_path}/q", place)
    assert there.returncode == 0, there.stderr
    bucket = dibs.open(place)
    assert {task.id for task in bucket.tasks()} == ids
    back = run("move", place, f"{tmp_path}/other")
    assert back.returncode == 0, back.stderr
    with dibs.open(f"{tmp_path}/other") as queue:
        assert {task.id for task in queue.tasks()} == ids and queue.get("k").payload == "later"
    assert sum(bucket.stats().states.values()) == 0
