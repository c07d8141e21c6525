"""Where one index is: its store, whose clock and host, and what its root and schema say, read when first needed."""

import errno
import os
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dibs.clock import Clock
from dibs.errors import FormatError, Refused, StorageError
from dibs.host import Host
from dibs.index import root as roots
from dibs.index import schema as schemas
from dibs.index.fieldwise import rule_for
from dibs.index.layout import normalised, shard_of
from dibs.index.merge import Rule, later
from dibs.index.root import Root
from dibs.index.schema import Schema
from dibs.redact import redact
from dibs.stores.store import Entry, Store, Unsure

SCHEMA_SECONDS = 10.0  # a writer notices within these that fields were added
_OF_THE_STORE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # whichever file it is that is written


class Site:
    """`locks` is the same place as `store`, for what need not survive a power cut. `wanted`: the settings that an index
    must have; others are as they are, or get their defaults with its creation. `names`: of key and time, likewise.
    `found` makes the place in which a store can be. Safe for threads."""

    def __init__(
        self, url: str, store: Store, locks: Store, *, clock: Clock, rng: random.Random, host: Host,
        wanted: Mapping[str, Any], names: tuple[str | None, str | None] = (None, None),
        found: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.url = redact(url)
        self.store, self.locks = store, locks
        self.clock, self.rng, self.host = clock, rng, host
        self.process = os.getpid
        self._wanted, self._names, self._found = wanted, names, found
        self._planned = roots.checked(Root(**wanted))
        self._root: Root | None = None
        self._schema: Schema | None = None
        self._looked = 0.0
        self._rule: tuple[tuple[str, ...], Rule] = ((), later)

    @property
    def root(self) -> Root:
        """FormatError when there is no index."""
        if self._root is None and not self.exists:
            raise FormatError(f"no index at {self.url}; `dibs index put {self.url} …` creates one")
        assert self._root is not None
        return self._root

    @property
    def settings(self) -> Root:
        """Those of the index, or of the one that a first record would make."""
        return self._root or (self.root if self.exists else self._planned)

    @property
    def exists(self) -> bool:
        """Refused when it is there with other settings than are wanted."""
        if self._root is None:
            found = roots.load(self.store, self.url)
            if found is not None:
                self._settled(found)
        return self._root is not None

    def _settled(self, found: Root) -> None:
        for name, value in self._wanted.items():
            if getattr(found, name) != value:
                word = "stamps" if name == "time" else name
                here = f"{word} {getattr(found, name)}, not {value}, which is settled at its creation"
                raise Refused(f"index {self.url} has {here}; leave --{word} out, or use another index")
        self._root = found

    def read(self, path: str) -> Entry | StorageError | None:
        """A file of the index; the error when it is this file alone that cannot be read."""
        try:
            return self.store.get(path)
        except StorageError as error:
            self.blame(error)
            return error

    def blame(self, error: StorageError) -> None:
        """Raises it unless it is about one file: the store is there, has room and can be written to."""
        if isinstance(error, Unsure) or getattr(error.__cause__, "errno", None) in _OF_THE_STORE:
            raise error
        self.still_there()

    def still_there(self) -> None:
        """StorageError when the index is gone, or cannot be reached."""
        if roots.load(self.store, self.url) is None:
            raise StorageError(f"index {self.url} is gone: there is no {roots.FILE} any more; mount or restore it")

    @property
    def schema(self) -> Schema:
        if self._schema is None:
            self.look_again()
        assert self._schema is not None
        return self._schema

    def fresh_schema(self) -> Schema:
        """As it is now, or was a few seconds ago."""
        if self._schema is None or self.clock.boottime() - self._looked > SCHEMA_SECONDS:
            self.look_again()
        return self.schema

    def look_again(self) -> Schema:
        looked = self.clock.boottime()
        found = schemas.load(self.store)
        if found is None:
            raise FormatError(f"index {self.url} has no {schemas.FILE} yet; `dibs index put {self.url} …` creates it")
        self._named(found)
        self._schema, self._looked = found, looked
        return found

    def _named(self, found: Schema) -> None:
        for word, name, given in zip(("key", "time"), found.fields, self._names, strict=False):
            if given is not None and given != name:
                here = f"{word} field {name!r}, not {given!r}, which is settled at its creation"
                raise Refused(f"index {self.url} has the {here}; leave --{word}-field out, or use another index")

    def found_schema(self) -> Schema | None:
        """The same, or None when there is no index yet."""
        if self._schema is not None:
            return self.fresh_schema()
        if self.exists:
            found = schemas.load(self.store)
            if found is not None:
                self._named(found)
            self._schema, self._looked = found, self.clock.boottime()
        return self._schema

    def create(self, fields: Sequence[str]) -> Schema:
        """Make the index with these fields, key and time first, unless somebody has made it already."""
        schemas.checked(fields)
        if not self.exists:
            self._found()
            self._settled(roots.create(self.store, self._planned, self.url, self.clock))
        looked = self.clock.boottime()
        found = schemas.load(self.store) or schemas.create(self.store, fields, fieldwise=self.root.fieldwise)
        self._named(found)
        self._schema, self._looked = found, looked
        return found

    def insist(self, fields: Sequence[str]) -> None:
        """Refused unless these are the fields."""
        found = self.create(fields)
        if found.shown != tuple(fields):
            here, given = ", ".join(found.shown), ", ".join(fields)
            raise Refused(f"index {self.url} has the fields {here} (schema {found.version}), not {given}; use those")

    def extend(self, names: Sequence[str]) -> Schema:
        self._schema = schemas.extended(self.store, names)
        return self._schema

    @property
    def rule(self) -> Rule:
        """How two records of one key become one."""
        if not self.root.fieldwise:
            return later
        fields = self.schema.fields
        if self._rule[0] != fields:
            self._rule = (fields, rule_for(fields))
        return self._rule[1]

    def normalised(self, key: str) -> str:
        return normalised(key, self.settings.keys)

    def shard_of(self, key: str) -> str:
        return shard_of(key, self.settings.digits)

    def belongs(self, shard: str, key: str) -> bool:
        """The key is one of this shard, as it would be written."""
        try:
            return self.normalised(key) == key and self.shard_of(key) == shard
        except ValueError:
            return False

    def nonce(self) -> str:
        return f"{self.rng.getrandbits(64):016x}"
