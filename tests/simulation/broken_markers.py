"""Broken variants of markers, on a disk whose rename lets two through when they contend."""

import json

from dibs.queues.files.markers import Hold, Markers, Seen

from .bouncing import BouncingBackend
from .loose import LooseBackend


class Unmarked(LooseBackend):
    """No markers at all: shows that the disk is as loose as it claims to be."""

    backend = "files-marked"


def _take_by_deleting(self: Markers, base: str) -> Hold | None:
    began = self._clock.boottime()
    path = f"{base}.1"
    while not self._made(path, self._record(began)):
        asked = self._clock.boottime()
        seen = self._look(path)
        if seen is None or not self._is_stale(path, seen, asked):
            return None
        try:
            self._fs.unlink(path)
        except OSError:
            return None
    return Hold([path], began + self.give_up_seconds)


class StaleDeleted(BouncingBackend):
    """Who finds a stale marker deletes it and makes its own: the second of two deletes the first one's."""

    backend = "markers"

    patches = ((Markers, "_take", _take_by_deleting),)


def _always_in_time(self: Markers, hold: Hold) -> bool:
    self._clock.boottime()
    return True


class NoOwnDeadline(BouncingBackend):
    """Who slept over its marker's time goes on as if nothing had happened."""

    backend = "markers"

    patches = ((Markers, "in_time", _always_in_time),)


def _take_unlooked(self: Markers, base: str) -> Hold | None:
    began = self._clock.boottime()
    mine = self._record(began)
    stale: list[str] = []
    while not self._made(path := f"{base}.{len(stale) + 1}", mine):
        asked = self._clock.boottime()
        seen = self._look(path)
        if seen is None or not self._is_stale(path, seen, asked):
            return None
        stale.append(path)
    return Hold([*stale, path], began + self.give_up_seconds)


class UnlookedTakeover(BouncingBackend):
    """Who made the next marker does not look whether those before it are still the stale ones."""

    backend = "markers"

    patches = ((Markers, "_take", _take_unlooked),)


def _drop_own_first(self: Markers, hold: Hold) -> None:
    _drop(self, Hold(hold.paths[::-1], hold.until))


_drop = Markers.drop


class OwnDroppedFirst(BouncingBackend):
    """The markers are removed from the highest down: whoever comes in between takes over once more."""

    backend = "markers"

    patches = ((Markers, "drop", _drop_own_first),)


_is_stale = Markers._is_stale


def _stale_when_dead(self: Markers, path: str, seen: Seen, asked: float) -> bool:
    record = json.loads(seen.data or b"{}")
    alike = record.get("boot") == self._host.boot
    return (alike and self._host.process_gone(record["pid"], self._host.started(record["pid"]))) or _is_stale(
        self, path, seen, asked
    )


class DeadAtOnce(BouncingBackend):
    """The marker of a process that is seen to be dead counts as stale: what it had sent may still arrive."""

    backend = "markers"

    patches = ((Markers, "_is_stale", _stale_when_dead),)
