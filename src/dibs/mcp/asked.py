"""What a client may ask: the arguments of each tool. Their JSON schema is made from these, and so is the check.

An argument that is not known is refused, so that a mistake cannot go unseen; a payload is taken as it is.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from dibs.queues.queue import MAX_TTL

DEFAULT_LIMIT = 50
MAX_LIMIT = 200


def _list(value: Any) -> Any:
    """Some clients send a list as JSON in a string."""
    if isinstance(value, str) and value.startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


_JSON = WithJsonSchema({"type": ["object", "array", "string", "number", "boolean", "null"]})
Json = Annotated[Any, _JSON]
Names = Annotated[list[str], BeforeValidator(_list)]
Priority = Annotated[int | str, WithJsonSchema({"type": ["integer", "string"]})]
StateName = Literal["ready", "scheduled", "blocked", "claimed", "completed", "failed", "cancelled"]


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    queue: str | None = Field(None, description="which queue: one of the names served here; default the first")


class _Chosen(Asked):
    project: str | None = Field(None, description="only tasks of this project")
    labels: Names = Field([], description="only tasks that have all of these labels")


class Ready(_Chosen):
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="at most this many")


class Listed(Ready):
    state: StateName | None = Field(None, description="only tasks in this state")


class One(Asked):
    id: str = Field(description="the task's id or key")


class Add(Asked):
    title: str | None = Field(None, description="what is to be done, in a line; the payload is then {title, body}")
    body: str | None = Field(None, description="the whole text, with title; markdown is usual")
    payload: Json = Field(None, description="any JSON value instead of title and body, kept as it is")
    key: str | None = Field(
        None, description="your own name for the task; while a live task has it, adding it again adds nothing"
    )
    priority: Priority = Field(50, description="low (0), normal (50), high (100), critical (200) or 0 to 9999")
    project: str | None = Field(None, description="a name to choose by")
    labels: Names = Field([], description="words to choose by")
    after: Names = Field([], description="ids or keys of tasks that must be completed first")


class Claim(_Chosen):
    max_priority: Priority | None = Field(None, description="only up to this priority")
    ttl: float | None = Field(
        None,
        ge=1,
        le=MAX_TTL,
        description="seconds after which others may have it should this machine vanish; it is renewed by itself",
    )


class Held(Asked):
    id: str = Field(description="the task's id (or key), as claim_task gave it")
    epoch: int = Field(ge=1, description="the epoch, as claim_task gave it")


class Complete(Held):
    result: Json = Field(None, description="any JSON value to keep with it, such as a summary of what was done")


class Fail(Held):
    error: str = Field(min_length=1, description="what went wrong; kept in the task's history")
    retry: bool = Field(True, description="false: do not try again, whatever attempts are left")


class Release(Held):
    delay: float = Field(0.0, ge=0, description="seconds before it is ready again")
