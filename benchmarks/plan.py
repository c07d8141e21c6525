"""What a run does: how much of each benchmark, where, and with which contenders.

`tiny` only shows that everything works; `full` is what the goals are judged on.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class PostgresSize:
    tasks: int  # where each takes statements of its own; twenty times as many in batches
    tuning: int  # tasks for trying the settings of each contender; 0: its usual one, untried
    rounds: int
    waiting: int
    claims: int


@dataclass(frozen=True)
class Size:
    name: str
    rounds: int
    drain_tasks: int
    durable_pushes: int
    unsynced_pushes: int
    waiting_few: int
    waiting_many: int
    claims: int
    broker_tasks: int
    broker_processes: tuple[int, ...]
    broker_rounds: int
    idle_seconds: int
    cli_runs: int
    bucket_tasks: int  # with sixteen at once; with one, a third
    bucket_rounds: int
    spec_files: int
    spec_nodes: int
    postgres: PostgresSize
    index_records: int


SIZES = {
    size.name: size
    for size in (
        Size(
            "tiny",
            1,
            100,
            20,
            50,
            50,
            300,
            50,
            40,
            (2,),
            1,
            1,
            2,
            30,
            1,
            100,
            200,
            postgres=PostgresSize(20, 0, 1, 300, 20),
            index_records=1_000,
        ),
        Size(
            "small",
            1,
            1_000,
            100,
            500,
            1_000,
            20_000,
            1_000,
            500,
            (2,),
            1,
            3,
            10,
            90,
            1,
            2_000,
            5_000,
            postgres=PostgresSize(30, 0, 1, 2_000, 30),
            index_records=50_000,
        ),
        Size(
            "full",
            5,
            20_000,
            1_000,
            5_000,
            1_000,
            1_000_000,
            5_000,
            10_000,
            (1, 2, 4),
            3,
            60,
            40,
            1_500,
            5,
            10_000,
            50_000,
            postgres=PostgresSize(1_000, 300, 3, 1_000_000, 2_000),
            index_records=1_000_000,
        ),
    )
}


@dataclass(frozen=True)
class Plan:
    size: Size
    folder: str  # on the disk under test
    rounds: int
    say: Callable[[str], None]
    contenders: tuple[str, ...] = ()  # parts of names; empty: all

    def wants(self, name: str) -> bool:
        return not self.contenders or any(part in name for part in self.contenders)
