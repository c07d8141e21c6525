"""May a worker start here? What is known of the place, against who is at work there already.

A look at the mount, the doctor's note and the sessions; nothing is tried, so it costs no more than a few reads.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.doctor import note
from dibs.doctor.folders.mounts import Mount, existing, mount_of
from dibs.doctor.machines import other_machine
from dibs.doctor.place import folder_of, named, settings
from dibs.doctor.report import Verdict
from dibs.errors import BadInput, StorageError
from dibs.host import Host
from dibs.queues import split_url
from dibs.specs.view import LOCK, locks_of
from dibs.stores.shared import file_store
from dibs.task import decode
from dibs.values import dataclass

SILENT_SECONDS = 120.0
_SLACK_SECONDS = 10.0  # in which a stamp may be off
FOLDERS = ("file", "dir", "specs")
_LEASE = ".lease"  # of a task of `dir:` that is held
_FOR_ONE = ("one", "none")
_KNOWN = {"one": "it is for one host only", "none": "it is not safe"}
_ELSEWHERE = "use another place (docs/guides/choosing.md)"


@dataclass(frozen=True, slots=True)
class Trust:
    refusal: str = ""  # why nobody should work here
    hint: str = ""  # worth a line
    remedy: str = _ELSEWHERE  # of the refusal


def trust(url: str, host: Host, now: Callable[[], float], clock: Clock = SYSTEM, *, at_work: bool = False) -> Trust:
    """`now`: the storage's own clock, as `store_time` of the queue says. `at_work`: it works here already; of two hosts
    that do, one may go on."""
    scheme = split_url(url)[0]
    if scheme not in FOLDERS:
        return Trust()
    folder = folder_of(url)
    locks = scheme != "file"
    mount, left = mount_of(existing(folder)), note.found(existing(folder))
    verdict, why = (left.verdict(locks=locks), left.reason(locks=locks)) if left is not None else _by_mount(mount)
    risk = next((one for one in mount.risks if locks or not one.locks), None)  # of this host's mount, whoever looked
    if risk is not None and verdict is not Verdict.UNSAFE:
        verdict, why = Verdict.ONE, f"{risk.option}: {risk.why}"
    again = f"run `dibs doctor {folder}` again if that is mended, {_ELSEWHERE}"
    if left is not None and verdict is Verdict.UNSAFE:
        return Trust(refusal=f"the doctor found on {left.at} that {folder} is not safe: {why}", remedy=again)
    if left is not None and left.steps == "marker" and scheme == "file" and not _has_markers(folder):
        return Trust(
            refusal=f"the doctor found on {left.at} that steps need markers in {folder}, and this queue goes without",
            remedy=f"dibs move {folder} '{folder}-marked?steps=marker', and work on that",
        )
    if scheme == "specs" and settings(url).get("git"):
        return Trust()  # the remote decides who has what
    if verdict is Verdict.ONE and (other := _other_host(_SESSIONS[scheme](url), host, now, clock, at_work)):
        refusal = f"{folder} is safe on one host only ({why}), and {other} works on it"
        mended = f"mount it without {risk.option}" if risk is not None else again if left is not None else _ELSEWHERE
        return Trust(refusal=refusal, remedy=mended)
    if left is None and (path := note.unreadable(existing(folder))):
        return Trust(hint=f"the doctor's note {path} cannot be read; `dibs doctor {folder}` writes another")
    if left is None and mount.kind and mount.row.shared:
        known = _KNOWN.get(mount.row.reach, "")
        known = f": {known}, as {mount.row.why}; {mount.row.remedy}" if known else ""
        return Trust(hint=f"the doctor has not seen this {mount.shown} yet{known}; `dibs doctor {folder}` tries it out")
    return Trust()


def _by_mount(mount: Mount) -> tuple[Verdict, str]:
    """What is known where no doctor has been. On a disk of its own nobody meets another host."""
    for_one = mount.row.shared and mount.row.reach in _FOR_ONE
    return (Verdict.ONE, f"{mount.shown}: {mount.row.why}") if for_one else (Verdict.NONE, "")


def _has_markers(folder: str) -> bool:
    try:
        with open(f"{folder}/dibs.json", "rb") as file:
            return bool(decode(file.read()).get("steps") == "marker")
    except FileNotFoundError:
        return True  # it will be made with them
    except (OSError, BadInput, AttributeError):
        return False


def _other_host(
    sessions: Iterator[tuple[str, Any]], host: Host, now: Callable[[], float], clock: Clock, at_work: bool
) -> str:
    """The name of another host with a worker here that has beaten of late. Where this one has too, the lower boot
    stays: all see the same, and nobody need tell the other."""
    here, asked, others = False, 0.0, []
    for path, record in sessions:
        try:
            asked = asked or now()  # which takes a write
            beat = os.stat(path).st_mtime
            since_boot = beat > asked - clock.boottime() + _SLACK_SECONDS
            if record.get("ended") or asked - beat >= max(SILENT_SECONDS, 2 * float(record["ttl"])):
                continue
            if other_machine(record, host, since_boot=since_boot):
                others.append((str(record["boot"]), str(record["host"])))
            here = here or record["boot"] == host.boot
        except (OSError, KeyError, TypeError, ValueError, AttributeError):
            continue
    if not others or (at_work and here and host.boot < min(others)[0]):
        return ""
    return min(others)[1]


def _workers(url: str) -> Iterator[tuple[str, Any]]:
    """Of `file:`: a file for each session."""
    for path in _files(f"{folder_of(url)}/workers"):
        try:
            with open(path, "rb") as file:
                yield path, decode(file.read())
        except (OSError, BadInput):
            continue


def _holders(url: str) -> Iterator[tuple[str, Any]]:
    """Of `dir:`: in the lease of each task that is held."""
    return _held(folder_of(url), _LEASE)


def _lockers(url: str) -> Iterator[tuple[str, Any]]:
    """Of `specs:`: in the lock of each spec that is held."""
    return _held(settings(url).get("locks") or locks_of(named(url)), LOCK)


def _held(folder: str, ending: str) -> Iterator[tuple[str, Any]]:
    store = file_store(folder)
    for path in _files(folder, ending):
        try:
            yield path, decode(store.read(path))["lease"]
        except (StorageError, BadInput, KeyError, TypeError):
            continue


def _files(folder: str, ending: str = "") -> list[str]:
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(ending)]
    except OSError:
        return []


_SESSIONS: dict[str, Callable[[str], Iterator[tuple[str, Any]]]] = {
    "file": _workers,
    "dir": _holders,
    "specs": _lockers,
}
