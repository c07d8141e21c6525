"""Queues on PostgreSQL: the raw loop, dibs, and what people use today, on one server."""

from benchmarks.postgres.contender import BATCH, Contender
from benchmarks.postgres.dibs_postgres import Dibs, DibsWork
from benchmarks.postgres.floor import Floor
from benchmarks.postgres.oban_peer import Oban
from benchmarks.postgres.pgqueuer_peer import PgQueuer
from benchmarks.postgres.procrastinate_peer import Procrastinate

__all__ = ["BATCH", "Contender", "Floor", "contenders"]


def contenders() -> list[Contender]:
    """In the order in which a round runs them."""
    return [
        Floor(),
        Dibs(),
        Procrastinate(),
        Floor(chained=True),
        Dibs(chained=True),
        DibsWork(),
        Floor(batch=BATCH),
        Dibs(batch=BATCH),
        PgQueuer(),
        Oban(),
    ]
