"""The `dibs` program on PostgreSQL, and its workers, as real processes."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from dibs.cli.reference import FIELDS
from dibs.queues.postgres import PostgresQueue
from dibs.queues.postgres.schema import VERSION
from postgres.places import url
from servers.server import Server
from waiting import PATIENCE, until

PROGRAM = str(Path(sys.executable).with_name("dibs"))


class Done:
    def __init__(self, *words: str, cwd: Path | None = None, **env: str) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}
        done = subprocess.run(
            [PROGRAM, *words], capture_output=True, text=True, timeout=60, cwd=cwd, env={**clean, **env}
        )
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        assert "Traceback" not in self.err, self.err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def test_the_tables_are_made_and_a_task_goes_through_the_shell(postgres: Server) -> None:
    place = url(postgres, f"cli_{uuid4().hex[:8]}", "scrape")
    missing = Done("claim", place)
    assert (missing.code, missing.err.count("\n")) == (1, 1)
    assert "dibs migrate" in missing.err
    made = Done("migrate", place, "--json")
    assert made.json == {"before": 0, "version": VERSION}
    assert set(made.json) == set(FIELDS["migrate"].split())
    assert "up to date" in Done("migrate", place).out
    assert "no queue 'scrape'" in Done("claim", place).err
    task = Done("push", place, '{"n": 1}', "--key", "k").out.strip()
    lease = Done("claim", place, "--ttl", "30").json
    assert (lease["id"], lease["epoch"], lease["payload"]) == (task, 1, {"n": 1})
    assert Done("claim", place).code == 3
    assert Done("complete", place, task, "--epoch", "2").code == 4
    assert Done("complete", place, task, "--epoch", "1").code == 0
    assert Done("stats", place, "--json").json["states"]["completed"] == 1


def test_what_has_no_tables_is_not_migrated(tmp_path: Path) -> None:
    done = Done("migrate", "queues/q", cwd=tmp_path)
    assert done.code == 2
    assert "no tables" in done.err


def test_a_queue_in_dibs_toml_with_its_password_in_the_environment(postgres: Server, tmp_path: Path) -> None:
    parts = urlsplit(postgres.endpoint)
    (tmp_path / "dibs.toml").write_text('[queues.jobs]\nurl = "postgres://${DB}/dibs?queue=jobs&schema=toml"\n')
    secret = f"dibs:hush-hush@{parts.hostname}:{parts.port}"
    assert Done("push", "jobs", "1", cwd=tmp_path, DB=secret).code == 0
    for command in ("config", "stats", "list"):
        shown = Done(command, *(() if command == "config" else ("jobs",)), cwd=tmp_path, DB=secret)
        assert shown.code == 0
        assert "hush" not in shown.out + shown.err


def test_workers_finish_what_a_killed_one_held(queue: PostgresQueue, place: str, tmp_path: Path) -> None:
    ids = [task.id for task in queue.push_many(range(12))]
    log = tmp_path / "log"
    script = f"echo {{id}} >> {log}; while ! test -e {tmp_path}/go; do sleep 0.05; done"
    words = [PROGRAM, "work", place, "--until-empty", "-j", "2", "--ttl", "3600", "--", "sh", "-c", script]
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: log.exists() and len(log.read_text().split()) == 2, "two to run")
    runner = queue.claimed()[0].pid
    assert runner is not None
    os.kill(runner, signal.SIGKILL)
    (tmp_path / "go").touch()
    try:
        first.wait(timeout=PATIENCE)
    finally:
        first.kill()
    assert queue.stats().states["completed"] == 12
    ran = Counter(log.read_text().split())
    assert set(ran) == set(ids)
    assert sum(ran.values()) > 12  # what the killed one held ran again, at once and not after its TTL


def test_an_idle_worker_stops_at_once_when_told(queue: PostgresQueue, place: str) -> None:
    worker = subprocess.Popen([PROGRAM, "work", place, "--", "true"], stdout=subprocess.DEVNULL)
    task = queue.push("work")
    until(lambda: queue.get(task.id).state, equals="completed")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(PATIENCE) == 0
