"""The raw floor: what the file system itself takes, with nothing of a queue around it.

Drain: rename, read, rename, over 256 folders for each of three states. The processes start at evenly spaced
folders, so they hardly meet: no queue can have it better. The file is read as Python programs read files, by
`open()`; the same with bare system calls, which nobody writes but dibs does, is shown beside it.
Push: create, write, sync, rename, sync the folder.
"""

import os
from collections.abc import Iterator

from benchmarks.contenders.contender import Contender

SHARDS = [f"{number:02x}" for number in range(256)]
STATES = ("pending", "leased", "completed", "tmp")


class Floor(Contender):
    name = "floor"
    kind = "floor"
    drain_durability = "not synced"

    def __init__(self, sync: bool = True, bare: bool = False) -> None:
        self.sync = sync
        self.read = read_by_system_calls if bare else read_by_open
        if bare:
            self.name = "floor, bare system calls"
        self.push_durability = "file and folder synced" if sync else "not synced"

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        make_folders(folder, SHARDS[: len(payloads)])
        for number, data in enumerate(payloads):
            with open(f"{folder}/pending/{SHARDS[number % 256]}/{number:032x}.0", "wb") as file:
                file.write(data)

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> tuple[str, list[str]]:
        make_folders(folder, SHARDS)
        shards = sorted(os.listdir(f"{folder}/pending"))
        first = rank * len(shards) // ranks
        return folder, shards[first:] + shards[:first]

    def drain(self, handle: tuple[str, list[str]]) -> Iterator[bytes]:
        folder, shards = handle
        read = self.read
        for shard in shards:
            for name in os.listdir(f"{folder}/pending/{shard}"):
                leased = f"{folder}/leased/{shard}/{name}"
                try:
                    os.rename(f"{folder}/pending/{shard}/{name}", leased)
                except FileNotFoundError:
                    continue
                data = read(leased)
                os.rename(leased, f"{folder}/completed/{shard}/{name}")
                yield data

    def push(self, handle: tuple[str, list[str]], payloads: list[bytes]) -> None:
        folder, _ = handle
        for number, data in enumerate(payloads):
            shard = SHARDS[number % 256]
            written = f"{folder}/tmp/{number:032x}"
            descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            os.write(descriptor, data)
            if self.sync:
                os.fsync(descriptor)
            os.close(descriptor)
            os.rename(written, f"{folder}/pending/{shard}/{number:032x}.0")
            if self.sync:
                sync_folder(f"{folder}/pending/{shard}")


def read_by_system_calls(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    data = os.read(descriptor, 65536)
    os.close(descriptor)
    return data


def read_by_open(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def make_folders(folder: str, shards: list[str]) -> None:
    """Unless they are there."""
    if os.path.exists(f"{folder}/tmp"):
        return
    for state in STATES:
        for shard in shards if state != "tmp" else ("",):
            os.makedirs(f"{folder}/{state}/{shard}")


def sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)
