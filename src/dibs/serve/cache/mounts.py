"""Whether a folder is on a disk of this machine. Elsewhere its times may be seconds old, and no events come."""

import os

REMOTE = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse", "ncpfs", "gfs", "ocfs")
MOUNTS = "/proc/self/mounts"


def is_local(path: str, mounts: str = MOUNTS) -> bool:
    """True where it cannot be known."""
    kind = _kind_of(os.path.realpath(path), mounts)
    return kind is None or not kind.startswith(REMOTE) or kind == "fuseblk"


def _kind_of(path: str, mounts: str) -> str | None:
    best, kind = "", None
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                fields = line.split(" ")
                where = fields[1].replace("\\040", " ").rstrip("/")
                if (path == where or path.startswith(f"{where}/")) and len(where) >= len(best):
                    best, kind = where, fields[2]
    except (OSError, IndexError):
        return None
    return kind
