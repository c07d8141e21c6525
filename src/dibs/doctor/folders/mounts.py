"""Which file system a folder is on, out of the kernel's own list. Reads one file; creates nothing."""

import os
import re
from stat import S_ISDIR
from typing import NamedTuple

from dibs.doctor.folders.kinds import Row, row_of
from dibs.doctor.folders.risks import Risk, risks_of
from dibs.errors import StorageError
from dibs.stores.refusal import storage_error

_LIST = "/proc/self/mountinfo"
_BY_SOURCE = ("mountpoint-s3", "blobfuse", "blobfuse2", "gcsfuse")  # FUSE that names itself there alone
_MEASURED = ("nfs", "smb", "cifs")
_MMC = "179:"
_VERSION = re.compile(r"(?:^|,)vers=([0-9.]+)")


class Mount(NamedTuple):
    kind: str  # ext4, nfs4, fuse.sshfs …; "" where the system does not say
    shown: str  # for people: NFS 4.2
    source: str
    point: str
    options: str
    row: Row
    device: str = ""  # MAJOR:MINOR

    @property
    def sd_card(self) -> bool:
        """By the number too: the disk that a machine booted from may be called /dev/root."""
        return os.path.basename(self.source).startswith("mmcblk") or self.device.startswith(_MMC)

    @property
    def risks(self) -> tuple[Risk, ...]:
        """Options with which it is not what was measured."""
        return risks_of(self.options) if self.kind.startswith(_MEASURED) else ()

    @property
    def read_only(self) -> bool:
        return "ro" in self.options.split(",")


def mount_of(path: str, listing: str | None = None) -> Mount:
    """`listing`: what the kernel would say, for tests."""
    if listing is None:
        try:
            with open(_LIST, encoding="utf-8", errors="surrogateescape") as file:
                listing = file.read()
        except OSError:
            listing = ""
    there, best = os.path.realpath(path), None
    for line in listing.splitlines():
        mount = _parsed(line)
        if mount is None or not (there + "/").startswith(mount.point.rstrip("/") + "/"):
            continue
        if best is None or len(mount.point) >= len(best.point):  # a later one at the same place covers the earlier
            best = mount
    return best or Mount("", "an unknown file system", "", "/", "", row_of(""))


def existing(place: str) -> str:
    """The place, or the nearest folder above that is there. StorageError where that cannot be known."""
    path = os.path.abspath(place)
    while True:
        try:
            if S_ISDIR(os.stat(path).st_mode):
                return path
        except (FileNotFoundError, NotADirectoryError):
            pass
        except PermissionError as error:
            raise storage_error(error, path) from error
        except OSError as error:  # a mount whose server or process is gone: what lies above is another file system
            words = f"storage refused {path}: {error.strerror or error}"
            raise StorageError(f"{words}; look at the server, and mount it again") from error
        path = os.path.dirname(path)


def _parsed(line: str) -> Mount | None:
    left, _, right = line.partition(" - ")
    fields, rest = left.split(" "), right.split(" ")
    if len(fields) < 6 or len(rest) < 3:
        return None
    source = _plain(rest[1])
    kind, shown = _named(f"fuse.{source}" if rest[0] == "fuse" and source in _BY_SOURCE else rest[0], rest[2])
    return Mount(kind, shown, source, _plain(fields[4]), f"{fields[5]},{rest[2]}", row_of(kind), fields[2])


def _named(kind: str, options: str) -> tuple[str, str]:
    """The kind with its protocol's version in it, and a name for people."""
    found = _VERSION.search(options)
    version = found[1] if found else ""
    if kind in ("nfs", "nfs4"):
        major = version[:1] or ("4" if kind == "nfs4" else "3")
        return f"nfs{version or major}" if major != "3" else "nfs", f"NFS {version or major}"
    if kind in ("cifs", "smb3"):
        return f"smb{version}" if version else kind, f"SMB {version}".strip()
    return kind, kind


def _plain(text: str) -> str:
    """Spaces and the like stand as \\040 there."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
