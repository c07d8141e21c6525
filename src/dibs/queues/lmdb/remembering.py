"""What commands that run only for a moment remember of silent holders of other boots.

Whether such a holder is gone is found out by watching it for its TTL (see `upkeep`). A long-lived worker
watches by itself; a one-shot `dibs claim` goes on from what the one before it saw on this boot.
"""

from contextlib import suppress

from dibs.errors import StorageError
from dibs.host import Host
from dibs.liveness import Watch
from dibs.queues.lmdb.database import Database
from dibs.queues.lmdb.layout import SEEN_KEY
from dibs.queues.lmdb.workers import record_of
from dibs.task import encode


class Remembering:
    def __init__(self, database: Database, watch: Watch, host: Host) -> None:
        self._database = database
        self._watch = watch
        self._boot = host.boot
        self._kept = False

    def recall(self) -> None:
        found = record_of(self._database.read(lambda txn: txn.get(SEEN_KEY)))
        if found.get("boot") == self._boot:
            with suppress(AttributeError, KeyError, TypeError, ValueError):  # damaged: the watching starts now
                self._watch.load(
                    {str(key): (float(beat), float(first)) for key, (beat, first) in found["seen"].items()}
                )

    def keep(self) -> None:
        seen = self._watch.export()
        if seen and not self._kept:
            self._kept = True
            body = encode({"boot": self._boot, "seen": seen})
            with suppress(StorageError):  # it only makes the next command wait longer
                self._database.write(lambda txn: txn.put(SEEN_KEY, body))
