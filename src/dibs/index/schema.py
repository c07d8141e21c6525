"""The names of the fields, kept beside the data. Fields are added at the end; none is renamed, moved or dropped.

A writer whose fields are others is refused, with the difference, rather than emptying what it does not know.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from dibs.errors import BadInput, FormatError, Refused
from dibs.index.fieldwise import TIMES
from dibs.stores import settle
from dibs.stores.store import Changed, Exists, Store
from dibs.task import decode, encode

FILE = "schema.json"
KEY, TIME = "key", "updated_at"
MAX_FIELDS = 1000


class Schema(NamedTuple):
    fields: tuple[str, ...]  # the key, the time, then the others
    version: int = 1
    stored: str = ""  # the version that the store gave it

    @property
    def key(self) -> str:
        return self.fields[0]

    @property
    def time(self) -> str:
        return self.fields[1]

    @property
    def shown(self) -> tuple[str, ...]:
        """What users see of them."""
        return tuple(name for name in self.fields if name != TIMES)

    @property
    def own(self) -> tuple[str, ...]:
        """All but key and time."""
        return tuple(name for name in self.fields[2:] if name != TIMES)

    def fits(self, fields: tuple[str, ...]) -> bool:
        """Lines with these fields are lines of this schema, the missing ones at the end aside."""
        return fields == self.fields[: len(fields)]


def checked(fields: Iterable[str]) -> tuple[str, ...]:
    names = tuple(fields)
    for name in names:
        if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable():
            raise BadInput(f"field name {name!r} is not acceptable; use printable text without space around it")
        if name == TIMES:
            raise BadInput(f"field name {TIMES!r} is kept for dibs; use another")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"field {twice!r} is named twice; name it once")
    if len(names) > MAX_FIELDS:
        raise BadInput(f"{len(names)} fields are too many; use at most {MAX_FIELDS}")
    return names


def load(store: Store) -> Schema | None:
    entry = store.get(FILE)
    if entry is None:
        return None
    try:
        found = decode(entry.data)
        fields, version = found["fields"], found["version"]
        if not all(isinstance(name, str) for name in fields) or len(fields) < 2 or not isinstance(version, int):
            raise ValueError(fields)
    except (BadInput, KeyError, TypeError, ValueError):
        raise FormatError(f"{FILE} is damaged; restore it: every file of the index begins with its fields") from None
    return Schema(tuple(fields), version, entry.version)


def planned(fields: Sequence[str], *, fieldwise: bool) -> Schema:
    """The schema that an index with these fields would have: key, time, then the others."""
    key, time, *others = checked(fields)
    return Schema((key, time, *([TIMES] if fieldwise else []), *others))


def create(store: Store, fields: Sequence[str], *, fieldwise: bool) -> Schema:
    """The schema of a new index: key, time, then the others; what somebody else has just created, if so."""
    names = planned(fields, fieldwise=fieldwise).fields
    try:
        return Schema(names, 1, settle.create(store, FILE, _bytes(names, 1)))
    except Exists:
        found = load(store)
        if found is None:
            raise FormatError(f"{FILE} vanished while the index was created; try again") from None
        return found


def extended(store: Store, names: Sequence[str]) -> Schema:
    """With these fields added at the end; those that are there already are passed over."""
    while True:
        found = load(store)
        if found is None:
            raise FormatError(f"there is no {FILE}; create the index first")
        new = [name for name in checked(names) if name not in found.fields]
        if not new:
            return found
        fields, version = (*found.fields, *new), found.version + 1
        try:
            return Schema(fields, version, settle.replace(store, FILE, _bytes(fields, version), found.stored))
        except Changed:
            continue


def _bytes(fields: Sequence[str], version: int) -> bytes:
    return encode({"version": version, "fields": list(fields)})


def refuse_other(schema: Schema, names: Iterable[str], *, sparse: bool, url: str) -> None:
    """Refused unless a record with these fields is one of this schema. `sparse`: it may leave fields out."""
    given = dict.fromkeys(names)
    unknown = [name for name in given if name not in schema.fields]
    lacking = [] if sparse else [name for name in schema.own if name not in given]
    if not unknown and not lacking:
        return
    parts = []
    if unknown:
        close = get_close_matches(unknown[0], schema.own, n=1)
        meant = f" (is {close[0]!r} meant?)" if close else ""
        parts.append(f"has {', '.join(map(repr, unknown))}{meant}, which the index does not")
    if lacking:
        parts.append(f"lacks {', '.join(map(repr, lacking))}")
    remedies = [f"add fields with: dibs index schema {url} --add {unknown[0]}"] if unknown else []
    remedies += ["say --sparse (sparse=True) to leave fields missing"] if lacking else []
    raise Refused(
        f"the record {' and '.join(parts)}; the fields are {', '.join(schema.shown)} (schema {schema.version}); "
        + ", or ".join(remedies)
    )
