"""What the daemon itself has to say, besides the errors of dibs."""

from typing import Any

from dibs.errors import DibsError
from dibs.queues.remote.wire import KINDS, kind_of


class Refusal(Exception):
    """An answer that is an error; `kind` is one of `wire.KINDS`."""

    def __init__(self, kind: str, message: str, *, retry_after: int | None = None, status: int | None = None) -> None:
        """`retry_after`: in how many seconds it is of use to ask again. `status`: if not that of its kind."""
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.status = status or KINDS[kind][1]


class Gone(Exception):
    """The client hung up: there is nobody to answer."""


def answer_of(error: Exception, queue: str = "", url: str = "") -> tuple[int, dict[str, Any]]:
    """(status, body). Of what is no error of dibs nothing but that it happened is told, and where the queue is, `url`,
    is the daemon's affair: others know it by its name."""
    from dibs.queues import split_url
    from dibs.redact import redact

    if isinstance(error, Refusal):
        return error.status, {"error": {"kind": error.kind, "message": str(error)}}
    if isinstance(error, DibsError):
        kind, message = kind_of(error), redact(str(error))
        for place in (redact(url), split_url(url)[1]) if url else ():
            message = message.replace(f" in {place};", f" in {queue};")
    else:
        return 500, {"error": {"kind": "storage", "message": "internal error; the daemon's log says which"}}
    return KINDS[kind][1], {"error": {"kind": kind, "message": message}}
