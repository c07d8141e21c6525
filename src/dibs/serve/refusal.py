"""What the daemon itself has to say, besides the errors of dibs."""

from typing import Any

from dibs.errors import DibsError
from dibs.queues.remote.wire import KINDS, kind_of


class Refusal(Exception):
    """An answer that is an error; `kind` is one of `wire.KINDS`."""

    def __init__(self, kind: str, message: str, *, retry_after: int | None = None) -> None:
        """`retry_after`: in how many seconds it is of use to ask again."""
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after


class Gone(Exception):
    """The client hung up: there is nobody to answer."""


def answer_of(error: Exception) -> tuple[int, dict[str, Any]]:
    """(status, body). Of what is no error of dibs nothing but that it happened is told."""
    from dibs.redact import redact

    if isinstance(error, Refusal):
        kind, message = error.kind, str(error)
    elif isinstance(error, DibsError):
        kind, message = kind_of(error), redact(str(error))
    else:
        return 500, {"error": {"kind": "storage", "message": "internal error; the daemon's log says which"}}
    return KINDS[kind][1], {"error": {"kind": kind, "message": message}}
