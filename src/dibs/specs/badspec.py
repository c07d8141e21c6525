"""The error for a spec file that cannot be read, or not be changed safely."""

from dibs.errors import BadInput


class BadSpec(BadInput):
    """`reason` says what is wrong, `line` where (1 is the file's first line; None: no one line)."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason = reason
        self.line = line

    def __reduce__(self) -> tuple[type["BadSpec"], tuple[str, int | None]]:
        return BadSpec, (self.reason, self.line)
