"""Taking in the older, flat form: a file for each key (`indexes/domains/<domain>.usv`), in any older dialect; also what
`scan --format usv` has written."""

import os
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from dibs.clock import iso
from dibs.errors import BadInput, DibsError, StorageError, Unsupported
from dibs.index.flat import Flat, flat_file
from dibs.index.opening import open_store
from dibs.index.root import FILE as ROOT
from dibs.queues import split_url
from dibs.redact import redact
from dibs.stores.store import Changed, Entry, Store
from dibs.task import decode

if TYPE_CHECKING:
    from dibs.index.index import Index

ENDING = ".usv"
BATCH = 10_000
UNPROTECTED = (
    "a file for each key is overwritten in place, so what two writers wrote at once, and what was overwritten before "
    "the import, is not in it; what is written while it runs may be left out: run it again when all writers use "
    "the index"
)


class Imported(NamedTuple):
    files: int
    records: int
    deleted: int
    refused: list[tuple[str, str]]  # path, why
    skipped: list[str]  # what is no .usv file, or in a folder below


class File(NamedTuple):
    path: str
    entry: Entry
    records: list[dict[str, Any]]
    deletions: list[tuple[str, str]]  # key, time


def import_files(
    index: "Index", source: str, *, fields: Sequence[str] = (), updated_at: str | None = None, delete: bool = False
) -> Imported:
    """Every .usv file directly below `source`, or the one that it names. `fields`: of files without a header, else
    those of the index. `updated_at`: of records without a time, where the store does not say when a file was written.
    With `delete` a file goes once its records are in, unless it was changed meanwhile, which a bucket cannot tell. A
    file with something that cannot be taken in is refused as a whole, and the others go on."""
    store, only = _opened(index, source)
    refused: list[tuple[str, str]] = []
    skipped: list[str] = []
    files = records = deleted = 0
    for batch in _batches(_files(store, _chosen(store.list(""), skipped) if only is None else [only], refused)):
        read: list[File] = []
        for path, entry in batch:
            try:
                read.append(_file(index, path, entry, fields, updated_at))
            except DibsError as error:
                refused.append((path, str(error)))
        taken = _acceptable(index, read, refused)
        index.put_many([record for file in taken for record in file.records], sparse=True)
        for file in taken:
            for key, time in file.deletions:
                index.delete(key, updated_at=time)
            records += len(file.records) + len(file.deletions)
        files += len(taken)
        if delete:
            deleted += sum(_delete(store, file.path, file.entry) for file in taken)
    return Imported(files, records, deleted, sorted(refused), skipped)


def _opened(index: "Index", source: str) -> tuple[Store, str | None]:
    """Where the files are; and the name of the one that is meant, if it is one."""
    scheme, path, query = split_url(source)
    only = None
    if path.endswith(ENDING) and (scheme != "file" or os.path.isfile(path)):
        only = path.rpartition("/")[2]
        source = f"{scheme}:{path.removesuffix(only) or '.'}{'?' if query else ''}{query}"
    elif scheme == "file" and not os.path.isdir(path):
        raise BadInput(
            f"there is no folder {redact(source)!r} to import from; give the one that has the files, or a {ENDING} file"
        )
    store = open_store(source, clock=index.site.clock, rng=random.Random()).store
    if only is None and _is_index(store):
        new = index.site.url
        raise BadInput(f"{redact(source)} is an index; bring it over with: dibs index reshard {redact(source)} {new}")
    return store, only


def _is_index(store: Store) -> bool:
    entry = store.get(ROOT)
    try:
        return entry is not None and "index" in decode(entry.data)
    except (BadInput, TypeError):
        return False


def _batches(files: Iterator[tuple[str, Entry]]) -> Iterator[list[tuple[str, Entry]]]:
    while batch := list(islice(files, BATCH)):
        yield batch


def _chosen(paths: Iterable[str], skipped: list[str]) -> Iterator[str]:
    for path in paths:
        if path.endswith(ENDING) and "/" not in path:
            yield path
        else:
            skipped.append(path)


def _files(store: Store, paths: Iterable[str], refused: list[tuple[str, str]]) -> Iterator[tuple[str, Entry]]:
    for path in paths:
        try:
            entry = store.get(path)
        except StorageError as error:
            refused.append((path, str(error)))
            continue
        if entry is not None:
            yield path, entry


def _file(index: "Index", path: str, entry: Entry, fields: Sequence[str], updated_at: str | None) -> File:
    """The records of one file, by name. BadInput when it has something else in it."""
    schema = index.site.found_schema()
    key, time = index.names if schema is None else (schema.key, schema.time)
    known = list(fields) or ([] if schema is None else list(schema.shown))
    also = [] if schema is None else schema.shown
    found: Flat = flat_file(path, entry.data, known, {*known, *also}, key, time)
    given = updated_at or (None if entry.modified is None else iso(entry.modified))
    if time not in found.names and given is None:
        raise BadInput(f"it has no {time!r}, and nothing says when it was written; give --updated-at")
    records, deletions = [], []
    for row, gone in found.rows:
        record: dict[str, Any] = dict(zip(found.names, row, strict=False))
        record.setdefault(key, path.removesuffix(ENDING))
        record[time] = record.get(time) or given
        if gone:
            deletions.append((record[key], record[time]))
        else:
            records.append(record)
    return File(path, entry, records, deletions)


def _acceptable(index: "Index", files: list[File], refused: list[tuple[str, str]]) -> list[File]:
    """Those whose records the index takes, with the schema that it has or that all of them would give it."""
    taken = []
    for file in files:
        try:
            index.check(file.records, sparse=True)
            taken.append(file)
        except DibsError as error:
            refused.append((file.path, str(error)))
    return taken


def _delete(store: Store, path: str, entry: Entry) -> bool:
    try:
        store.delete_if(path, entry.version)
    except Changed:
        return False
    except Unsupported:
        store.delete(path)
    return True
