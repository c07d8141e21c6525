"""dibs in a PostgreSQL database: one task at a time, in two steps or one, in batches, and by `dibs work --call`."""

import time
from typing import Any

from benchmarks.children import script
from benchmarks.postgres.contender import Contender, Document, chunks, run

CALL = "benchmarks.brokers.noop:run"


def opened(url: str) -> Any:
    import dibs

    return dibs.open(url)


class Dibs(Contender):
    kind = "dibs"
    database = "bench_dibs"
    leaves = True
    unfinished = "SELECT count(*) FROM dibs.overview WHERE state <> 'completed'"

    def __init__(self, batch: int = 1, chained: bool = False) -> None:
        self.batch = batch
        self.batched = batch > 1
        self.chained = chained
        self.pushes = not self.batched and not chained
        self.name = "dibs" + (f", batches of {batch}" if self.batched else ", complete_and_claim" if chained else "")

    def missing(self) -> str | None:
        try:
            import dibs.queues.postgres  # noqa: F401
        except ImportError as error:
            return f"dibs cannot be imported: {error}"
        return None

    def install(self, url: str) -> None:
        opened(url).close()

    def push(self, url: str, documents: list[Document], batch: int) -> float:
        with opened(url) as queue:
            begun = time.perf_counter()
            if batch == 1:
                for document in documents:
                    queue.push(document)
            else:
                for chunk in chunks(documents, batch):
                    queue.push_many(chunk)
            return time.perf_counter() - begun

    def work(self, url: str, setting: int) -> None:
        with opened(url) as queue:
            if self.batched:
                leases = queue.claim_many(self.batch)
                while leases:
                    for lease in leases:
                        run(lease.payload)
                    done, leases = leases, queue.complete_and_claim_many(leases, self.batch)
                    if lost := [lease for lease in done if lease.state == "lost"]:
                        raise RuntimeError(f"{len(lost)} leases lost")
                    leases = leases or queue.claim_many(self.batch)
                return
            while (lease := queue.claim()) is not None:
                run(lease.payload)
                if not self.chained:
                    lease.complete()
                    continue
                while (lease := queue.complete_and_claim(lease)) is not None:
                    run(lease.payload)


class DibsWork(Dibs):
    tried = (10, 100, 400)
    usual = 100
    setting_means = "tasks a batch"

    def __init__(self) -> None:
        super().__init__()
        self.name = "dibs work --call --batch"
        self.pushes = False
        self.batched = True  # as many tasks as others that fetch many: of few, the untimed first fetch is a large part

    def commands(self, url: str, processes: int, setting: int, idle: bool = False) -> list[list[str]]:
        ending = [] if idle else ["--until-empty"]
        words = ["--call", CALL, "-j", str(processes), "--batch", str(setting), *ending]
        return [[script("dibs"), "work", url, *words]]
