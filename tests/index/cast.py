"""Who takes part in a schedule of the index: writers, readers and compactors, each a process with its own clock."""

from collections.abc import Callable

from tests.index.history import History
from tests.simulation.cloud import Cloud, SimStore
from tests.simulation.machines import SimClock
from tests.simulation.world import Process, Violation, World

from dibs.errors import StorageError
from dibs.index.index import Index
from dibs.index.layout import shard_of
from dibs.index.opening import Opened
from dibs.index.usv import DELETED, line_of

FIELDS = ("v", "w")
TIMES = ("1", "2.50", "1970-01-01T00:00:02.5Z", "1970-01-01T01:00:03+01:00", "3.0", "4", "10", "11.000001")
KEYS = [f"k{number}" for number in range(400) if shard_of(f"k{number}", 1) in "07"][:5]


class Company:
    """What everybody shares: the world, the store, and what was written."""

    store_class: type[SimStore] = SimStore
    locks_class: type[SimStore] = SimStore

    def __init__(self, world: World, cloud: Cloud, history: History, merge: str) -> None:
        self.world, self.cloud, self.history = world, cloud, history
        self.merge = merge
        self.rng = world.rng
        self.closing = False
        self.written = 0

    def open(self, process: Process) -> Index:
        clock = SimClock(self.world, process.host)
        opened = Opened(
            self.store_class(self.world, self.cloud, process), self.locks_class(self.world, self.cloud, process)
        )
        index = Index(
            "memory:",
            shards=16,
            merge=self.merge,
            clock=clock,
            rng=self.rng,
            host=process.host,
            opened=opened,
            ttl=self.world.weather.ttl,
        )
        index.site.process = lambda: process.pid
        return index

    def rest(self, process: Process) -> None:
        self.world.sleep(self.rng.random() * self.rng.choice((0.05, 1.0, self.world.weather.ttl)))

    def steps(self, process: Process, rounds: int, step: Callable[[], None]) -> None:
        """Again and again; what the store refuses is not done, and that is all."""
        for _ in range(rounds):
            if self.closing:
                return
            try:
                step()
            except StorageError:
                pass
            self.rest(process)


def writer(company: Company, rounds: int) -> Callable[[Process], None]:
    def live(process: Process) -> None:
        index = company.open(process)
        company.steps(process, rounds, lambda: _write(company, index))

    return live


def _write(company: Company, index: Index) -> None:
    rng, history = company.rng, company.history
    count = rng.choice((1, 1, 1, 3))
    records = []
    for _ in range(count):
        company.written += 1
        key, time = rng.choice(KEYS), rng.choice(TIMES)
        w = None if rng.random() < 0.5 else f"w{company.written}"
        records.append({"key": key, "updated_at": time, "v": f"v{company.written}", "w": w})
    if rng.random() < 0.15:
        key, time = rng.choice(KEYS), rng.choice(TIMES)
        blank = [None] * (len(index.schema.fields) - 2)
        line = line_of([key, time, *blank]).replace(b"\x1f", b"\x1f" + DELETED, 1)
        writes = [history.begin(key, line)]
        index.delete(key, updated_at=time)
    else:
        names = index.schema.fields
        writes = [
            history.begin(str(record["key"]), line_of([record.get(name) for name in names])) for record in records
        ]
        index.put_many(records) if count > 1 else index.put(
            str(records[0]["key"]), {name: records[0][name] for name in FIELDS}, updated_at=records[0]["updated_at"]
        )
    for write in writes:
        history.returned(write)


def reader(company: Company, rounds: int) -> Callable[[Process], None]:
    def live(process: Process) -> None:
        index = company.open(process)
        company.steps(process, rounds, lambda: _read(company, index, process))

    return live


def _read(company: Company, index: Index, process: Process) -> None:
    try:
        _look(company, index, process)
    finally:
        for damage in index.damages:
            if "is gone or empty" in damage.why:
                raise Violation("alarm", f"{damage.why}, though nobody takes a shard away")


def _look(company: Company, index: Index, process: Process) -> None:
    history = company.history
    if company.rng.random() < 0.7:
        key = company.rng.choice(KEYS)
        before = history.known(key)
        history.saw(process.name, key, index._reader.line(key), before)
        return
    shard = company.rng.choice("07")
    before_all = {key: history.known(key) for key in KEYS}
    block = index._reader.shard(shard)
    lines = [] if block is None else block.all()
    history.saw_shard(process.name, [key for key in KEYS if shard_of(key, 1) == shard], lines, before_all)


def compactor(company: Company, rounds: int) -> Callable[[Process], None]:
    def live(process: Process) -> None:
        index = company.open(process)

        def step() -> None:
            dice = company.rng.random()
            if dice < 0.5:
                list(index.compact_once())
            elif dice < 0.8:
                index._passes.compactor.compact(company.rng.choice("07"))
            else:
                list(index.compact_all(wait=False))

        company.steps(process, rounds, step)

    return live
