"""How the leases of a task ended, as kept in its record. Of a long history the newest part is kept."""

from collections.abc import Mapping
from typing import Any

from dibs.queues.views import Event

LONGEST = 50


def lengthened(history: tuple[Event, ...], event: Event | None) -> tuple[Event, ...]:
    return history if event is None else (*history, event)[-LONGEST:]


def event_record(event: Event) -> dict[str, Any]:
    record: dict[str, Any] = {"epoch": event.epoch, "what": event.what, "worker": event.worker, "at": event.at}
    if event.error:
        record["error"] = event.error
    if event.result is not None:
        record["result"] = event.result
    return record


def event_of(record: Mapping[str, Any]) -> Event:
    """Raises KeyError, TypeError or ValueError when it is none."""
    return Event(
        epoch=int(record["epoch"]),
        what=str(record["what"]),
        worker=str(record["worker"]),
        at=float(record["at"]),
        error=str(record.get("error", "")),
        result=record.get("result"),
    )
