"""A compactor of "far" that sleeps between its look at a shard and its write, or is cut off there for longer than the
server keeps its locks, while "near" goes on."""

import os
import subprocess
import time
from typing import Any

import dibs
from dibs.host import Host
from dibs.index.compactor import MERGED
from filesystems.index_roles import opened

KEY = "late.example"
LOCK_SECONDS = 1.0
TURNS = (3, 4, 5)
MOST_SECONDS = 60.0


def late(urls: dict[str, str], cut: float) -> list[str]:
    """What is wrong. `cut`: for so many seconds, if any."""
    near = opened_as("near", urls["near"])
    put(near, 1)
    near.compact()
    put(near, 2)
    (there, here), (theirs, ours) = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        os._exit(sleep_and_write(urls["far"], near.site.shard_of(KEY), here, theirs))
    os.read(there, 1)
    if cut:
        network("down")
        time.sleep(cut)
    for turn in TURNS:
        put(near, turn)
        compact(near)
    if cut:
        network("up")
    os.write(ours, b".")
    _, status = os.waitpid(pid, 0)
    found = [] if status == 0 else [f"far was not refused: {status}"]
    for name, url in urls.items():
        record = opened_as(name, url).get(KEY) or {}
        if record.get("n") != str(TURNS[-1]):
            found.append(f"{name} sees {record}")
    return found


def sleep_and_write(url: str, shard: str, say: int, hear: int) -> int:
    real = os.link

    def slow(source: str, target: str, **more: Any) -> None:
        if f"/shards/{shard}." in target:
            os.write(say, b".")
            os.read(hear, 1)
        real(source, target, **more)

    far = opened_as("far", url)
    os.link = slow
    return int(MERGED in [done.outcome for done in far.compact(shard)])


def opened_as(name: str, url: str) -> dibs.Index:
    """As if of a machine of that name: only in here can a process be made to sleep at that very point."""
    return opened(url, LOCK_SECONDS, host=Host(name=name, machine=name, boot=f"boot-{name}", space=f"pid:[{name}]"))


def put(index: dibs.Index, n: int) -> None:
    index.put(KEY, {"n": str(n)}, updated_at=float(n))


def compact(index: dibs.Index) -> None:
    end = time.monotonic() + MOST_SECONDS
    while [done.outcome for done in index.compact(index.site.shard_of(KEY))] != [MERGED]:
        assert time.monotonic() < end, "the lock of a compactor that sleeps was not taken over"
        time.sleep(0.1)


def network(state: str) -> None:
    subprocess.run(["ip", "-n", "far", "link", "set", "far", state], check=True)
