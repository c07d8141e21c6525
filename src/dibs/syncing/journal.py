"""What this site has reserved, and how far it is with each: one file of JSON lines, one syncer at a time.

    sync/site                                         a name for this queue, unlike any other's
    sync/<code of the shared queue>/journal.jsonl     in the folder of the local queue
    sync/<code>/conflicts.jsonl                       what could not be told, for people
    sync/<code>/lock                                  held (flock) while a syncer runs: it ends with its process

A line is the latest word on one task. Lines are on disk before what follows from them is done. A torn line is
the last one, and is cut off; the file is written anew when most of it is old.
"""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from errno import ENOSPC
from typing import Any, NamedTuple

from dibs.errors import BadInput, Refused, StorageError
from dibs.task import decode, encode

RESERVED = "reserved"  # leased there; perhaps not here yet
HERE = "here"  # to be done here
LEAVING = "leaving"  # being taken out of the local queue again
TOLD = "told"  # over, and known there
GONE = "gone"
ROOM = 1000


class Entry(NamedTuple):
    id: str
    epoch: int  # of the lease there
    state: str
    renewed: float = 0.0  # by the shared queue's clock


def site_of(root: str) -> str:
    """The same for every syncer of a local queue."""
    path = f"{root}/sync/site"
    try:
        os.makedirs(f"{root}/sync", exist_ok=True)
        if not os.path.exists(path):
            fresh = f"{path}.{os.urandom(4).hex()}"
            with open(fresh, "wb") as file:
                file.write(os.urandom(3).hex().encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(fresh, path)
            os.unlink(fresh)
        with open(path, encoding="ascii", errors="replace") as file:
            name = file.read().strip()
    except OSError as error:
        raise StorageError(f"cannot keep {path}: {error.strerror}; look at the folder") from None
    if re.fullmatch("[0-9a-f]{6}", name) is None:
        raise StorageError(f"{path} is damaged; remove it, and a new one is made")
    return name


class Journal:
    def __init__(self, root: str, remote: str) -> None:
        """Raises Refused while another syncer has it."""
        self.entries: dict[str, Entry] = {}
        self.told: set[str] = set()
        self.reserving = False  # a batch was asked for, and what came of it was not yet written down
        self._above = f"{root}/sync"
        self.folder = f"{self._above}/{hashlib.sha256(remote.encode()).hexdigest()[:12]}"
        self._path = f"{self.folder}/journal.jsonl"
        try:
            os.makedirs(self.folder, exist_ok=True)
            self._lock = os.open(f"{self.folder}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StorageError(f"cannot keep a journal in {self.folder}: {error.strerror}; look at it") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise Refused(f"another `dibs sync` of {root} with {remote} is running; leave it to that one") from None
        self._lines = 0
        self._read()
        if not self._lines or self._lines > 2 * (len(self.entries) + len(self.told)) + ROOM:
            self._write_anew(remote)

    def note(self, entries: Iterable[Entry], *, reserving: bool | None = None) -> None:
        """On disk when this returns."""
        lines: list[dict[str, Any]] = [entry._asdict() for entry in entries]
        if reserving is not None:
            lines.append({"reserving": reserving})
        if not lines:
            return
        data = b"".join(map(encode, lines))
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            before = os.fstat(file).st_size
            try:
                if os.write(file, data) < len(data):
                    raise OSError(ENOSPC, os.strerror(ENOSPC))
                os.fsync(file)
            except OSError:
                os.ftruncate(file, before)  # half a line would spoil the next one
                raise
            finally:
                os.close(file)
        except OSError as error:
            raise StorageError(f"cannot write {self._path}: {error.strerror}") from None
        for line in lines:
            self._take(line)

    def remember_conflicts(self, lines: list[dict[str, Any]]) -> None:
        if lines:
            with open(f"{self.folder}/conflicts.jsonl", "ab") as file:
                file.writelines(map(encode, lines))

    def elsewhere(self) -> set[str]:
        """What other shared queues have, or reserved for this site: not for this one."""
        found: set[str] = set()
        for name in os.listdir(self._above):
            if f"{self._above}/{name}" != self.folder:
                found |= _others(f"{self._above}/{name}/journal.jsonl")
        return found

    def close(self) -> None:
        os.close(self._lock)

    def _take(self, line: dict[str, Any]) -> None:
        self.reserving = line.get("reserving", self.reserving)
        if "id" in line:
            entry = Entry(line["id"], line["epoch"], line["state"], line["renewed"])
            self.entries.pop(entry.id, None)
            self.told.discard(entry.id)
            if entry.state == TOLD:
                self.told.add(entry.id)
            elif entry.state != GONE:
                self.entries[entry.id] = entry

    def _read(self) -> None:
        try:
            with open(self._path, "r+b") as file:
                data = file.read()
                whole = data.rfind(b"\n") + 1
                if whole < len(data):
                    file.truncate(whole)
        except FileNotFoundError:
            return
        try:
            for line in data[:whole].splitlines():
                self._take(decode(line))
                self._lines += 1
        except (BadInput, KeyError, TypeError, AttributeError):
            raise StorageError(
                f"line {self._lines + 1} of {self._path} is damaged; move the file away, and what is reserved for "
                "this site returns to the others when its reservations run out"
            ) from None

    def _write_anew(self, remote: str) -> None:
        lines: list[dict[str, Any]] = [{"with": remote, "reserving": self.reserving}]
        lines += [entry._asdict() for entry in self.entries.values()]
        lines += [Entry(task_id, 0, TOLD)._asdict() for task_id in sorted(self.told)]
        fresh = f"{self._path}.new"
        with open(fresh, "wb") as file:
            file.writelines(map(encode, lines))
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self._path)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self._lines = len(lines)


def _others(path: str) -> set[str]:
    """Read without a lock, while its syncer may be writing: a torn line is one that counts for nothing yet."""
    known: dict[str, str] = {}
    try:
        with open(path, "rb") as file:
            for data in file:
                line = decode(data)
                if "id" in line:
                    known[line["id"]] = line["state"]
    except (BadInput, OSError):
        pass
    return {task_id for task_id, state in known.items() if state != GONE}
