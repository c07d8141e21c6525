"""Tasks as the dashboard shows them: a row of a list, or everything on one page."""

from typing import Any

from dibs.queues.views import Claim, Detail
from dibs.serve.dashboard.writing import written
from dibs.serve.masking import HIDDEN, Hide

ROW_CHARACTERS = 180
PAGE_CHARACTERS = 200_000
_ROW = ("id", "key", "state", "priority", "project", "labels", "pushed_at", "not_before", "epoch", "attempts",
        "max_attempts", "deaths")  # fmt: skip
_FACTS = (*_ROW, "unique", "after", "max_deaths", "max_runtime", "backoff", "max_backoff")
_TITLES = ("title", "name")


def row_of(task: dict[str, Any], hide: Hide, claim: Claim | None = None) -> dict[str, Any]:
    """`task`: as `Task.to_json` gives it, and `ended_at` where that is known."""
    row = {name: task[name] for name in _ROW}
    row |= {"ended_at": task.get("ended_at"), "claim": None if claim is None else claim_of(claim)}
    return {**row, "text": line_of(task["payload"], hide)}


def title_of(payload: Any, hide: Hide) -> str:
    """What a person called it, or nothing."""
    for name in _TITLES:
        title = payload.get(name) if isinstance(payload, dict) and not hide(name) else None
        if isinstance(title, str) and title.strip():
            return title[:ROW_CHARACTERS]
    return ""


def line_of(payload: Any, hide: Hide) -> str:
    """A payload in one line: its title where it has one, else its fields without the marks of JSON."""
    if payload is None or (title := title_of(payload, hide)):
        return "" if payload is None else title
    if not isinstance(payload, dict) or not payload:
        return _bare(payload, hide)
    line = ""
    for key, value in payload.items():
        shown = HIDDEN if hide(key) else _bare(value, hide)
        line += f"{' · ' if line else ''}{key}: {shown}"
        if len(line) > ROW_CHARACTERS:
            break
    return line[:ROW_CHARACTERS]


def _bare(value: Any, hide: Hide) -> str:
    return value[:ROW_CHARACTERS] if isinstance(value, str) else written(value, ROW_CHARACTERS, hide)[0]


def claim_of(claim: Claim) -> dict[str, Any]:
    """Times in seconds since 1970."""
    return {
        "id": claim.id, "key": claim.key, "epoch": claim.epoch, "worker": claim.worker, "host": claim.host,
        "pid": claim.pid, "claimed_at": claim.claimed_at, "heartbeat_at": claim.heartbeat_at,
        "expires_at": claim.expires_at, "ttl": claim.ttl,
    }  # fmt: skip


def page_of(detail: Detail, hide: Hide) -> dict[str, Any]:
    task = detail.task.to_json()
    return {
        "task": {name: task[name] for name in _FACTS},
        "title": title_of(task["payload"], hide),
        "payload": _text(task["payload"], hide),
        "result": None if detail.result is None else _text(detail.result, hide),
        "error": detail.error[:PAGE_CHARACTERS],
        "due": detail.due,
        "ended_at": detail.ended_at,
        "claim": None if detail.claim is None else claim_of(detail.claim),
        "waits_for": [{"ref": ref, "state": state} for ref, state in detail.waits_for],
        "history": [
            {
                "epoch": event.epoch, "what": event.what, "worker": event.worker, "at": event.at,
                "error": event.error[:PAGE_CHARACTERS],
            }
            for event in detail.history
        ],
    }  # fmt: skip


def _text(value: Any, hide: Hide) -> dict[str, Any]:
    text, cut = written(value, PAGE_CHARACTERS, hide, indent=True)
    return {"text": text, "cut": cut}
