"""What an idle worker asks of the server: the statements in its log, of all contenders during the same minute."""

import time
from collections.abc import Callable

from benchmarks.postgres.contender import Contender
from benchmarks.postgres.drain import Bench, documents, wait
from benchmarks.postgres.processes import Workers, apart
from benchmarks.report import Goal, Table, at_most

GRACE = 0.5  # of the time that is counted, before it: an idle worker asks less and less


def measure(
    bench: Bench, contenders: list[Contender], seconds: float, say: Callable[[str], None]
) -> tuple[dict[str, float], dict[str, str]]:
    """Statements a minute of one worker process each, and what went wrong, by contender."""
    started: dict[str, tuple[str, Workers]] = {}
    wrong: dict[str, str] = {}

    def count() -> dict[str, int]:
        return {name: bench.server.statements(database) for name, (database, _) in started.items()}

    try:
        for contender in contenders:
            url = bench.fresh(contender)
            apart(contender.push, url, documents(1), 1)
            bench.server.log_statements(contender.database, on=True)
            noted = bench.noted(1)
            workers = Workers(contender, url, 1, min(contender.tried), noted, idle=True)
            started[contender.name] = (contender.database, workers)
            try:
                wait(noted, 1, workers)
            except RuntimeError as error:
                wrong[contender.name] = str(error)
        say(f"postgres: {len(started)} idle workers for {seconds:.0f} s")
        time.sleep(GRACE * seconds)
        before, begun = count(), time.monotonic()
        time.sleep(seconds)
        after, minutes = count(), (time.monotonic() - begun) / 60
        wrong |= {name: said for name, (_, workers) in started.items() if (said := workers.trouble()) is not None}
        return {name: (after[name] - before[name]) / minutes for name in started if name not in wrong}, wrong
    finally:
        for database, workers in started.values():
            workers.end()
            bench.server.log_statements(database, on=False)


def table(found: dict[str, float], seconds: float) -> Table:
    made = Table("An idle worker on PostgreSQL, statements a minute", ["", "statements"])
    made.rows = [[name, f"{number:,.0f}"] for name, number in found.items()]
    made.notes = [
        f"counted in the server's log during {seconds:.0f} s, some time after its only task, one worker process each, "
        "with as little at once as was tried"
    ]
    return made


def goals(found: dict[str, float], ours: str) -> list[Goal]:
    return [at_most("postgres, statements a minute of an idle worker", found.get(ours), 9.99, "")]
