"""From the URL of an index to its store. A path is a folder; `s3:`, `gs:` and `az:` are buckets."""

import os
import random
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from dibs.clock import Clock
from dibs.errors import BadInput, Unsupported
from dibs.index.block import MARK
from dibs.index.layout import DAMAGED, FILE, INBOX, SHARDS
from dibs.index.schema import FILE as SCHEMA
from dibs.index.usv import UNIT
from dibs.mounts import SMB, kind_of, on_share
from dibs.queues import split_url
from dibs.redact import redact
from dibs.stores.store import Store

OWN = ("dibs.json", SCHEMA, *(name.rstrip("/") for name in (INBOX, SHARDS, DAMAGED)))
CLOUDS = ("s3", "gs", "az")
_SWITCH = {"on": True, "off": False}


class Opened(NamedTuple):
    store: Store
    locks: Store  # the same place, without syncing
    found: Callable[[], None] = lambda: None  # makes the place, where there must be one before anything is written


def open_store(url: str, *, clock: Clock, rng: random.Random) -> Opened:
    """Nothing is made or written yet."""
    scheme, path, query = split_url(url)
    settings: dict[str, str] = {}
    if query:
        from urllib.parse import parse_qsl

        settings = dict(parse_qsl(query, keep_blank_values=True))
    if scheme in CLOUDS:
        return _bucket(scheme, url, path, settings, clock, rng)
    sync = settings.pop("sync", "on")
    if sync not in _SWITCH or settings:
        wrong = f"sync={sync}" if sync not in _SWITCH else next(iter(settings))
        raise BadInput(f"setting {wrong!r} of index {redact(url)} is not known; known: sync=on or sync=off")
    if scheme == "memory":
        from dibs.stores.memory import MemoryStore

        memory = MemoryStore(clock)
        return Opened(memory, memory)
    if scheme != "file" or not path:
        raise BadInput(f"no index can be kept at {redact(url)!r}; use a path, s3://, gs:// or az://")
    return _folder(os.path.abspath(path), clock, _SWITCH[sync])


def anywhere(url: str) -> str | None:
    """The URL as a process in another folder would have to write it; None for what is in this process alone."""
    scheme, path, query = split_url(url)
    if scheme == "memory":
        return None
    return url if scheme != "file" else f"file:{os.path.abspath(path)}{'?' if query else ''}{query}"


def place(url: str) -> str:
    """The same for two URLs of one place, however they are written."""
    scheme, path, query = split_url(url)
    if scheme == "file":
        return os.path.realpath(path)
    from urllib.parse import parse_qs

    return f"{scheme}:{path.strip('/')}?{parse_qs(query).get('endpoint', '')}"


def _folder(path: str, clock: Clock, sync: bool) -> Opened:
    from dibs.stores.files import FileStore

    share = on_share(path)
    if share:
        _check_share(path)
    found = partial(_make_folder, path)
    if share or os.path.isdir(f"{path}/{SCHEMA}"):
        return _versioned(path, clock, sync)._replace(found=found)
    # The locks too: one that a power cut left full of zeros is a damaged lock, not none.
    files, locks = (FileStore(path, clock=clock, sync=keep, fresh=MARK + UNIT) for keep in (sync, False))
    return Opened(files, locks, found)


def _make_folder(path: str) -> None:
    from dibs.stores.occupied import refuse_strangers
    from dibs.stores.refusal import refusals

    with refusals(path):
        if os.path.exists(path):
            refuse_strangers(path, "an index", OWN)
        os.makedirs(path, exist_ok=True)


def _check_share(path: str) -> None:
    if kind_of(path) in SMB:
        raise Unsupported(f"no index can be kept on the SMB share at {path}; use NFS, a local disk or a bucket")
    if os.path.isfile(f"{path}/{SCHEMA}"):
        raise Unsupported(
            f"the index at {path} was made on a disk, and NFS needs another form; mount the share on the server too, "
            "and run there: dibs index reshard FOLDER-ON-THE-DISK NEW-FOLDER-ON-THE-SHARE"
        )


def _versioned(path: str, clock: Clock, sync: bool) -> Opened:
    """On NFS; and what was made there, wherever it is met."""
    from dibs.stores.shared import SharedFileStore
    from dibs.stores.versioned import VersionedFileStore

    store = VersionedFileStore(path, replaced=_is_replaced, clock=clock, sync=sync, fresh=MARK + UNIT)
    return Opened(store, SharedFileStore(path, clock=clock))


def _is_replaced(key: str) -> bool:
    return key == SCHEMA or (key.startswith(SHARDS) and key.endswith(FILE))


def _bucket(scheme: str, url: str, path: str, settings: dict[str, str], clock: Clock, rng: random.Random) -> Opened:
    from dibs.queues.objects.driver import open_driver
    from dibs.queues.objects.settings import parse
    from dibs.stores.objects import ObjectStore

    bucket, _, prefix = path.removeprefix("//").partition("/")
    if bucket and not prefix.strip("/"):
        raise BadInput(f"{scheme}://{bucket} names no index; write {scheme}://{bucket}/indexes/NAME")
    found = parse(scheme, url, path, settings)
    store = ObjectStore(
        open_driver(found),
        found.name,
        clock=clock,
        rng=rng,
        prefix=found.prefix,
        patience=found.numbers["patience"] or 0.0,
    )
    return Opened(store, store)
