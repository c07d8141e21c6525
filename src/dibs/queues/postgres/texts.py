"""What the user's own texts look like in the database, which has no NUL in texts: the mapping is one to one."""

from collections.abc import Iterable
from uuid import UUID

from dibs.task import is_id


def put(text: str) -> str:
    if "\\" in text or "\0" in text:
        return text.replace("\\", "\\\\").replace("\0", "\\0")
    return text


def taken_out(text: str) -> str:
    if "\\" not in text:
        return text
    return "\\".join(part.replace("\\0", "\0") for part in text.split("\\\\"))


def array(texts: tuple[str, ...]) -> str:
    return literal(map(put, texts))


def literal(texts: Iterable[str]) -> str:
    """An array's: a list of lists must be rectangular, a list of literals need not be."""
    return "{" + ",".join('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts) + "}"


def id_of(found: UUID) -> str:
    return found.hex


def reference(ref: str) -> tuple[str, bool]:
    """(text, whether it is an id) of what a task is to run after."""
    return (ref, True) if is_id(ref) else (put(ref), False)
