"""The contenders of each benchmark, in the order in which a round runs them."""

from benchmarks.contenders.contender import Contender
from benchmarks.contenders.dibs_files import Dibs
from benchmarks.contenders.dirq_simple import Dirq
from benchmarks.contenders.floor import Floor
from benchmarks.contenders.huey_storage import HueyFile, HueySqlite
from benchmarks.contenders.lite_queue import LiteQueue
from benchmarks.contenders.persist_queue import PersistQueueFile, PersistQueueSqlite
from benchmarks.contenders.raw_sqlite import RawSqlite

__all__ = ["Contender", "drainers", "durable_pushers", "unsynced_pushers"]


def drainers() -> list[Contender]:
    return [
        Floor(),
        Floor(bare=True),
        Dibs(),
        Dibs(batch=100),
        Dirq(),
        PersistQueueFile(),
        PersistQueueSqlite(),
        LiteQueue(),
        HueyFile(),
        HueySqlite(),
        HueySqlite(synchronous="OFF"),
        RawSqlite(),
        RawSqlite(synchronous="OFF"),
        RawSqlite(batch=100),
    ]


def durable_pushers() -> list[Contender]:
    """Each push, or batch, is on disk when it returns."""
    return [
        Floor(),
        Dibs(),
        Dibs(batch=100),
        PersistQueueSqlite(synchronous="FULL"),
        LiteQueue(synchronous="FULL"),
        HueySqlite(synchronous="FULL"),
        RawSqlite(synchronous="FULL"),
        RawSqlite(synchronous="FULL", batch=100),
    ]


def unsynced_pushers() -> list[Contender]:
    """A push survives the death of its process, not a power cut."""
    return [
        Floor(sync=False),
        Dibs(sync=False),
        Dibs(sync=False, batch=100),
        Dirq(),
        PersistQueueFile(),
        HueyFile(),
        HueySqlite(),
        LiteQueue(),
        RawSqlite(),
    ]
