"""The queue's root folder: `dibs.json`, with the format version and the settings fixed at creation."""

import os
import random

from dibs import __version__
from dibs.clock import Clock, iso
from dibs.errors import BadInput, FormatError
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import FOLDERS, FORMAT, SHARDS
from dibs.task import decode, encode
from dibs.values import dataclass

SHARD_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
RETENTION_SECONDS = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class Root:
    path: str
    shards: int
    retention: float


def open_root(
    fs: Fs, path: str, clock: Clock, rng: random.Random, *, create: bool, shards: int = SHARDS, retention: float | None
) -> Root:
    """Read, or create, the queue in this folder. FormatError when it is something else or newer than this version."""
    marker = f"{path}/dibs.json"
    if not fs.exists(marker):
        if not create:
            raise FormatError(f"no queue at {path}; `dibs push {path} …` creates one")
        _create(fs, path, marker, clock, rng, shards, retention)
    elif create:
        for folder in FOLDERS:
            if not fs.exists(f"{path}/{folder}"):
                fs.mkdir(f"{path}/{folder}")  # somebody removed it: what was in it is gone, the rest goes on
    try:
        record = decode(fs.read(marker))
        form, shards, keep = record["format"], record["shards"], float(record["retention"])
    except (BadInput, KeyError, TypeError, ValueError):
        raise FormatError(
            f"{marker} is damaged; it should read like {encode(_record(SHARDS, None)).decode().strip()}"
        ) from None
    if not isinstance(form, int) or form > FORMAT:
        raise FormatError(
            f"queue {path} has format {form}, this dibs {__version__} knows up to {FORMAT}; upgrade dibs to use it"
        )
    if shards not in SHARD_COUNTS:
        raise FormatError(f"{marker} is damaged: shards is {shards!r}, not a power of two from 1 to 256")
    return Root(path, shards, keep if retention is None else retention)


def _create(
    fs: Fs, path: str, marker: str, clock: Clock, rng: random.Random, shards: int, retention: float | None
) -> None:
    if shards not in SHARD_COUNTS:
        raise BadInput(f"shards {shards} is not acceptable; use a power of two from 1 to 256")
    if fs.exists(path):
        strangers = [name for name in fs.listdir(path) if name not in FOLDERS and not name.startswith(".")]
        if strangers:
            raise FormatError(
                f"{path} is no dibs queue: it has no dibs.json but other files ({strangers[0]}); "
                f"use dir:{path} to work on its files, or another folder for the queue"
            )
    new_from = path
    while not fs.exists(os.path.dirname(new_from)):
        new_from = os.path.dirname(new_from)
    for folder in FOLDERS:
        fs.mkdir(f"{path}/{folder}")
    record = {**_record(shards, retention), "created": iso(clock.wall()), "by": f"dibs {__version__}"}
    fs.publish(marker, encode(record), f"{path}/{FOLDERS[-1]}/{os.getpid()}-{rng.getrandbits(48):012x}.json")
    above = path
    while len(above) >= len(new_from):
        fs.sync_folder(above)
        above = os.path.dirname(above)
    fs.sync_folder(above)


def _record(shards: int, retention: float | None) -> dict[str, object]:
    keep = RETENTION_SECONDS if retention is None else retention
    return {"format": FORMAT, "shards": shards, "retention": keep}
