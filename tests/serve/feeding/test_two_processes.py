"""Two daemons, each a process with specs of its own, feed one Redis queue: each spec is one task."""

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import dibs
from serve.feeding.test_feeding import spec
from serve.process import Process
from servers.server import Server
from waiting import until

SPECS = 40


@pytest.fixture
def clones(quick_folder: Path, redis_server: Server) -> Iterator[tuple[str, list[Path], list[Process]]]:
    """(the queue, the folders, the daemons)."""
    queue = f"{redis_server.endpoint}/0?queue=q{uuid4().hex}&warn=off"
    folders = [quick_folder / name for name in ("one", "two")]
    for number in range(SPECS):
        spec(folders[0] / ".dibs" / "specs", f"s{number}")
    (folders[0] / "dibs.toml").write_text(f'[queues.q]\nurl = "{queue}"\nspecs = ".dibs/specs"\n')
    shutil.copytree(folders[0], folders[1])
    daemons = [Process(folder, "q") for folder in folders]
    yield queue, folders, daemons
    for daemon in daemons:
        daemon.kill()


def test_each_spec_is_one_task_and_ends_in_both_folders(
    clones: tuple[str, list[Path], list[Process]],
) -> None:
    place, folders, daemons = clones
    with dibs.open(place) as queue:
        until(lambda: queue.stats().total >= SPECS)
        spec(folders[0] / ".dibs" / "specs", "late")
        spec(folders[1] / ".dibs" / "specs", "late")
        until(lambda: queue.stats().total > SPECS)
        daemons[0].kill()  # the one that is started again knows nothing of what it pushed
        daemons[0].start()
        done: Counter[str] = Counter()
        through = [dibs.open(daemon.url("q")) for daemon in daemons]
        while lease := through[len(done) % 2].claim(ttl=600):
            done[str(lease.key)] += 1
            lease.complete()
        for one in through:
            one.close()
        for folder in folders:
            files = list((folder / ".dibs" / "specs").glob("*.md"))
            until(lambda files=files: all("status: completed" in file.read_text() for file in files))  # type: ignore[misc]
        assert queue.claim() is None
        assert queue.stats().states["completed"] == queue.stats().total == SPECS + 1
    assert done == Counter({**{f"s{number}": 1 for number in range(SPECS)}, "late": 1})
