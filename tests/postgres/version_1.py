"""A schema as version 1 left it, with a task in every state it can be in."""

from typing import Any
from uuid import UUID

from dibs.queues.history import event_record
from dibs.queues.postgres.statements import Statements
from dibs.queues.views import Event
from dibs.task import encode

IDS = {
    name: f"0190{number:04x}{'7' * 8}{'8' * 16}"
    for number, name in enumerate(
        ("ready", "scheduled", "blocked", "claimed", "completed", "failed", "cancelled", "departed")
    )
}
DUE, SINCE, EXPIRES, ENDED = 4e9, 1.7e9, 4.1e9, 1.75e9
SESSION = "host-1-0123456789ab"
FAILED = Event(epoch=2, what="failed", worker=SESSION, at=ENDED, error="it broke")
_TASK = """
INSERT INTO {schema}.tasks (
    id, queue, state, priority, record, max_attempts, max_deaths, backoff, max_backoff,
    epoch, attempts, deaths, due, ended, since, renewed, expires, ttl, beat, keyed, awaited, holder, history, labels,
    key, project, not_before, until, max_runtime, was, moved_to, departed
) VALUES (
    %(id)s, 1, %(state)s, 70, %(record)s, 4, 6, 2, 90,
    %(epoch)s, %(attempts)s, 0, %(due)s, %(ended)s, %(since)s, %(since)s, %(expires)s, 30, 5, 1, %(awaited)s,
    %(holder)s, %(history)s, '{a,b}', %(key)s, 'p', NULL, NULL, 7, %(was)s, %(moved_to)s, %(departed)s
)
"""


def make(connection: Any, schema: str) -> None:
    statements = Statements(schema)

    def run(text: bytes, **values: Any) -> None:
        connection.execute(text.replace(b"{schema}", schema.encode()), values or None)

    connection.execute(f"CREATE SCHEMA {schema}")
    for verb in ("versions", "migrate_1"):
        connection.execute(statements.get(verb))
    run(b"INSERT INTO {schema}.versions (version, by) VALUES (1, 'dibs 0')")
    run(b"INSERT INTO {schema}.queues (name, retention) VALUES ('one', 0)")
    run(
        b"INSERT INTO {schema}.holders VALUES (1, %(session)s, 'host', 'm', 'b', 's', 1, '', NULL, '', 0, 9e9)",
        session=SESSION,
    )
    for name, task_id in IDS.items():
        run(_TASK.encode(), **_row(name, task_id))
    run(
        b"INSERT INTO {schema}.waits VALUES (1, %(ref)s, true, %(task)s)",
        ref=IDS["claimed"],
        task=UUID(IDS["blocked"]),
    )


def _row(name: str, task_id: str) -> dict[str, Any]:
    record = {"id": task_id, "payload": name, "key": name, "priority": 70, "project": "p", "labels": ["a", "b"]}
    record |= {
        "max_attempts": 4,
        "max_deaths": 6,
        "backoff": 2,
        "max_backoff": 90,
        "max_runtime": 7,
        "pushed_at": 1.6e9,
    }
    if name == "blocked":
        record["after"] = [IDS["claimed"]]
    leaving = name == "departed"
    return {
        "id": UUID(task_id),
        "state": "leaving" if leaving else name,
        "record": encode(record).decode().rstrip("\n"),
        "epoch": 0 if name in ("ready", "blocked") else 2,
        "attempts": 1 if name == "failed" else 0,
        "due": DUE if name in ("scheduled", "departed") else 0,
        "ended": ENDED if name in ("completed", "failed", "cancelled") else 0,
        "since": SINCE if name in ("claimed", "completed") else 0,
        "expires": EXPIRES if name in ("claimed", "completed") else 0,
        "awaited": name == "claimed",
        "holder": SESSION if name in ("claimed", "completed") else "",
        "history": [encode(event_record(FAILED)).decode().rstrip("\n")] if name == "failed" else [],
        "key": None if leaving else name,
        "was": "scheduled" if leaving else None,
        "moved_to": "file:elsewhere" if leaving else None,
        "departed": 3.5 if leaving else None,
    }
