"""Daemons that are killed, ended and started again in the middle of work; for the great run see `test_chaos`."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import dibs
from children import environment
from serve.process import PROGRAM, Process
from waiting import LONG_PATIENCE


@pytest.fixture
def serving(quick_folder: Path) -> Iterator[Process]:
    process = Process(quick_folder, f"file:{quick_folder}/q?sync=off")
    yield process
    process.kill()


def test_a_lease_outlives_the_daemon(serving: Process) -> None:
    with dibs.open(serving.url("q")) as queue:
        queue.push_many([1, 2])
        lease, other = queue.claim_many(2, ttl=600)
        serving.kill()
        serving.start()
        lease.renew()
        assert lease.held
        assert queue.claim() is None
        lease.complete("after")
        other.release()
        assert queue.detail(lease.id).result == "after"
        again = queue.claim()
        assert again is not None
        assert (again.id, again.epoch) == (other.id, 2)


def test_it_ends_in_good_order(serving: Process, quick_folder: Path) -> None:
    with dibs.open(f"unix:{quick_folder}/s/q") as queue:
        queue.push(1)
        lease = queue.claim(ttl=600)
        assert lease is not None
        assert serving.end() == 0
        assert not (quick_folder / "s").exists()
        serving.start()
        lease.complete()


def test_a_command_works_through_a_daemon(serving: Process, quick_folder: Path) -> None:
    with dibs.open(serving.url("q")) as queue:
        queue.push_many(range(20))
        words = [PROGRAM, "work", serving.url("q"), "-j", "2", "--until-empty", "--", "true"]
        done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=LONG_PATIENCE)
        assert done.returncode == 0, done.stderr
        assert queue.stats().states["completed"] == 20
