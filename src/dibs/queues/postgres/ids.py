"""Many ids as the server keeps them, 16 bytes each: it would take longer to read them from text than to find them."""

from collections.abc import Iterable
from struct import pack

from dibs.queues.postgres.driver import Connection, psycopg

_UUID = 2950
_UUIDS = 2951
_LENGTH = pack(">i", 16)


class Ids(bytes):
    """An array of them, in the server's binary form."""


class _Dumper(psycopg.adapt.Dumper):
    format = psycopg.pq.Format.BINARY
    oid = _UUIDS

    def dump(self, obj: Ids) -> bytes:
        return obj


def packed(ids: Iterable[str]) -> Ids:
    parts = [bytes.fromhex(task_id) for task_id in ids]
    return Ids(_LENGTH.join([pack(">iiIii", 1, 0, _UUID, len(parts), 1), *parts]))


def teach(connection: Connection) -> None:
    """So that values may be `Ids`."""
    connection.adapters.register_dumper(Ids, _Dumper)
