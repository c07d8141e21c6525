"""The queue's root folder: `dibs.json`, with the format version and the settings fixed at creation."""

import os
import random
from collections.abc import Callable

from dibs import __version__
from dibs.clock import Clock, iso
from dibs.errors import BadInput, FormatError
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import FOLDERS, FORMATS, SHARDS
from dibs.task import decode, encode
from dibs.values import dataclass

SHARD_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
RETENTION_SECONDS = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class Root:
    path: str
    shards: int
    retention: float
    steps: str = "rename"  # or "marker", where a contested rename lets two through


def open_root(
    fs: Fs,
    path: str,
    clock: Clock,
    rng: random.Random,
    *,
    create: bool,
    shards: int = SHARDS,
    retention: float | None,
    steps: str | None = None,
    advice: Callable[[], str] = lambda: "rename",
) -> Root:
    """Read, or create, the queue in this folder. FormatError when it is something else or newer than this version.
    `advice`: how its steps are to be taken if it is new and nobody says."""
    marker = f"{path}/dibs.json"
    there = fs.exists(marker)
    if not there:
        if not create:
            raise FormatError(f"no queue at {path}; `dibs push {path} …` creates one")
        _create(fs, path, marker, clock, rng, shards, retention, steps or advice())
    try:
        record = decode(fs.read(marker))
        if "index" in record:
            raise FormatError(f"{path} is an index, not a queue; `dibs index` works on it, or name another place")
        if "format" in record and "shards" not in record and not fs.exists(f"{path}/pending"):
            what = "where a dir: or specs: queue keeps its leases"
            raise FormatError(f"{path} is {what}; leave it to that queue, or name another folder")
        form, shards, keep = record["format"], record["shards"], float(record["retention"])
        stored = str(record.get("steps", "rename"))
    except (BadInput, KeyError, TypeError, ValueError, AttributeError):
        raise FormatError(
            f"{marker} is damaged; it should read like {encode(_record(SHARDS, None, 'rename')).decode().strip()}"
        ) from None
    newest = max(FORMATS.values())
    if not isinstance(form, int) or form > newest:
        raise FormatError(
            f"queue {path} has format {form}, this dibs {__version__} knows up to {newest}; upgrade dibs to use it"
        )
    if shards not in SHARD_COUNTS:
        raise FormatError(f"{marker} is damaged: shards is {shards!r}, not a power of two from 1 to 256")
    if FORMATS.get(stored) != max(1, form):
        raise FormatError(f"{marker} is damaged: steps is {stored!r}, which does not go with format {form}")
    if steps not in (None, stored):
        raise BadInput(
            f"queue {path} was made with steps={stored}, not steps={steps}; leave the setting out, or end its workers "
            f"and move its tasks: dibs move file:{path} 'file:{path}-{steps}?steps={steps}'"
        )
    if there and create:
        for folder in FOLDERS:
            if not fs.exists(f"{path}/{folder}"):
                fs.mkdir(f"{path}/{folder}")  # somebody removed it: what was in it is gone, the rest goes on
    return Root(path, shards, keep if retention is None else retention, stored)


def _create(
    fs: Fs, path: str, marker: str, clock: Clock, rng: random.Random, shards: int, retention: float | None, steps: str
) -> None:
    if shards not in SHARD_COUNTS:
        raise BadInput(f"shards {shards} is not acceptable; use a power of two from 1 to 256")
    if fs.exists(path):
        strangers = [name for name in fs.listdir(path) if name not in FOLDERS and not name.startswith(".")]
        if "data.mdb" in strangers:
            raise FormatError(
                f"{path} is an LMDB environment, not a queue of files; use lmdb:{path}, or another folder"
            )
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
    record = {**_record(shards, retention, steps), "created": iso(clock.wall()), "by": f"dibs {__version__}"}
    fs.publish(marker, encode(record), f"{path}/{FOLDERS[-1]}/{os.getpid()}-{rng.getrandbits(48):012x}.json")
    above = path
    while len(above) >= len(new_from):
        fs.sync_folder(above)
        above = os.path.dirname(above)
    fs.sync_folder(above)


def _record(shards: int, retention: float | None, steps: str) -> dict[str, object]:
    keep = RETENTION_SECONDS if retention is None else retention
    record: dict[str, object] = {"format": FORMATS[steps], "shards": shards, "retention": keep}
    return record if steps == "rename" else {**record, "steps": steps}
