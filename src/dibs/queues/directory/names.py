"""Names in a `dir:` queue: from a file to its task's id, and from the id to its lease.

The id is the file's path below the folder, with "/" on every system. Bytes that are no UTF-8 are written %XX in it, and
so is a % that would read as such. A record's name is the id in one piece: "/" and what a
plain file name should not have are written %XX, and a name too long is cut and ends in a hash of the whole.
Both are one to one: no two files share an id, no two ids share a name.
"""

import hashlib
import os
import re

LONGEST = 180  # bytes, so that suffixes of ours and the file system's limit of 255 are far
CUT = 100
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
_UNFIT = re.compile(r"""[\x00-\x1f\x7f%/\\:*?"<>|]|^[.]""")


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


def record_name(task_id: str) -> str:
    name = _UNFIT.sub(lambda found: f"%{ord(found[0]):02X}", task_id)
    data = name.encode()
    if len(data) <= LONGEST:
        return name
    digest = hashlib.sha256(task_id.encode()).hexdigest()[:40]
    return data[:CUT].decode(errors="ignore") + "%~" + digest


def is_ignored(name: str) -> bool:
    """Hidden files, editors' back-ups and downloads under way are no tasks."""
    return name.startswith(".") or name.endswith(("~", ".tmp", ".part"))
