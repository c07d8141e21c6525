"""From what a user gives to lines in the inbox: keys normalised, fields checked against the schema, times given."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from dibs.errors import BadInput, FormatError
from dibs.index.fieldwise import TIMES
from dibs.index.inbox import Inbox, text_of
from dibs.index.schema import Schema, planned, refuse_other
from dibs.index.site import Site
from dibs.index.times import Stamps, instant
from dibs.index.usv import DELETED, UNIT, line_of

PACK = 100_000
LATEST = 10**12  # seconds since 1970
When = str | float | datetime  # a datetime with its zone
_CHECKED = 64  # sets of fields that were found to be right


class Writer:
    """`names`: what key and time are called, for an index that does not exist yet."""

    def __init__(self, site: Site, inbox: Inbox, stamps: Stamps, names: tuple[str, str], *, create: bool) -> None:
        self._site = site
        self._inbox = inbox
        self._stamps = stamps
        self._names = names
        self._create = create

    def put(self, key: str, fields: Mapping[str, Any], updated_at: When | None, *, sparse: bool) -> None:
        if not isinstance(fields, Mapping):
            raise BadInput(f"fields {fields!r} are not acceptable; give a dictionary of them")
        schema = self.schema_for(fields)
        record = {**fields, schema.key: key}
        if updated_at is not None:
            record[schema.time] = updated_at
        for name, said in ((schema.key, key), (schema.time, updated_at)):
            if said is not None and name in fields and fields[name] != said:
                raise BadInput(f"{name} is given twice, as {said!r} and as field {fields[name]!r}; give it once")
        self._write(schema, [record], sparse)

    def put_many(self, records: Iterable[Mapping[str, Any]], *, sparse: bool) -> int:
        if not isinstance(records, Iterable):
            raise BadInput(f"records {records!r} are not acceptable; give dictionaries, one for each record")
        stream = iter(records)
        count = 0
        while batch := list(islice(stream, PACK)):
            self._write(self.schema_for(_names(batch)), batch, sparse)
            count += len(batch)
        return count

    def check(self, records: Sequence[Mapping[str, Any]], *, sparse: bool) -> None:
        """Whether they could be put: raises what that would raise."""
        for _ in self.lines(self.schema_for(_names(records)), records, sparse):
            pass

    def _write(self, schema: Schema, records: Sequence[Mapping[str, Any]], sparse: bool) -> None:
        """A new index is made when it is certain that there is something to put into it."""
        if schema.stored:
            self._inbox.write(schema.fields, self.lines(schema, records, sparse))
            return
        settings = self._site.settings
        lines: Iterable[tuple[str, bytes]] = list(self.lines(schema, records, sparse))
        made = self._site.create([*self._names, *schema.own])
        if (made.fields, self._site.root) != (schema.fields, settings) or settings.time == "store":
            lines = self.lines(made, records, sparse)  # somebody else was first, or only now there is a clock
        self._inbox.write(made.fields, lines)

    def delete(self, key: str, updated_at: When | None) -> None:
        if not self._site.exists:
            raise FormatError(f"no index at {self._site.url}; there is nothing to delete")
        schema = self._site.fresh_schema()
        key = self._site.normalised(key)
        time = self._stamps.one() if updated_at is None else _time(updated_at)
        missing: list[str | None] = [None] * (len(schema.fields) - 2)
        start, _, rest = line_of([key, time, *missing]).partition(UNIT)
        self._inbox.write(schema.fields, [(self._site.shard_of(key), start + UNIT + DELETED + rest)])

    def schema_for(self, names: Iterable[str]) -> Schema:
        """As stored; of an index that is still to be made, with these fields, and not stored."""
        found = self._site.found_schema()
        if found is not None:
            return found
        if not self._create:
            raise FormatError(f"no index at {self._site.url}; create=True makes one")
        return planned(list(dict.fromkeys([*self._names, *names])), fieldwise=self._site.settings.fieldwise)

    def lines(self, schema: Schema, records: Sequence[Mapping[str, Any]], sparse: bool) -> Iterator[tuple[str, bytes]]:
        """(shard, line) of each. BadInput or Refused when one is no record of this schema."""
        site = self._site
        key_name, time_name, names = schema.key, schema.time, schema.fields[2:]
        sparse = sparse or site.settings.fieldwise
        right: set[tuple[str, ...]] = set()
        untimed = sum(1 for record in records if record.get(time_name) is None)
        stamps = iter(self._stamps.many(untimed) if untimed else ())
        for record in records:
            shape = tuple(record)
            if shape not in right:
                if len(right) < _CHECKED:
                    right.add(shape)
                if not all(isinstance(name, str) for name in shape):
                    raise BadInput(f"a record has the field names {shape!r}; use text")
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


def _names(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The fields of all of them, once they are seen to be records."""
    if not all(issubclass(kind, Mapping) for kind in set(map(type, records))):
        wrong = next(record for record in records if not isinstance(record, Mapping))
        raise BadInput(f"record {wrong!r} is not acceptable; give a dictionary of its fields, the key among them")
    return (name for record in records for name in record)


def _time(given: When) -> str:
    """As it is to be stored. BadInput when it is none."""
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise BadInput(f"time {given!r} has no zone; give one: {given!r}.replace(tzinfo=UTC), say")
        given = given.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise BadInput(f"time {given!r} is not acceptable; write 2030-01-31T08:00:00Z, or seconds since 1970")
    if isinstance(given, int) and abs(given) >= LATEST:
        raise BadInput("a time of more than 12 digits is not acceptable; write seconds since 1970")
    text = given.strip() if isinstance(given, str) else f"{given:.6f}".rstrip("0").rstrip(".")
    instant(text)
    return text
