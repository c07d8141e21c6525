"""Which file system a folder is on, as the kernel says it; nobody knows where the kernel does not say."""

import os

REMOTE = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse", "ncpfs", "gfs", "ocfs")
SMB = ("cifs", "smb3")
SHARES = ("nfs", "nfs4", *SMB)
MOUNTS = "/proc/self/mounts"


def is_local(path: str, mounts: str = MOUNTS) -> bool:
    """On a disk of this machine. Elsewhere its times may be seconds old, and no events come. True if not known."""
    kind = kind_of(path, mounts)
    return kind is None or not kind.startswith(REMOTE) or kind == "fuseblk"


def on_share(path: str, mounts: str = MOUNTS) -> bool:
    """Of a file server, with clients that remember what they saw. `path` need not exist. False if not known."""
    return kind_of(path, mounts) in SHARES


def kind_of(path: str, mounts: str = MOUNTS) -> str | None:
    there = os.path.realpath(path)
    best, kind = "", None
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                fields = line.split(" ")
                where = fields[1].replace("\\040", " ").rstrip("/")
                if (there == where or there.startswith(f"{where}/")) and len(where) >= len(best):
                    best, kind = where, fields[2]
    except (OSError, IndexError):
        return None
    return kind
