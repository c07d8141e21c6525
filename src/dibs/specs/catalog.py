"""A folder of specs: every `*.md` in it, but not in folders below, no hidden files and no README.

`specs()` looks at the folder anew each time, and reads only what changed since the last look of this object or,
through the cache, of any process. It writes nothing into the folder. Over a network file system a stat may lag by
the seconds that its client keeps attributes; whoever changes a spec reads the file itself again.
"""

import os

from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput
from dibs.specs.cache import NO_STAMP, STAMP, Snapshot, load, place_of, save, stamp_at, stamps_of
from dibs.specs.ids import SUFFIX
from dibs.specs.listing import Listing

CACHE_FROM = 64  # files: fewer are read as fast as a cache
IGNORED = "readme.md"
_KIND, _FOLDER = 0o170000, 0o040000  # of a mode


class Catalog:
    """`cache` is the cache's path; None is none. Not for several threads at once."""

    def __init__(self, folder: str, *, cache: str | None = "", clock: Clock = SYSTEM) -> None:
        self.folder = folder
        self._cache = place_of(folder) if cache == "" else cache
        self._clock = clock
        self._seen: Snapshot | None = None
        self._listing: Listing | None = None
        self._unsaved = 0

    def specs(self) -> Listing:
        """Everything there now; the same object as the last time when nothing changed. BadInput when there is no such
        folder."""
        first = self._seen is None
        try:
            if first and self._cache is not None:
                self._seen = load(self._cache, self.folder)
            seen = self._look(first)
        except (FileNotFoundError, NotADirectoryError):
            raise BadInput(f"no folder of specs at {self.folder}; `dibs specs init` makes one") from None
        except OSError as error:
            from dibs.stores.refusal import storage_error

            raise storage_error(error, self.folder) from error
        if self._listing is None or seen is not self._seen:
            self._listing = Listing(self.folder, seen)
        self._seen = seen
        return self._listing

    def _look(self, first: bool) -> Snapshot:
        seen = self._seen
        now = self._clock.wall()
        if seen is None:
            names = _names(self.folder)
            return self._read(names, b"", Snapshot.of({}), now, first)
        names, stamps = _stamped(self.folder)
        if stamps == seen.stamps and seen.has(names):
            return seen
        return self._read(names, stamps, seen, now, first)

    def _read(self, names: list[str], stamps: bytes, seen: Snapshot, now: float, first: bool) -> Snapshot:
        """A new snapshot of `names`, from `seen` where the stamp is the same and from the file elsewhere."""
        from dibs.specs.reading import read_entries  # most looks read nothing

        places = {name: place for place, name in enumerate(seen.names)}
        same: dict[str, int] = {}
        changed: list[str] = []
        for number, name in enumerate(names):
            place = places.get(name)
            if place is not None and seen.stamp(place) == stamp_at(stamps, number):
                same[name] = place
            else:
                changed.append(name)
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            entries = read_entries(changed, folder, now)
        finally:
            os.close(folder)
        fresh = sum([entry[0] != NO_STAMP for entry in entries.values()])
        if same:
            hot, lines = list(zip(*seen.hot, strict=True)), seen.lines
            for name, place in same.items():
                entries[name] = (seen.stamp(place), hot[place], lines[place])
            entries = {name: entries[name] for name in names if name in entries}  # in order, for the next look
        made = Snapshot.of(entries)
        self._keep(made, fresh + len(places.keys() - entries.keys()), first)
        return made

    def _keep(self, made: Snapshot, changes: int, first: bool) -> None:
        """A process that looks again and again does not write the cache for every file that it changes."""
        self._unsaved += changes
        enough = 1 if first else max(CACHE_FROM, len(made.names) // 20)
        if self._cache is None or len(made.names) < CACHE_FROM or self._unsaved < enough:
            return
        self._unsaved = 0
        if not save(self._cache, self.folder, made):
            self._cache = None


def _names(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        found = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    return [name for name in found if name.endswith(SUFFIX) and name[0] != "." and (len(name) != 9 or _is_spec(name))]


def _stamped(folder: str) -> tuple[list[str], bytes]:
    """The names of the specs and their stamps, by one stat each. Spelled out: it is what a warm look costs."""
    names: list[str] = []
    numbers: list[int] = []
    add, add_numbers, numbers_of = names.append, numbers.extend, STAMP
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(SUFFIX) and name[0] != "." and (len(name) != 9 or _is_spec(name)):
                try:
                    stat = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if stat.st_mode & _KIND != _FOLDER:
                    add(name)
                    add_numbers(numbers_of(stat))
    return names, stamps_of(numbers)


def _is_spec(name: str) -> bool:
    return name.endswith(SUFFIX) and name[0] != "." and name.lower() != IGNORED
