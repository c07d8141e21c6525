"""Names of records: a task's id in one piece.

"/" and what a plain file name should not have are written %XX, and a name too long is cut and ends in a hash of the
whole. No two ids share a name.
"""

import hashlib
import re

LONGEST = 180  # bytes, so that suffixes of ours and the file system's limit of 255 are far
CUT = 100
_UNFIT = re.compile(r"""[\x00-\x1f\x7f%/\\:*?"<>|]|^[.]""")


def record_name(task_id: str) -> str:
    name = _UNFIT.sub(lambda found: f"%{ord(found[0]):02X}", task_id)
    data = name.encode()
    if len(data) <= LONGEST:
        return name
    digest = hashlib.sha256(task_id.encode()).hexdigest()[:40]
    return data[:CUT].decode(errors="ignore") + "%~" + digest
