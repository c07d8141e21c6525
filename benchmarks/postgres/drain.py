"""Runs of one contender on tables newly made: drained by its workers, or filled and timed.

A drain is timed from the first task that ran to the moment when none is unfinished in the database, the same for all:
start-up is left out, and who puts off finishing what ran gains nothing by it.
"""

import json
import os
import time

from benchmarks.brokers import notes
from benchmarks.brokers.noop import SLOT
from benchmarks.measure import scratch
from benchmarks.payloads import payloads
from benchmarks.postgres.contender import Contender, Document
from benchmarks.postgres.processes import Workers, apart
from benchmarks.postgres.server import Server

DEADLINE_SECONDS = 180
POLL_SECONDS = 0.05
FINISH_SECONDS = 60
FINISH_POLL_SECONDS = 0.01
FILL = 1000
MUCH = 1000  # tasks; fewer leave little to write out


def documents(count: int) -> list[Document]:
    return [json.loads(data) for data in payloads(count)]


class Bench:
    """A server, and on it a database for each contender and its kin."""

    def __init__(self, server: Server, folder: str) -> None:
        self.server = server
        self._folder = folder
        self._made: set[str] = set()

    def fresh(self, contender: Contender) -> str:
        """The URL of its database, with its tables, all empty."""
        if contender.database in self._made:
            self.server.clear(contender.database)
        else:
            self.server.create(contender.database)
            self._made.add(contender.database)
        url = self.server.url(contender.database)
        apart(contender.install, url)
        return url

    def noted(self, count: int) -> str:
        """A new folder for what tasks note."""
        noted = os.path.join(scratch(self._folder), "notes")
        notes.prepare(noted, count)
        return noted

    def drain(self, contender: Contender, count: int, processes: int, setting: int) -> notes.Ran:
        url = self.fresh(contender)
        apart(contender.push, url, documents(count), FILL)
        self.server.settle(contender.database, written=count >= MUCH)
        noted = self.noted(count)
        workers = Workers(contender, url, processes, setting, noted)
        try:
            wait(noted, count, workers)
            finished = self._finish(contender, url)
            if contender.leaves:
                workers.leave()
        finally:
            workers.end()
        ran = notes.read(noted)
        ran.last = finished
        return ran

    def push(self, contender: Contender, count: int, batch: int) -> float:
        """Tasks a second."""
        url = self.fresh(contender)
        seconds: float = apart(contender.push, url, documents(count), batch)
        return count / seconds

    def _finish(self, contender: Contender, url: str) -> float:
        """When nothing was unfinished any more; all tasks have run."""
        import psycopg

        end = time.monotonic() + FINISH_SECONDS
        with psycopg.connect(url, autocommit=True) as connection:
            while True:
                asked = time.perf_counter()
                row = connection.execute(contender.unfinished.encode()).fetchone()
                assert row is not None
                if row[0] == 0:
                    return asked
                if time.monotonic() > end:
                    raise RuntimeError(f"all tasks ran, but {row[0]} were not finished {FINISH_SECONDS} s later")
                time.sleep(FINISH_POLL_SECONDS)


def wait(noted: str, count: int, workers: Workers) -> None:
    """Until as many have run. Little is read while they run: they need the processors."""
    end = time.monotonic() + DEADLINE_SECONDS
    while True:
        trouble = workers.trouble()
        ran = _count(noted)
        if ran >= count:
            return
        if trouble is not None:
            raise RuntimeError(f"{ran} of {count} tasks ran; {trouble}")
        if time.monotonic() > end:
            raise RuntimeError(f"{ran} of {count} tasks ran in {DEADLINE_SECONDS} s")
        time.sleep(POLL_SECONDS)


def _count(noted: str) -> int:
    total = 0
    for entry in os.scandir(noted):
        if entry.name.startswith("slot-"):
            with open(entry.path, "rb") as file:
                data = file.read(SLOT.size)
            total += SLOT.unpack(data)[2] if len(data) == SLOT.size else 0
    return total
