"""A store in memory, as several processes see it.

Writes are atomic compare-and-sets. An answer may be lost after the write took effect, or before it does: then it may
take effect a little later, if its condition still holds. A request may arrive twice. A listing may be old.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from dibs.stores.store import Changed, Entry, Exists, Unsure, checked

from .world import DOUBLED, LATEST, LOST, REFUSED, STALE, VANISHED, Process, World

T = TypeVar("T")
Names = list[str]


class Cloud:
    """What is really there."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.entries: dict[str, Entry] = {}
        self.count = 0
        self.dated = world.rng.random() < 0.5  # it says when a value was written, in whole seconds
        self.log: list[tuple[float, str, bool]] = []
        self.late: list[tuple[float, Process, Callable[[], object]]] = []
        self.changed: Callable[[str, bytes | None, bytes | None], None] = lambda key, before, after: (
            None
        )  # the observer

    def create(self, key: str, data: bytes) -> str:
        if key in self.entries:
            raise Exists(key)
        return self._set(key, data)

    def replace(self, key: str, data: bytes, version: str) -> str:
        self.expect(key, version)
        return self._set(key, data)

    def put(self, key: str, data: bytes) -> str:
        return self._set(key, data)

    def delete(self, key: str) -> bool:
        entry = self.entries.pop(key, None)
        if entry is None:
            return False
        self._log(key, True)
        self.changed(key, entry.data, None)
        return True

    def delete_if(self, key: str, version: str) -> None:
        self.expect(key, version)
        self.delete(key)

    def expect(self, key: str, version: str) -> None:
        entry = self.entries.get(key)
        if entry is None or entry.version != version:
            raise Changed(key)

    def deliver(self) -> None:
        """Requests whose answers were lost, and that arrive late."""
        now, self.world.current = self.world.current, None
        while self.late and self.late[0][0] <= self.world.now:
            _, self.world.late_for, act = self.late.pop(0)
            try:
                act()
            except (Exists, Changed):
                pass
        self.world.current, self.world.late_for = now, None

    def delay(self, process: Process, act: Callable[[], object]) -> None:
        self.late.append((self.world.now + self.world.random() * LATEST, process, act))
        self.late.sort(key=lambda item: item[0])

    def names(self, since: float | None) -> list[str]:
        names = dict.fromkeys(self.entries)
        if since is not None:
            for when, key, before in reversed(self.log):
                if when < since:
                    break
                if before:
                    names[key] = None
                else:
                    names.pop(key, None)
        return sorted(names)

    def _set(self, key: str, data: bytes) -> str:
        self.count += 1
        before = self.entries.get(key)
        if before is None:
            self._log(key, False)
        version = str(self.count)
        self.entries[key] = Entry(data, version, float(int(self.world.now)) if self.dated else None)
        self.changed(key, before.data if before else None, data)
        return version

    def _log(self, key: str, before: bool) -> None:
        if self.world.weather.stale:
            self.log.append((self.world.now, key, before))


class SimStore:
    """The cloud through the eyes and hands of one process."""

    lanes = 1

    def __init__(self, world: World, cloud: Cloud, process: Process) -> None:
        self._world = world
        self._cloud = cloud
        self._process = process

    def get(self, key: str) -> Entry | None:
        self._point("get", key)
        return self._cloud.entries.get(key)

    def create(self, key: str, data: bytes) -> str:
        checked(key)
        return self._write("create", key, lambda: self._cloud.create(key, data))

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self._write("replace", key, lambda: self._cloud.replace(key, data, version))

    def put(self, key: str, data: bytes) -> str:
        """Whatever is there. No store offers this; broken variants use it."""
        return self._write("put", key, lambda: self._cloud.put(key, data))

    def delete(self, key: str) -> bool:
        return self._write("delete", key, lambda: self._cloud.delete(key))

    def discard(self, key: str) -> None:
        self.delete(key)

    def delete_if(self, key: str, version: str) -> None:
        return self._write("delete_if", key, lambda: self._cloud.delete_if(key, version))

    def list(self, prefix: str, start_after: str = "") -> Iterator[str]:
        names = self._listing("list", prefix)
        return iter([name for name in names if name.startswith(prefix) and name > start_after])

    def folders(self, prefix: str) -> Iterator[str]:
        names = self._listing("folders", prefix)
        parts = (name[len(prefix) :].partition("/") for name in names if name.startswith(prefix))
        return iter(dict.fromkeys(head for head, slash, _ in parts if slash))

    def now(self) -> float:
        self._point("now", "")
        return self._world.now

    def _listing(self, what: str, prefix: str) -> Names:
        spoiled = self._point(what, prefix)
        since = self._world.now - self._world.weather.lag * self._world.random() if spoiled is STALE else None
        return self._cloud.names(since)

    def _point(self, what: str, key: str) -> str | None:
        spoiled = self._world.point(what, key)
        if self._cloud.late:
            self._cloud.deliver()
        if spoiled is not None and spoiled not in (STALE, DOUBLED):
            self._process.spoiled += 1
            self._world.say("answer: refused")
            raise Unsure(f"cannot {what} {key}: simulated")
        return spoiled

    def _write(self, what: str, key: str, act: Callable[[], T]) -> T:
        spoiled = self._world.point(what, key)
        if self._cloud.late:
            self._cloud.deliver()
        if spoiled is None or spoiled is STALE:
            return act()
        if spoiled is DOUBLED:
            answer = act()
            self._cloud.delay(self._process, act)
            return answer
        self._process.spoiled += 1
        self._world.say(f"answer: {spoiled}")
        if spoiled is LOST:
            act()
        elif spoiled is VANISHED:
            self._cloud.delay(self._process, act)
        assert spoiled in (LOST, VANISHED, REFUSED)
        raise Unsure(f"cannot {what} {key}: simulated")
