"""What goes over the wire between a daemon and its clients, both ways: JSON, in the forms that `--json` prints.

An error is `{"error": {"kind": …, "message": …}}`; the kind says which exception it is, here and there.
"""

import json
from typing import Any

from dibs import errors
from dibs.clock import parse_time
from dibs.errors import BadInput, DibsError
from dibs.queues.views import Claim, Detail, Event, Stats, Why
from dibs.states import Cell, State
from dibs.task import Task, task_from_record

PORT = 8750
MOST_BYTES = 64 * 1024 * 1024  # of a body that is sent to a daemon
KEY_HEADER = "Idempotency-Key"
ATTEMPT_HEADER = "Dibs-Attempt"  # from 2 on the answer to an earlier one was lost
# the kind of an error -> (its exception, status of the answer)
KINDS: dict[str, tuple[type[DibsError], int]] = {
    "bad-input": (errors.BadInput, 400),
    "not-found": (errors.TaskNotFound, 404),
    "lease-lost": (errors.LeaseLost, 409),
    "refused": (errors.Refused, 409),
    "unsupported": (errors.Unsupported, 501),
    "format": (errors.FormatError, 503),
    "missing-extra": (errors.MissingExtra, 503),
    "storage": (errors.StorageError, 503),
    "unauthorized": (errors.StorageError, 401),
    "forbidden": (errors.Unsupported, 403),  # no outage: it will not pass
    "no-queue": (errors.StorageError, 404),
    "no-route": (errors.StorageError, 404),
    "no-method": (errors.StorageError, 405),
    "too-slow": (errors.StorageError, 408),
    "too-large": (errors.BadInput, 413),
    "no-json": (errors.BadInput, 415),
    "busy": (errors.StorageError, 429),
    "stopping": (errors.StorageError, 503),
}
_STANDING = frozenset({"state", "epoch", "attempts", "deaths"})
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def dump(value: Any) -> bytes:
    """BadInput says why a value cannot be written. How deep a payload may be is for the queue behind to say."""
    try:
        return _dump(value).encode()
    except RecursionError:
        raise BadInput("payload is nested too deep; flatten it") from None
    except (TypeError, ValueError) as error:
        raise BadInput(f"payload is not JSON: {error}; use dicts, lists, strings, numbers, booleans, null") from None


def too_large(most: int) -> str:
    """Said by the client, since a daemon that hangs up in the middle of a body is not heard; else by the daemon."""
    return f"the body is larger than {most} bytes; send less at a time"


def kind_of(error: DibsError) -> str:
    return next((kind for kind, (known, _) in KINDS.items() if isinstance(error, known)), "storage")


def error_of(body: Any, status: int) -> tuple[str, DibsError]:
    """(kind, what is to be raised) of an answer that is an error."""
    try:
        kind, message = str(body["error"]["kind"]), str(body["error"]["message"])
    except (KeyError, TypeError):
        kind, message = "storage", f"the daemon answered {status} without saying why"
    raised = KINDS.get(kind, (errors.StorageError, 0))[0]
    return kind, raised(message)


def task_of(record: Any) -> Task:
    """Raises BadInput, KeyError, TypeError or ValueError when it is none."""
    return task_from_record(*parts_of(record))


def parts_of(record: Any) -> tuple[dict[str, Any], Cell]:
    """What a task is made of, for whoever may never ask for all of it."""
    stored = {name: value for name, value in record.items() if name not in _STANDING and value is not None}
    stored.setdefault("payload", None)
    return stored, Cell(State(record["state"]), int(record["epoch"]), int(record["attempts"]), int(record["deaths"]))


def claim_of(record: Any) -> Claim:
    times = {name: parse_time(record[name]) for name in ("claimed_at", "heartbeat_at", "expires_at")}
    return Claim(**{**record, **times})


def event_of(record: Any) -> Event:
    return Event(**{**record, "at": parse_time(record["at"])})


def detail_of(record: Any) -> Detail:
    return Detail(
        task=task_of(record["task"]),
        due=_time_of(record["due"]),
        claim=None if record["claim"] is None else claim_of(record["claim"]),
        history=tuple(event_of(event) for event in record["history"]),
        result=record["result"],
        error=record["error"],
        ended_at=_time_of(record["ended_at"]),
        waits_for=tuple((waits["ref"], waits["state"]) for waits in record["waits_for"]),
        paused=record["paused"],
    )


def stats_of(record: Any) -> Stats:
    fields = {name: value for name, value in record.items() if name != "total"}
    fields["priorities"] = {int(priority): counts for priority, counts in record["priorities"].items()}
    return Stats(**fields)


def why_of(record: Any) -> Why:
    return Why(**{**record, "ready_at": _time_of(record["ready_at"])})


def _time_of(text: str | None) -> float | None:
    return None if text is None else parse_time(text)
