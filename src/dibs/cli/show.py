"""One task for people: everything known about it, as lines."""

from __future__ import annotations

import json
from typing import Any

from dibs.cli.output import clean
from dibs.cli.tables import pairs, table
from dibs.clock import iso
from dibs.queues.views import Claim, Detail
from dibs.queues.why import held_by, seconds


def lines_of(detail: Detail) -> list[str]:
    lines = pairs([*_task(detail), *(_claim(detail.claim) if detail.claim else ())])
    if detail.history:
        rows = [(event.epoch, event.what, iso(event.at), event.worker, event.error) for event in detail.history]
        lines += ["", *table(("EPOCH", "ENDED", "AT", "WORKER", "ERROR"), rows, right=(0,))]
    lines += ["", "payload", *_pretty(detail.task.payload)]
    if detail.result is not None:
        lines += ["", "result", *_pretty(detail.result)]
    return lines


def _task(detail: Detail) -> list[tuple[str, Any]]:
    task = detail.task
    return [
        ("id", task.id),
        ("key", task.key),
        ("state", task.state),
        ("priority", task.priority),
        ("project", task.project),
        ("labels", task.labels),
        ("pushed", iso(task.pushed_at) if task.pushed_at else None),
        ("due", detail.due and iso(detail.due)),
        ("ended", detail.ended_at and iso(detail.ended_at)),
        ("epoch", task.epoch),
        ("attempts", f"{task.attempts} of {task.max_attempts} used"),
        ("deaths", f"{task.deaths} of {task.max_deaths}" if task.deaths else None),
        ("max runtime", task.max_runtime and seconds(task.max_runtime)),
        ("after", tuple(f"{ref} ({state})" for ref, state in detail.waits_for)),
        ("error", detail.error),
        ("paused", None if detail.paused is None else detail.paused or "yes"),
    ]


def _claim(claim: Claim) -> list[tuple[str, Any]]:
    return [
        ("held by", held_by(claim)),
        ("since", iso(claim.claimed_at)),
        ("heartbeat", iso(claim.heartbeat_at)),
        ("expires", iso(claim.expires_at)),
    ]


def _pretty(value: Any) -> list[str]:
    return ["  " + clean(line) for line in json.dumps(value, ensure_ascii=False, indent=2).split("\n")]
