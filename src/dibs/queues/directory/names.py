"""Names in a `dir:` queue: from a file to its task's id, and back.

The id is the file's path below the folder, with "/" on every system. Bytes that are no UTF-8 are written %XX in it, and
so is a % that would read as such: no two files share an id.
"""

import os
import re

_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


def id_of(path: str) -> str:
    """The id of a relative path as the system gives it (undecodable bytes as surrogates)."""
    text = _ESCAPED.sub(r"%25\1", path)
    if text.isascii():
        return text
    return "".join(f"%{ord(char) - 0xDC00:02X}" if "\udc80" <= char <= "\udcff" else char for char in text)


def path_of(task_id: str) -> str:
    """The relative path of an id."""
    if "%" not in task_id:
        return task_id
    texts_and_codes = _ESCAPED.split(task_id)
    parts = [bytes.fromhex(part) if odd % 2 else part.encode() for odd, part in enumerate(texts_and_codes)]
    return os.fsdecode(b"".join(parts))


def is_path(text: str) -> bool:
    """True when it can be the path of a file below the folder."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text and all(part not in ("", ".", "..") for part in text.split("/"))


def is_ignored(name: str) -> bool:
    """Hidden files, editors' back-ups and downloads under way are no tasks."""
    return name.startswith(".") or name.endswith(("~", ".tmp", ".part"))
