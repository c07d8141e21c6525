"""What commands that run only for a moment remember of silent holders on other hosts, for queues over a store.

Whether such a holder is gone is found out by watching it for its TTL (see `liveness`). A long-lived worker
watches by itself; a one-shot `dibs claim` goes on from what the one before it saw on this boot.
"""

from contextlib import suppress

from dibs.errors import BadInput, StorageError
from dibs.host import Host
from dibs.liveness import Watch
from dibs.stores.store import Changed, Exists, Store
from dibs.task import decode, encode


class Remembering:
    def __init__(self, store: Store, watch: Watch, host: Host, name: str = "seen") -> None:
        self._store = store
        self._watch = watch
        self._key = f"{name}/{''.join(letter for letter in host.boot if letter.isalnum())}.json"
        self._version = ""

    def recall(self) -> None:
        entry = self._store.get(self._key)
        if entry is None:
            return
        self._version = entry.version
        with suppress(BadInput, AttributeError, TypeError, ValueError):  # damaged: the watching starts now
            seen = decode(entry.data)
            self._watch.load({str(key): (float(beat), float(first)) for key, (beat, first) in seen.items()})

    def keep(self) -> None:
        seen = self._watch.export()
        if not seen:
            return
        with suppress(Exists, Changed, StorageError):  # it only makes the next command wait longer
            if self._version:
                self._store.replace(self._key, encode(seen), self._version)
            else:
                self._store.create(self._key, encode(seen))
