"""Six compactors and four writers on one index, killed at random moments: in the end there is what a dictionary would
hold, byte for byte. The whole 200,000 writes with DIBS_LONG=1."""

import os
import random
import signal
import subprocess
import time
from hashlib import sha256
from pathlib import Path

import pytest
from tests.index.worker import Write, batch

from children import command, environment
from dibs.index.index import Index
from dibs.index.reading import live
from dibs.index.usv import line_of
from waiting import LONG_PATIENCE

LONG = bool(os.environ.get("DIBS_LONG"))
WRITERS, COMPACTORS = 4, 6
SIZES = {"folder": (25, 200, 2_000), "bucket": (8, 150, 600)}  # batches of each writer, records of each, keys
LONG_SIZE = (50, 1_000, 20_000)
LEAST_KILLS = 8
MOST_SECONDS = 1500 if LONG else LONG_PATIENCE


def replay(batches: int, records: int, keys: int) -> dict[str, bytes]:
    """What a plain dictionary says."""
    latest: dict[str, tuple[tuple[int, bool, bytes], bytes]] = {}
    for number in range(WRITERS):
        for turn in range(batches):
            for one in batch(number, turn, records, keys):
                line = _line(one)
                rank = (one.at, one.fields is None, sha256(_trimmed(line)).digest())
                if one.key not in latest or rank > latest[one.key][0]:
                    latest[one.key] = (rank, line)
    return {key: line for key, ((_, gone, _), line) in latest.items() if not gone}


def _line(one: Write) -> bytes:
    if one.fields is None:
        return f"{one.key}\x1f\\D{one.time}\x1f\\N\x1f\\N".encode()
    return line_of([one.key, one.time, one.fields["title"], one.fields["by"]])


def _trimmed(line: bytes) -> bytes:
    while line.endswith(b"\x1f\\N"):
        line = line[:-3]
    return line


class Crowd:
    """The processes, each started again when it was killed."""

    def __init__(self, url: str, folder: Path, size: tuple[int, int, int]) -> None:
        self._commands = [
            command("index.worker", "write", url, str(folder / f"log{number}"), str(number), *map(str, size))
            for number in range(WRITERS)
        ]
        self._commands += [command("index.worker", "compact", url)] * COMPACTORS
        self._processes = [self._start(number) for number in range(len(self._commands))]
        self.kills = 0

    def _start(self, number: int) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._commands[number], env=environment(), stderr=subprocess.PIPE)

    def writing(self) -> bool:
        for process in self._processes[:WRITERS]:
            if process.poll() not in (None, 0, -signal.SIGKILL):
                assert process.stderr is not None
                raise AssertionError(process.stderr.read().decode())
        return any(process.poll() != 0 for process in self._processes[:WRITERS])

    def kill_one(self, rng: random.Random) -> None:
        number = rng.randrange(len(self._processes))
        process = self._processes[number]
        if process.poll() == 0:
            return
        process.kill()
        self._reap(process)
        self._processes[number] = self._start(number)
        self.kills += 1

    def _reap(self, process: "subprocess.Popen[bytes]") -> None:
        said = process.communicate()[1].decode()
        assert process.returncode in (0, -signal.SIGKILL), said

    def end(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            self._reap(process)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["folder", "bucket"])
def test_random_kills_lose_nothing(place: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"{tmp_path}/index?sync=off" if place == "folder" else request.getfixturevalue("bucket_url")
    size = LONG_SIZE if LONG else SIZES[place]
    seed = random.randrange(10**6)
    rng = random.Random(seed)
    index = Index(url, shards=16, fields=["title", "by"])
    crowd = Crowd(url, tmp_path, size)
    deadline = time.monotonic() + MOST_SECONDS
    try:
        while crowd.writing() or crowd.kills < LEAST_KILLS:
            time.sleep(rng.random() * 0.8)  # the moment of the next kill
            crowd.kill_one(rng)
            assert time.monotonic() < deadline, "the writers did not get done"
    finally:
        crowd.end()
    index.compact()
    found = {line.partition(b"\x1f")[0].decode(): line for block in index.blocks() for line in live(block)}
    wanted = replay(*size)
    assert sorted(found.values()) == sorted(wanted.values()), f"seed {seed}"
    # A compactor that was killed when its files were gone has left its lock, and perhaps old counts in it.
    assert {finding.kind for finding in index.verify()} <= {"lock", "manifest"}
    index.repair()
    assert index.verify() == []
    assert index.waiting() == []
    index.close()
    assert len(wanted) > size[2] * 0.8
