"""From the URL of an index to its store. A path is a folder; `s3:`, `gs:` and `az:` are buckets."""

import os
import random
from typing import NamedTuple

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.queues import split_url
from dibs.redact import redact
from dibs.stores.store import Store

CLOUDS = ("s3", "gs", "az")
_SWITCH = {"on": True, "off": False}


class Opened(NamedTuple):
    store: Store
    locks: Store  # the same place, without syncing


def open_store(url: str, *, clock: Clock, rng: random.Random, create: bool) -> Opened:
    """`create`: the folder is made if it is missing. Nothing is written to a bucket yet."""
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
    return _folder(os.path.abspath(path), clock, create, _SWITCH[sync])


def _folder(path: str, clock: Clock, create: bool, sync: bool) -> Opened:
    from dibs.stores.files import FileStore
    from dibs.stores.refusal import refusals

    if create:
        with refusals(path):
            os.makedirs(path, exist_ok=True)
    return Opened(FileStore(path, clock=clock, sync=sync), FileStore(path, clock=clock))


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
