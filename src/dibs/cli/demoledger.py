"""What the files of the demo's queue say: every number of its table is read from here, none from a counter.

A task is one file: its folder is its state, its name has the epoch and who holds or completed it.
Completion records are the notes; the runs are what the workers themselves appended to a log.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from dibs.queues.files.layout import STATE_FOLDERS, parse_name
from dibs.states import State


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one task is."""

    state: State
    epoch: int
    pid: int  # of the worker that holds or completed it; 0 when nobody does


@dataclass(frozen=True, slots=True)
class Account:
    pushed: int
    completed: int
    lost: int  # pushed, but not to be found completed
    twice: int
    taken_over: int
    refused: int  # runs that were finished, but are not the one that the completion names
    runs: int

    @property
    def good(self) -> bool:
        return self.completed == self.pushed and not self.lost and not self.twice


class Ledger:
    def __init__(self, root: str, runs: str) -> None:
        self._root = root
        self._runs = runs

    def standings(self) -> dict[str, list[Standing]]:
        """By task; one file each, or something is wrong."""
        found = defaultdict(list)
        for state, folder in STATE_FOLDERS.items():
            for _, _, names in os.walk(f"{self._root}/{folder}"):
                for text in names:
                    if name := parse_name(text, state):
                        found[name.id].append(Standing(state, name.epoch, _pid(name.extra)))
        return found

    def account(self, pushed: Iterable[str]) -> Account:
        ids = set(pushed)
        standings = self.standings()
        completed = {
            task: [place.epoch for place in places if place.state is State.COMPLETED]
            for task, places in standings.items()
        }
        records = self._completion_records()
        lines = self._lines()
        finished = [(task, epoch) for what, task, epoch in lines if what == "finished"]
        return Account(
            pushed=len(ids),
            completed=sum(1 for task in ids if completed.get(task)),
            lost=sum(1 for task in ids if not completed.get(task)),
            twice=sum(1 for task in ids if len(completed.get(task, ())) > 1 or records[task] > 1),
            taken_over=sum(epochs[0] - 1 for epochs in completed.values() if epochs),
            refused=sum(1 for task, epoch in finished if epoch not in completed.get(task, ())),
            runs=sum(1 for what, _, _ in lines if what == "began"),
        )

    def _completion_records(self) -> Counter[str]:
        records: Counter[str] = Counter()
        for folder, _, names in os.walk(f"{self._root}/notes"):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    if json.load(file).get("what") == "completed":
                        records[name.partition(".")[0]] += 1
        return records

    def _lines(self) -> list[tuple[str, str, int]]:
        with open(self._runs) as file:
            words = [line.split() for line in file]
        return [(what, task, int(epoch)) for what, task, epoch, _ in words]


def _pid(session: str) -> int:
    """A session is named host-pid-nonce."""
    parts = session.rsplit("-", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdigit() else 0
