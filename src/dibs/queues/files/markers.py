"""Markers: one step at a time out of each name, for places where a contested rename lets two through.

A marker is a file made by exclusive create, `markers/<shard>/<folder>.<name>.<number>`. Only its maker takes the step
out of that name, and then removes the marker. Nobody removes one whose maker does not come back: two could, and the
second would remove the first one's new marker. Who finds that it is stale makes the one with the next number, looks
again whether all before it are those that were stale, and after its step removes them, the lowest first, its own last.

A maker acts for GIVE_UP_SECONDS, on its own clock from before it began; others wait for STALE_SECONDS. What is between
them is for what was sent and has not arrived yet: so a maker that is seen to be dead is waited for like any other.
"""

import os
import random
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.host import Host
from dibs.liveness import DRIFT, MARGIN_SECONDS
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import Layout
from dibs.task import decode, encode

STALE_SECONDS = 60.0
GIVE_UP_SECONDS = 20.0
PROBE_SECONDS = 2.0
LEFTOVER_SECONDS = 3600.0
MOST_WATCHED = 1000


class Hold(NamedTuple):
    """The right to step out of one name until `until` (boottime). `paths`: the stale markers below ours, then ours."""

    paths: list[str]
    until: float


class Seen(NamedTuple):
    """A marker as it was read: two are the same one only if both are equal, as one can be seen before it is written."""

    data: bytes
    mtime: float


class Markers:
    stale_seconds, give_up_seconds = STALE_SECONDS, GIVE_UP_SECONDS  # the same for all who use a queue

    def __init__(
        self,
        fs: Fs,
        layout: Layout,
        clock: Clock,
        host: Host,
        rng: random.Random,
        store_time: Callable[[], float],
        make_folder: Callable[[str], None],
    ) -> None:
        self._fs = fs
        self._layout = layout
        self._clock = clock
        self._host = host
        self._rng = rng
        self._store_time = store_time
        self._make_folder = make_folder
        self._root = layout.folder("markers")
        self._watched: dict[str, tuple[Seen, float]] = {}
        self._offset, self._probed = 0.0, float("-inf")

    def take(self, source: str) -> Hold | None:
        """None when a step out of this name is under way, or was until this moment."""
        return self._take(self._base(source))

    def in_time(self, hold: Hold) -> bool:
        """Ask before every act under the hold; the act follows at once."""
        return self._clock.boottime() < hold.until

    def drop(self, hold: Hold) -> None:
        """The step is over, or was not taken. Too late for that, or refused: what is left goes stale by itself."""
        for path in hold.paths:
            if not self.in_time(hold):
                return
            try:
                self._fs.unlink(path)
            except FileNotFoundError:
                continue
            except OSError:
                return

    def tidy(self) -> None:
        """What was left in one shard by makers that died after their step; nobody else may ever come by."""
        with suppress(OSError, IndexError):
            shard = f"{self._root}/{self._rng.choice(sorted(self._fs.listdir(self._root)))}"
            left = defaultdict(list)
            for name in sorted(self._fs.listdir(shard)):
                seen = self._look(f"{shard}/{name}")
                if seen is not None and self._age(seen) > LEFTOVER_SECONDS:
                    left[name.rpartition(".")[0]].append(f"{shard}/{name}")
            for base, paths in left.items():
                hold = self._take(f"{shard}/{base}")
                if hold is not None:
                    above = [path for path in paths if path not in hold.paths]  # of one who died while removing them
                    self.drop(Hold([*above, *hold.paths], hold.until))

    def _base(self, source: str) -> str:
        folder, _, rest = source[len(self._layout.root) + 1 :].partition("/")
        name = rest.rpartition("/")[2]
        return f"{self._root}/{self._layout.shard(name[:32])}/{folder}.{name}"

    def _take(self, base: str) -> Hold | None:
        began = self._clock.boottime()
        mine = self._record(began)
        stale: dict[str, Seen] = {}
        while not self._made(path := f"{base}.{len(stale) + 1}", mine):
            asked = self._clock.boottime()
            seen = self._look(path)
            if seen is None or not self._is_stale(path, seen, asked):
                return None
            stale[path] = seen
        until = began + self.give_up_seconds
        if any(self._look(lower) != seen for lower, seen in stale.items()):
            self.drop(Hold([path], until))  # somebody took over before us: what we judged is past
            return None
        return Hold([*stale, path], until)

    def _record(self, began: float) -> bytes:
        nonce = f"{self._rng.getrandbits(48):012x}"
        host = self._host
        return encode({"host": host.name, "pid": os.getpid(), "boot": host.boot, "beat": began, "nonce": nonce})

    def _made(self, path: str, data: bytes) -> bool:
        try:
            return self._fs.mark(path, data)
        except FileNotFoundError:
            self._make_folder(path.rpartition("/")[0])
            return self._fs.mark(path, data)

    def _look(self, path: str) -> Seen | None:
        try:
            mtime = self._fs.times(path)[0]
            return Seen(self._fs.read(path), mtime)
        except FileNotFoundError:
            return None
        except (BadInput, PermissionError):
            return Seen(b"", mtime)

    def _is_stale(self, path: str, seen: Seen, asked: float) -> bool:
        """By boottime if it was made on this boot; else it was watched for long enough, or the file server says so."""
        try:
            record = decode(seen.data)
            if record["boot"] == self._host.boot:
                return asked - float(record["beat"]) > self.stale_seconds
        except (BadInput, KeyError, TypeError, ValueError):
            pass  # its maker was interrupted, or the disk was full
        patience = self.stale_seconds * DRIFT + MARGIN_SECONDS
        known, first = self._watched.get(path, (None, 0.0))
        if known == seen and asked - first > patience:
            return True
        if known != seen:
            if len(self._watched) >= MOST_WATCHED:
                self._watched.clear()
            self._watched[path] = (seen, self._clock.boottime())
        return self._age(seen) > patience

    def _age(self, seen: Seen) -> float:
        """By the file server's clock, which is asked every few seconds."""
        now = self._clock.boottime()
        if now - self._probed > PROBE_SECONDS:
            server = self._store_time()
            now = self._probed = self._clock.boottime()  # after it: who sleeps in between lags, never leads
            self._offset = server - now
        return self._offset + now - seen.mtime
