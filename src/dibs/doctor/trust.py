"""May a worker start here? What is known of the place, against who is at work there already.

A look at the mount, the doctor's note and the sessions; nothing is tried, so it costs no more than a few reads.
"""

import os

from dibs.doctor import note
from dibs.doctor.examining import folder_of
from dibs.doctor.folders.ground import existing
from dibs.doctor.folders.mounts import mount_of
from dibs.doctor.report import Verdict
from dibs.errors import BadInput
from dibs.host import Host
from dibs.queues import split_url
from dibs.task import decode
from dibs.values import dataclass

SILENT_SECONDS = 120.0
_FOLDERS = ("file", "dir", "specs")


@dataclass(frozen=True, slots=True)
class Trust:
    refusal: str = ""  # why nobody should work here
    hint: str = ""  # worth a line


def trust(url: str, host: Host, now: float) -> Trust:
    """`now`: by the storage's own clock, as `store_time` of the queue says."""
    scheme = split_url(url)[0]
    if scheme not in _FOLDERS:
        return Trust()
    folder = folder_of(url)
    mount, left = mount_of(existing(folder)), note.found(existing(folder))
    if left is not None and left.verdict is Verdict.UNSAFE:
        return Trust(refusal=f"the doctor found on {left.at} that {folder} is not safe: {left.reason}")
    for_one = left.verdict is Verdict.ONE if left is not None else mount.row.shared and mount.row.reach == "one"
    if for_one and scheme == "file" and (other := _other_host(folder, host, now)):
        why = left.reason if left is not None else f"{mount.shown}: {mount.row.why}"
        return Trust(refusal=f"{folder} is safe on one host only ({why}), and {other} works on it")
    if left is None and mount.kind and mount.row.shared:
        return Trust(hint=f"the doctor has not seen this {mount.shown} yet; `dibs doctor {folder}` tries it out")
    return Trust()


def _other_host(folder: str, host: Host, now: float) -> str:
    """The name of another host with a worker here that has beaten of late."""
    workers = f"{folder}/workers"
    try:
        names = os.listdir(workers)
    except OSError:
        return ""
    for name in names:
        path = f"{workers}/{name}"
        try:
            with open(path, "rb") as file:
                record = decode(file.read())
            fresh = now - os.stat(path).st_mtime < max(SILENT_SECONDS, 2 * float(record["ttl"]))
            other = record["machine"] != host.machine and record["boot"].split("/")[0] != host.boot.split("/")[0]
            if fresh and other and not record.get("ended"):
                return str(record["host"])
        except (OSError, BadInput, KeyError, TypeError, ValueError, AttributeError):
            continue
    return ""
