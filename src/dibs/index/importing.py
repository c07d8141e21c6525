"""Taking in the older, flat form: a file for each key (`indexes/domains/<domain>.usv`), in any older dialect."""

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dibs.clock import iso
from dibs.errors import BadInput, DibsError, Unsupported
from dibs.index.block import unpack
from dibs.index.opening import open_store
from dibs.index.salvage import is_header, rows_of
from dibs.index.usv import Value, values_of
from dibs.stores.store import Changed, Entry, Store

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


def import_files(
    index: "Index", source: str, *, fields: Sequence[str] = (), updated_at: str | None = None, delete: bool = False
) -> Imported:
    """Every .usv file directly below `source`. `fields`: of files without a header, else those of the index.
    `updated_at`: of records without a time, where the store does not say when a file was written. With `delete` a file
    goes once its records are in, unless it was changed meanwhile, which a bucket cannot tell."""
    site = index.site
    store = open_store(source, clock=site.clock, rng=random.Random(), create=False).store
    refused: list[tuple[str, str]] = []
    files = records = deleted = 0
    for batch in _batches(_files(store)):
        taken: list[tuple[str, Entry]] = []
        rows: list[dict[str, Any]] = []
        for path, entry in batch:
            try:
                found = _records(index, path, entry, fields, updated_at)
                rows += found
                taken.append((path, entry))
            except DibsError as error:
                refused.append((path, str(error)))
        if rows:
            records += index.put_many(rows, sparse=True)
        files += len(taken)
        if delete:
            deleted += sum(_delete(store, path, entry) for path, entry in taken)
    return Imported(files, records, deleted, refused)


def _files(store: Store) -> Iterator[tuple[str, Entry]]:
    for path in store.list(""):
        if path.endswith(ENDING) and "/" not in path and (entry := store.get(path)) is not None:
            yield path, entry


def _batches(files: Iterator[tuple[str, Entry]]) -> Iterator[list[tuple[str, Entry]]]:
    from itertools import islice

    while batch := list(islice(files, BATCH)):
        yield batch


def _records(
    index: "Index", path: str, entry: Entry, fields: Sequence[str], updated_at: str | None
) -> list[dict[str, Any]]:
    """The records of one file, by name. BadInput when it has something else in it."""
    schema = index.site.found_schema()
    key, time = index.names if schema is None else (schema.key, schema.time)
    known = list(fields) or ([] if schema is None else list(schema.shown))
    names, rows = _rows(path, entry.data, known)
    if not names:
        raise BadInput("it has no header, and nothing says what its fields are; give --fields")
    if time not in names:
        given = updated_at or (None if entry.modified is None else iso(entry.modified))
        if given is None:
            raise BadInput(f"it has no {time!r}, and nothing says when it was written; give --updated-at")
    found = []
    for row in rows:
        if len(row) > len(names) or row == [None]:
            raise BadInput(f"a record has {len(row)} fields, the file {len(names)}, or is no text")
        record: dict[str, Any] = dict(zip(names, row, strict=False))
        record.setdefault(key, path.removesuffix(ENDING))
        if not record.get(time):
            record[time] = updated_at or (None if entry.modified is None else iso(entry.modified))
        found.append(record)
    return found


def _rows(path: str, data: bytes, known: Sequence[str]) -> tuple[list[str], list[list[Value]]]:
    block = unpack(data, path)
    if block is not None:
        return list(block.fields), [values_of(line) for line in block.all()]
    rows = rows_of(data)
    if rows and (is_header(rows[0], known) or (not known and len(rows) > 1)):
        return [str(name) for name in rows[0]], rows[1:]
    return list(known), rows


def _delete(store: Store, path: str, entry: Entry) -> bool:
    try:
        store.delete_if(path, entry.version)
    except Changed:
        return False
    except Unsupported:
        store.delete(path)
    return True
