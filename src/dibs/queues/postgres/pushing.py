"""Push: one statement for tasks that stand alone, one transaction for those with keys or dependencies.

Ids are unique for ever, so a push whose answer was lost is simply sent again. A key is held by a unique index over live
tasks; that it is free among completed ones too, where that is asked for, is looked up before and again after.
"""

from typing import Any

from dibs.errors import BadInput
from dibs.queues.postgres import texts
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Connection
from dibs.queues.postgres.rows import task_of
from dibs.queues.postgres.telling import Telling
from dibs.queues.postgres.waits import Waits
from dibs.states import LIVE, Cell, State
from dibs.task import Task, encode
from dibs.values import replace


class Pusher:
    def __init__(self, database: Database, waits: Waits, telling: Telling) -> None:
        self._database = database
        self._waits = waits
        self._telling = telling

    def push(self, tasks: list[Task], given: Connection | None) -> list[Task]:
        records = {task.id: _record(task) for task in tasks}
        if given is not None:
            return self._push(given, tasks, records, notify=True)
        notify = self._telling.now()
        pushed = self._database.safely(lambda connection: self._alone(connection, tasks, records, notify))
        if not notify:
            self._telling.after()
        return pushed

    def _alone(self, connection: Connection, tasks: list[Task], records: dict[str, str], notify: bool) -> list[Task]:
        if not any(task.key or task.after for task in tasks):
            return self._push(connection, tasks, records, notify)
        with self._database.transaction(connection):
            return self._push(connection, tasks, records, notify)

    def _push(self, connection: Connection, tasks: list[Task], records: dict[str, str], notify: bool) -> list[Task]:
        pushed: dict[str, Task] = {}
        left = tasks
        while left:
            wanted = self._without_completed(connection, left, pushed)
            states = self._add(connection, wanted, records, notify)
            self._withdraw(connection, [task for task in wanted if task.id in states], states, pushed)
            states |= self._waits.begin(connection, [task for task in wanted if task.id in states and task.after])
            for task in wanted:
                if task.id in states:
                    pushed[task.id] = replace(task, state=State(states[task.id]))
            left = [task for task in wanted if task.id not in pushed]
            left = self._find(connection, left, pushed)
        return [pushed[task.id] for task in tasks]

    def _add(self, connection: Connection, tasks: list[Task], records: dict[str, str], notify: bool) -> dict[str, str]:
        """The state of each that was added, by id."""
        if not tasks:
            return {}
        rows = self._database.ask(connection, "push", None, notify=notify, **columns(tasks, records))
        self._database.hear(rows[0][2])
        return {row[0].hex: row[1] for row in rows if row[0] is not None}

    def _without_completed(self, connection: Connection, tasks: list[Task], pushed: dict[str, Task]) -> list[Task]:
        asked = [task for task in tasks if task.unique == "completed" and task.key is not None]
        owners = self._owners(connection, asked)
        for task in asked:
            owner = owners.get(task.key or "")
            if owner is not None and owner.state is State.COMPLETED and owner.id != task.id:
                pushed[task.id] = replace(owner, duplicate=True)
        return [task for task in tasks if task.id not in pushed]

    def _withdraw(
        self, connection: Connection, added: list[Task], states: dict[str, str], pushed: dict[str, Task]
    ) -> None:
        """What had the key a moment ago may have completed since it was looked up."""
        asked = [task for task in added if task.unique == "completed" and task.key is not None]
        owners = self._owners(connection, asked, [task.id for task in asked])
        taken = [task for task in asked if task.key in owners and owners[task.key].state is State.COMPLETED]
        if taken:
            self._database.ask(connection, "withdraw", id=[task.id for task in taken])
        for task in taken:
            del states[task.id]
            pushed[task.id] = replace(owners[task.key or ""], duplicate=True)

    def _find(self, connection: Connection, tasks: list[Task], pushed: dict[str, Task]) -> list[Task]:
        """What was not added is there already; or was, and is to be added after all: those are returned."""
        owners = self._owners(connection, tasks)
        again = []
        for task in tasks:
            owner = owners.get(task.key or "")
            if task.key is None:
                pushed[task.id] = task  # sent twice: the answer to the first was lost
            elif owner is not None and owner.id == task.id:
                pushed[task.id] = owner
            elif owner is not None and owner.state in LIVE:
                pushed[task.id] = replace(owner, duplicate=True)
            else:
                again.append(task)
        if again:  # sent twice, perhaps, and on its way to another queue meanwhile: then it has no key any more
            there = {row[0].hex for row in self._database.ask(connection, "stands", id=[task.id for task in again])}
            pushed |= {task.id: task for task in again if task.id in there}
        return [task for task in again if task.id not in pushed]

    def _owners(self, connection: Connection, tasks: list[Task], but: list[str] | None = None) -> dict[str, Task]:
        keys = sorted({task.key for task in tasks if task.key is not None})
        if not keys:
            return {}
        rows = self._database.ask(connection, "own", key=[texts.put(key) for key in keys], but=but or [])
        found = {}
        for key, task_id, state, epoch, attempts, deaths, record in rows:
            cell = Cell(State(state), epoch, attempts, deaths)
            found[texts.taken_out(key)] = task_of(record, cell, task_id.hex)
        return found


def _record(task: Task) -> str:
    """BadInput before anything is sent."""
    if task.key is not None and task.key in task.after:
        raise BadInput(f"task with key {task.key!r} is to run after itself; remove it from `after`")
    return encode(task.to_record()).decode().rstrip("\n")


def columns(tasks: list[Task], records: dict[str, str]) -> dict[str, list[Any]]:
    return {
        "id": [task.id for task in tasks],
        "waiting": [bool(task.after) for task in tasks],
        "priority": [task.priority for task in tasks],
        "key": [None if task.key is None else texts.put(task.key) for task in tasks],
        "project": [None if task.project is None else texts.put(task.project) for task in tasks],
        "labels": [texts.array(task.labels) for task in tasks],
        "not_before": [task.not_before for task in tasks],
        "max_runtime": [task.max_runtime for task in tasks],
        "record": [records[task.id] for task in tasks],
    }
