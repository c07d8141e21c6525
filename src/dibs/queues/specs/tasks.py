"""Specs as tasks, and tasks as specs.

A spec's payload is what a worker needs to know of it: path, title, type, the fields that dibs does not know, and where
its file is at hand (not in lists) the text.
A task that was pushed with a `title` (and perhaps a `body`) becomes a spec as a person would write it. Any other
payload is kept as JSON in the field `payload`, and comes back as it was.
"""

from typing import Any

from dibs.clock import Clock, iso
from dibs.errors import BadInput
from dibs.queues.lockfiles.limits import Limits
from dibs.specs.catalog import IGNORED
from dibs.specs.fields import READINGS
from dibs.specs.frontmatter import body, edit
from dibs.specs.ids import SUFFIX, checked_id, new_id
from dibs.specs.spec import Spec
from dibs.task import PRIORITIES, Task, decode, encode

PAYLOAD = "payload"
FREE = {"type", "approval", "members"}  # what push has no argument for
_DEFAULTS = Task(id="")
_NAMES = {value: name for name, value in PRIORITIES.items()}
_SAME_NAME = ("project", "max_attempts", "max_deaths", "max_runtime", "backoff", "max_backoff")


def task_of(spec: Spec, limits: Limits, data: bytes | None = None) -> Task:
    return Task(
        id=spec.id,
        key=spec.id,
        payload=payload_of(spec, data),
        priority=spec.priority,
        project=spec.project,
        labels=tuple(sorted(spec.labels)),
        after=spec.waits_for,
        not_before=spec.not_before,
        max_attempts=spec.max_attempts or limits.max_attempts,
        max_deaths=spec.max_deaths or limits.max_deaths,
        max_runtime=spec.max_runtime or limits.max_runtime,
        backoff=limits.backoff if spec.backoff is None else spec.backoff,
        max_backoff=limits.max_backoff if spec.max_backoff is None else spec.max_backoff,
    )


def payload_of(spec: Spec, data: bytes | None) -> Any:
    pushed = spec.more.get(PAYLOAD)
    if isinstance(pushed, str):
        try:
            return decode(pushed.encode())
        except BadInput:
            pass
    known = {"path": spec.path, "title": spec.title, "type": spec.type}
    if data is not None:
        known["body"] = body(data).decode(errors="replace")
    return {**spec.more, **{name: value for name, value in known.items() if value is not None}}


def page_of(task: Task, clock: Clock) -> tuple[str, bytes]:
    """The id and the file of a task that is pushed. BadInput says why it cannot be a spec."""
    encode(task.payload)
    fields: dict[str, Any] = {"status": "pending"}
    if task.priority != _DEFAULTS.priority:
        fields |= prioritised(task.priority)
    fields |= {
        name: value for name in _SAME_NAME if (value := getattr(task, name)) != getattr(_DEFAULTS, name)
    }  # as the task says, where it says anything
    if task.labels:
        fields["labels"] = list(task.labels)
    if task.after:
        fields["depends_on"] = [checked_id(ref) for ref in task.after]
    if task.not_before is not None:
        fields["not_before"] = iso(task.not_before)
    title, text, more = _parts(task)
    fields |= more
    name = checked_id(task.key) if task.key is not None else new_id(title, clock.wall()) if title else task.id
    if f"{name}{SUFFIX}".lower() == IGNORED:
        raise BadInput(f"spec {name!r} would never be run: a README is no spec; push it under another key")
    if name in task.after:
        raise BadInput(f"spec {name!r} is to run after itself; remove it from `after`")
    page = f"---\n---\n# {title or name}\n" + (f"\n{text.strip()}\n" if text.strip() else "")
    return name, edit(page.encode(), fields)


def prioritised(priority: int) -> dict[str, Any]:
    """The field as people write it."""
    return {"priority": _NAMES.get(priority, priority)}


def _parts(task: Task) -> tuple[str, str, dict[str, Any]]:
    """Title, body and further fields."""
    payload = task.payload
    if not isinstance(payload, dict) or not isinstance(payload.get("title"), str):
        return "", "", {} if payload is None else {PAYLOAD: encode(payload).decode().rstrip("\n")}
    title = " ".join(payload["title"].split())
    text = payload.get("body", "")
    more = {name: value for name, value in payload.items() if name not in ("title", "body")}
    if known := sorted(set(more) & ({*READINGS, PAYLOAD, "path"} - FREE)):
        raise BadInput(f"field {known[0]!r} cannot stand in a spec's payload; dibs sets it itself, or give it to push")
    if not title or not isinstance(text, str):
        raise BadInput("a spec needs a title that is not empty, and a body that is text")
    return title, text, more
