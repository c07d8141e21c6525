"""Where one index is: its store, whose clock and host, and what its root and schema say, read when first needed."""

import os
import random
from collections.abc import Sequence

from dibs.clock import Clock
from dibs.errors import FormatError, Refused
from dibs.host import Host
from dibs.index import root as roots
from dibs.index import schema as schemas
from dibs.index.fieldwise import rule_for
from dibs.index.layout import normalised, shard_of
from dibs.index.merge import Rule, later
from dibs.index.root import Root
from dibs.index.schema import Schema
from dibs.redact import redact
from dibs.stores.store import Store

SCHEMA_SECONDS = 10.0  # a writer notices within these that fields were added


class Site:
    """`locks` is the same place as `store`, for what need not survive a power cut. Safe for threads."""

    def __init__(
        self, url: str, store: Store, locks: Store, *, clock: Clock, rng: random.Random, host: Host, wanted: Root
    ) -> None:
        self.url = redact(url)
        self.store, self.locks = store, locks
        self.clock, self.rng, self.host = clock, rng, host
        self.process = os.getpid
        self._wanted = roots.checked(wanted)
        self._root: Root | None = None
        self._schema: Schema | None = None
        self._looked = 0.0
        self._rule: tuple[tuple[str, ...], Rule] = ((), later)

    @property
    def root(self) -> Root:
        """FormatError when there is no index."""
        if self._root is None:
            self._root = roots.load(self.store, self.url)
            if self._root is None:
                raise FormatError(f"no index at {self.url}; `dibs index put {self.url} …` creates one")
        return self._root

    @property
    def exists(self) -> bool:
        if self._root is None:
            self._root = roots.load(self.store, self.url)
        return self._root is not None

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
        self._schema, self._looked = found, looked
        return found

    def found_schema(self) -> Schema | None:
        """The same, or None when there is no index yet."""
        if self._schema is not None:
            return self.fresh_schema()
        if self.exists:
            self._schema, self._looked = schemas.load(self.store), self.clock.boottime()
        return self._schema

    def create(self, fields: Sequence[str]) -> Schema:
        """Make the index with these fields, key and time first, unless somebody has made it already."""
        schemas.checked(fields)
        if not self.exists:
            self._root = roots.create(self.store, self._wanted, self.url, self.clock)
        looked = self.clock.boottime()
        found = schemas.load(self.store) or schemas.create(self.store, fields, fieldwise=self.root.fieldwise)
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
        return normalised(key, self.root.keys)

    def shard_of(self, key: str) -> str:
        return shard_of(key, self.root.digits)

    def belongs(self, shard: str, key: str) -> bool:
        """The key is one of this shard, as it would be written."""
        try:
            return self.normalised(key) == key and self.shard_of(key) == shard
        except ValueError:
            return False

    def nonce(self) -> str:
        return f"{self.rng.getrandbits(64):016x}"
