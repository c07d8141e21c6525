"""A store in the refs of a git remote: any remote, and nothing of it in any branch.

A value is the message of a commit without parents or files. It stands in two refs:

    refs/dibs/cells/<key>           the cell. Every step compares and sets it, so it alone decides
    refs/dibs/leases/<key>/<epoch>  the same commit under the number of its lease ("epoch" in a value that is JSON, else
                                    0), for people and other tools; it comes with its epoch and goes with the next one

Every step is one atomic push of both. A ref `leases/<key>/<epoch>` that must not exist would not do alone: one who
looked, slept through a first lease and a takeover, and then created epoch 1 anew would hold the key beside epoch 2.
What a person did to the refs under `leases` is put right by the next step; to break a lease by hand, delete its cell.
The commit carries this host's time, so the same bytes written twice may be two versions.
"""

from collections.abc import Iterator
from threading import Lock

from dibs.errors import BadInput, StorageError
from dibs.git import objects
from dibs.git.names import quote, unquote
from dibs.git.pushing import Update, Verdict, push
from dibs.git.repository import Repository
from dibs.git.shadow import Shadow
from dibs.redact import redact
from dibs.stores.store import Changed, Entry, Exists, checked
from dibs.task import decode

CELLS = "refs/dibs/cells/"
LEASES = "refs/dibs/leases/"
TRIES = 8
REFUSALS = 4  # of a remote that says no for a reason of its own, before it is believed
MOST_NOTED = 10_000
PAUSE_SECONDS = 0.02


class RefStore:
    """Safe for threads. `remote`: a name or URL; that of the current branch, else origin, when not said."""

    lanes = 1

    def __init__(self, repository: Repository, remote: str = "") -> None:
        self.remote = repository.remote(remote)
        self._repository = repository
        self._shadow = Shadow(repository, self.remote)
        self._empty = objects.made("tree", b"", repository.hash)
        self._lock = Lock()
        self._seen: dict[str, bytes] = {}  # version -> data, of the last snapshot and since
        self._fetched = 0

    def get(self, key: str) -> Entry | None:
        """As the remote has it now."""
        ref = CELLS + _name(key)
        if not self._fetch(f"+{ref}:{ref}"):
            return None
        found = self._shadow.read([ref])[0]
        return None if found is None else self._noted(Entry(objects.message_of(found[2]), found[0]))

    def snapshot(self) -> dict[str, Entry]:
        """Every key with its value, as the remote had them at one moment of this call."""
        versions = self._versions()
        with self._lock:
            seen = dict(self._seen)
        fresh = [version for version in dict.fromkeys(versions.values()) if version not in seen]
        read = {found[0]: objects.message_of(found[2]) for found in self._shadow.read(fresh) if found is not None}
        known = {version: data for version in versions.values() if (data := read.get(version, seen.get(version)))}
        with self._lock:
            self._seen = known
        return {key: Entry(known[version], version) for key, version in versions.items() if version in known}

    def create(self, key: str, data: bytes) -> str:
        name = _name(key)
        new = self._stored(data)
        if not self._step(name, "", new, {}, {epoch_of(data): new}):
            raise Exists(key)
        return self._noted(Entry(data, new)).version

    def replace(self, key: str, data: bytes, version: str) -> str:
        name = _name(key)
        before = self._epoch_at(key, version)
        new = self._stored(data)
        if new == version:  # the same bytes within a second
            if (entry := self.get(key)) is None or entry.version != version:
                raise Changed(key)
            return version
        if not self._step(name, version, new, {before: version}, {epoch_of(data): new}):
            raise Changed(key)
        return self._noted(Entry(data, new), version).version

    def delete(self, key: str) -> bool:
        for _ in range(TRIES):
            entry = self.get(key)
            if entry is None:
                return False
            try:
                self.delete_if(key, entry.version)
                return True
            except Changed:
                continue
        raise StorageError(f"{key!r} at git remote {redact(self.remote)!r} changes too often to be deleted; try again")

    def discard(self, key: str) -> None:
        self.delete(key)

    def delete_if(self, key: str, version: str) -> None:
        if not self._step(_name(key), version, "", {self._epoch_at(key, version): version}, {}):
            raise Changed(key)

    def list(self, prefix: str, start_after: str = "") -> Iterator[str]:
        return (key for key in sorted(self._versions()) if key.startswith(prefix) and key > start_after)

    def folders(self, prefix: str) -> Iterator[str]:
        below = (key[len(prefix) :] for key in self._versions() if key.startswith(prefix))
        return iter(sorted({rest.partition("/")[0] for rest in below if "/" in rest}))

    def now(self) -> float:
        """This host's clock: a git remote has none to share."""
        return self._repository.clock.wall()

    def _versions(self) -> dict[str, str]:
        self._fetch(f"+{CELLS}*:{CELLS}*")
        out = self._shadow.run("for-each-ref", "--format=%(objectname) %(refname)", CELLS).out.decode()
        named = (line.split(" ", 1) for line in out.splitlines())
        return {key: version for version, ref in named if (key := unquote(ref.removeprefix(CELLS))) is not None}

    def _fetch(self, refspec: str) -> bool:
        self._fetched += 1
        if self._fetched % 100 == 1:
            self._shadow.tidy()
        return self._shadow.fetch(refspec)

    def _noted(self, entry: Entry, instead_of: str = "") -> Entry:
        with self._lock:
            self._seen.pop(instead_of, None)
            if len(self._seen) > MOST_NOTED:
                self._seen = {}
            self._seen[entry.version] = entry.data
        return entry

    def _stored(self, data: bytes) -> str:
        if not data or b"\0" in data:
            raise BadInput("a value in a git ref must be text: not empty, and without NUL")
        repository = self._repository
        one = objects.commit(self._empty.id, [], repository.author, repository.clock.wall(), data, repository.hash)
        self._shadow.store([self._empty, one])
        return one.id

    def _epoch_at(self, key: str, version: str) -> int:
        """The epoch of a version. Raises Changed when it is not what the remote has."""
        if not _is_id(version):
            raise Changed(key)
        with self._lock:
            data = self._seen.get(version)
        if data is None:
            found = self._shadow.read([version])[0]
            if found is None:  # cleaned away here since it was read
                entry = self.get(key)
                if entry is None or entry.version != version:
                    raise Changed(key)
                return epoch_of(entry.data)
            data = objects.message_of(found[2])
        return epoch_of(data)

    def _step(self, name: str, old: str, new: str, before: dict[int, str], after: dict[int, str]) -> bool:
        """Set the cell from `old` to `new`, and its refs by epoch with it. False when the cell is not at `old`."""
        cell = CELLS + name
        words, refusals = "", 0
        for tried in range(TRIES):
            updates = [Update(cell, old, new), *_moves(f"{LEASES}{name}/", before, after)]
            outcome = push(self._shadow.run, self.remote, updates)
            if outcome.verdict is Verdict.DONE:
                return True
            if cell in outcome.stale:
                return False
            there, beside = self._look(name)
            if there != old:
                return False
            refusals += beside == before and not outcome.passing and outcome.verdict is Verdict.REFUSED
            if refusals >= REFUSALS:
                raise StorageError(f"git remote {redact(self.remote)!r} refuses {cell}: {outcome.words}")
            before, words = beside, outcome.words
            self._repository.clock.sleep(min(0.5, PAUSE_SECONDS * 2**tried))
        raise StorageError(
            f"git remote {redact(self.remote)!r} is busy or refuses {cell}, nothing was written: {words}"
        )

    def _look(self, name: str) -> tuple[str, dict[int, str]]:
        """(the cell's id or nothing, id by epoch) on the remote."""
        cell, folder = CELLS + name, f"{LEASES}{name}/"
        done = self._shadow.run("ls-remote", "--quiet", "--", self.remote, cell, f"{folder}*")
        there, beside = "", {}
        for line in done.out.decode(errors="replace").splitlines():
            found, _, ref = line.partition("\t")
            if ref == cell:
                there = found
            elif ref.startswith(folder) and _is_epoch(epoch := ref.removeprefix(folder)):
                beside[int(epoch)] = found
        return there, beside


def epoch_of(data: bytes) -> int:
    """The epoch in a value, 0 when it names none."""
    try:
        epoch = decode(data)["epoch"] if data[:1] == b"{" else 0
    except (BadInput, KeyError):
        return 0
    return epoch if isinstance(epoch, int) and 0 <= epoch < 1 << 63 else 0


def _moves(folder: str, before: dict[int, str], after: dict[int, str]) -> list[Update]:
    return [
        Update(f"{folder}{epoch}", before.get(epoch, ""), after.get(epoch, ""))
        for epoch in sorted(before.keys() | after.keys())
        if before.get(epoch) != after.get(epoch)
    ]


def _name(key: str) -> str:
    try:
        return quote(checked(key))
    except UnicodeEncodeError:
        raise BadInput(f"key {key!r} is not text that can be written in UTF-8") from None


def _is_id(text: str) -> bool:
    return len(text) in (40, 64) and all(char in "0123456789abcdef" for char in text)


def _is_epoch(text: str) -> bool:
    return text.isdigit() and text.isascii() and str(int(text)) == text
