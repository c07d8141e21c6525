"""What each answer of the API looks like, as JSON Schema: for its description, by the name of the route."""

from typing import Any

from dibs.queues.views import Capabilities
from dibs.states import State
from dibs.values import field_names

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
ANY: Schema = {}


def _or_null(kind: Schema) -> Schema:
    return {"type": [kind["type"], "null"]} if "type" in kind else {"anyOf": [kind, {"type": "null"}]}


def _list(kind: Schema) -> Schema:
    return {"type": "array", "items": kind}


def _map(kind: Schema) -> Schema:
    return {"type": "object", "additionalProperties": kind}


def _object(_optional: Schema | None = None, **fields: Schema) -> Schema:
    known = {**fields, **(_optional or {})}
    return {"type": "object", "properties": known, "required": list(fields), "additionalProperties": False}


def _named(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_STATE: Schema = {"enum": [str(state) for state in State]}
_COUNTS = _map(WHOLE)
SCHEMAS: dict[str, Schema] = {
    "Task": _object(
        id=TEXT, payload=ANY, key=_or_null(TEXT), unique=TEXT, priority=WHOLE, project=_or_null(TEXT),
        labels=_list(TEXT), after=_list(TEXT), not_before=_or_null(NUMBER), max_attempts=WHOLE, max_deaths=WHOLE,
        max_runtime=_or_null(NUMBER), backoff=NUMBER, max_backoff=NUMBER, pushed_at=NUMBER, state=_STATE, epoch=WHOLE,
        attempts=WHOLE, deaths=WHOLE,
    ),
    "Lease": _object(id=TEXT, epoch=WHOLE, worker=TEXT, ttl=NUMBER, left=NUMBER, task=_named("Task")),
    "Claim": _object(
        id=TEXT, key=_or_null(TEXT), epoch=WHOLE, worker=TEXT, host=TEXT, pid=_or_null(WHOLE), claimed_at=TEXT,
        heartbeat_at=TEXT, expires_at=TEXT, ttl=NUMBER, via=_or_null(TEXT),
    ),
    "Event": _object({"error": TEXT, "result": ANY}, epoch=WHOLE, what=TEXT, worker=TEXT, at=TEXT),
    "Detail": _object(
        task=_named("Task"), due=_or_null(TEXT), claim=_or_null(_named("Claim")), history=_list(_named("Event")),
        result=ANY, error=TEXT, ended_at=_or_null(TEXT), waits_for=_list(_object(ref=TEXT, state=TEXT)),
        paused=_or_null(TEXT),
    ),
    "Stats": _object(
        states=_COUNTS, priorities=_map(_COUNTS), projects=_map(_COUNTS), labels=_map(_COUNTS), workers=WHOLE,
        paused=_or_null(TEXT), total=WHOLE,
    ),
    "Why": _object(id=TEXT, state=_STATE, text=TEXT, ready_at=_or_null(TEXT)),
    "Capabilities": _object(**dict.fromkeys(field_names(Capabilities), FLAG)),
}  # fmt: skip
_NOTHING = _object()
ANSWERS: dict[str, Schema] = {
    "queues": _object(queues=_list(TEXT)),
    "healthz": _object(ok=FLAG, version=TEXT),
    "readyz": _object(ready=FLAG),
    "search-everywhere": _object(
        found=WHOLE, tasks=_list(_object(queue=TEXT, score=_or_null(NUMBER), task=_named("Task"))), without=_map(TEXT)
    ),
    "about": _object(name=TEXT, identity=TEXT, capabilities=_named("Capabilities"), paused=_or_null(TEXT)),
    "time": _object(time=NUMBER),
    "stats": _named("Stats"),
    "claimed": _object(claims=_list(_named("Claim"))),
    "push": _object(tasks=_list(_object({"task": _named("Task")}, id=TEXT, state=_STATE, duplicate=FLAG))),
    "tasks": _object(tasks=_list(_named("Task")), next=_or_null(TEXT)),
    "search": _object(found=WHOLE, tasks=_list(_object(score=_or_null(NUMBER), task=_named("Task")))),
    "get": _named("Task"),
    "detail": _named("Detail"),
    "why": _named("Why"),
    "lease": _named("Lease"),
    "claim": _object(leases=_list(_named("Lease")), waited=NUMBER),
    "renew": _object(left=NUMBER, worker=TEXT),
    "complete": _object(lease=_or_null(_named("Lease"))),
    "fail": _NOTHING,
    "release": _NOTHING,
    "end": _NOTHING,
    "complete_many": _object(lost=_list(_object(id=TEXT, epoch=WHOLE))),
    "cancel": _named("Task"),
    "retry": _named("Task"),
    "prioritise": _named("Task"),
    "pause": _NOTHING,
    "resume": _NOTHING,
    "purge": _object(purged=WHOLE),
    "leave": _NOTHING,
}
