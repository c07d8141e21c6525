"""What the daemon says about itself while it runs: one line an event, as text or JSON. Never a token, never a payload;
of a request its route, not its path, in which keys of tasks may stand.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from dibs.clock import SYSTEM, Clock, iso
from dibs.redact import redact

LEVELS = ("debug", "info", "warning", "error")
FORMS = ("text", "json")


def to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a daemon's log goes there


class Log:
    """Called with a line, it is an error."""

    def __init__(
        self,
        write: Callable[[str], None] = to_stderr,
        form: str = "text",
        level: str = "info",
        clock: Clock = SYSTEM,
    ) -> None:
        self._write = write
        self._form = form
        self._least = LEVELS.index(level)
        self._clock = clock
        self.debugs = self._least == 0

    def __call__(self, line: str) -> None:
        self.note("error", line)

    def note(self, level: str, event: str, **fields: Any) -> None:
        """Fields that are None are left out."""
        if LEVELS.index(level) < self._least:
            return
        told = {name: redact(str(value)) if isinstance(value, Exception) else value for name, value in fields.items()}
        told = {name: value for name, value in told.items() if value is not None}
        if self._form == "json":
            now = iso(self._clock.wall())
            self._write(json.dumps({"at": now, "level": level, "event": redact(event), **told}, default=str))
            return
        rest = "".join(f" {name}={_shown(value)}" for name, value in told.items())
        self._write(f"dibs: {redact(event)}{rest}")


def _shown(value: Any) -> str:
    text = str(value)
    return text if text and text.isprintable() and " " not in text else json.dumps(text, ensure_ascii=False)
