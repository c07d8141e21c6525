"""The contract on specs that are claimed through a git remote: by refs, and by commits on a branch."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.queues.specs import SpecsQueue
from dibs.stores.files import FileStore
from dibs.testing import ManualClock, QueueContract
from dibs.testing.harness import Contract
from dibs.testing.topics.attempts import Attempts
from dibs.testing.topics.dependencies import Dependencies
from dibs.testing.topics.fencing import Fencing
from dibs.testing.topics.leases import Leases


class OnRemote(Contract):
    capabilities = SpecsQueue.capabilities
    race_tasks = 40
    thread_tasks = 60
    thread_keys = 4
    mode = ""

    @pytest.fixture
    def tmp_path(self, quick_folder: Path) -> Path:
        return quick_folder

    @pytest.fixture(autouse=True)
    def _shift_store_time(self, monkeypatch: pytest.MonkeyPatch, _prepare: None) -> None:
        assert isinstance(self.clock, ManualClock)
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        monkeypatch.setattr(FileStore, "now", lambda store: store._clock.wall())
        clone = self.tmp_path / "clone"
        (clone / ".dibs" / "specs").mkdir(parents=True)
        (clone / ".dibs" / "specs" / "README.md").write_text("specs\n")
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        for command in (
            ["init", "-q", "--bare", "-b", "main", str(self.tmp_path / "remote.git")],
            ["init", "-q", "-b", "main", str(clone)],
            ["-C", str(clone), "remote", "add", "origin", str(self.tmp_path / "remote.git")],
            ["-C", str(clone), "add", "."],
            [*name, "-C", str(clone), "commit", "-qm", "specs"],
            ["-C", str(clone), "push", "-q", "-u", "origin", "main"],
        ):
            subprocess.run(["git", *command], check=True, capture_output=True)

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self.place(), **options)

    def place(self) -> str:
        return f"specs:{self.tmp_path}/clone/.dibs/specs?git={self.mode}"


class TestRefs(Attempts, Fencing, Leases, OnRemote):
    mode = "refs"


class TestPush(Dependencies, Fencing, Leases, OnRemote):
    mode = "push"


if os.environ.get("DIBS_LONG"):  # a quarter of an hour: every step starts processes

    class TestAllOfRefs(QueueContract, OnRemote):
        mode = "refs"
        test_many_tasks_in_one_push = None  # thousands of claims, a push each

    class TestAllOfPush(QueueContract, OnRemote):
        mode = "push"
        test_many_tasks_in_one_push = None  # thousands of claims, a commit each
