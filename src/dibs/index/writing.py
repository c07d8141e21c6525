"""From what a user gives to lines in the inbox: keys normalised, fields checked against the schema, times given."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from dibs.errors import BadInput, FormatError
from dibs.index.fieldwise import TIMES
from dibs.index.inbox import Inbox, text_of
from dibs.index.schema import Schema, refuse_other
from dibs.index.site import Site
from dibs.index.times import Stamps, instant
from dibs.index.usv import DELETED, UNIT, line_of

PACK = 100_000
_CHECKED = 64  # sets of fields that were found to be right


class Writer:
    """`names`: what key and time are called, for an index that does not exist yet."""

    def __init__(self, site: Site, inbox: Inbox, stamps: Stamps, names: tuple[str, str], *, create: bool) -> None:
        self._site = site
        self._inbox = inbox
        self._stamps = stamps
        self._names = names
        self._create = create

    def put(self, key: str, fields: Mapping[str, Any], updated_at: str | float | None, *, sparse: bool) -> None:
        schema = self._schema(fields)
        record = {**fields, schema.key: key}
        if updated_at is not None:
            record[schema.time] = updated_at
        self._inbox.write(schema.fields, self._lines(schema, [record], sparse))

    def put_many(self, records: Iterable[Mapping[str, Any]], *, sparse: bool) -> int:
        stream = iter(records)
        count = 0
        while batch := list(islice(stream, PACK)):
            schema = self._schema(name for record in batch for name in record)
            self._inbox.write(schema.fields, self._lines(schema, batch, sparse))
            count += len(batch)
        return count

    def delete(self, key: str, updated_at: str | float | None) -> None:
        if not self._site.exists:
            raise FormatError(f"no index at {self._site.url}; there is nothing to delete")
        schema = self._site.fresh_schema()
        key = self._site.normalised(key)
        time = self._stamps.one() if updated_at is None else _time(updated_at)
        missing: list[str | None] = [None] * (len(schema.fields) - 2)
        start, _, rest = line_of([key, time, *missing]).partition(UNIT)
        self._inbox.write(schema.fields, [(self._site.shard_of(key), start + UNIT + DELETED + rest)])

    def _schema(self, names: Iterable[str]) -> Schema:
        """As stored; of a new index, with these fields."""
        found = self._site.found_schema()
        if found is None:
            if not self._create:
                raise FormatError(f"no index at {self._site.url}; create=True makes one")
            found = self._site.create(list(dict.fromkeys([*self._names, *names])))
        return found

    def _lines(self, schema: Schema, records: Sequence[Mapping[str, Any]], sparse: bool) -> Iterator[tuple[str, bytes]]:
        site = self._site
        key_name, time_name, names = schema.key, schema.time, schema.fields[2:]
        sparse = sparse or site.root.fieldwise
        right: set[tuple[str, ...]] = set()
        untimed = sum(1 for record in records if record.get(time_name) is None)
        stamps = iter(self._stamps.many(untimed) if untimed else ())
        for record in records:
            shape = tuple(record)
            if shape not in right:
                if len(right) < _CHECKED:
                    right.add(shape)
                if key_name not in record:
                    raise BadInput(
                        f"a record has no {key_name!r}, which is its key; it has {', '.join(record) or 'nothing'}"
                    )
                if TIMES in record:
                    raise BadInput(f"field name {TIMES!r} is kept for dibs; use another")
                refuse_other(schema, record, sparse=sparse, url=site.url)
            key = site.normalised(record[key_name])
            given = record.get(time_name)
            time = next(stamps) if given is None else _time(given)
            values = [record.get(name) for name in names]
            try:
                line = line_of([key, time, *values])
            except TypeError:
                line = line_of([key, time, *map(text_of, values, names)])
            yield site.shard_of(key), line


def _time(given: str | float) -> str:
    """As it is to be stored. BadInput when it is none."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise BadInput(f"time {given!r} is not acceptable; write 2030-01-31T08:00:00Z, or seconds since 1970")
    text = given.strip() if isinstance(given, str) else f"{given:.6f}".rstrip("0").rstrip(".")
    instant(text)
    return text
