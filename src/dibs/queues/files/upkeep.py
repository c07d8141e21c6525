"""What every claimer does now and then, so that nobody else is needed: give back what dead workers held,
make due tasks ready, re-check blocked ones, remove what is past its retention.

Each step is an ordinary compare-and-set: any number of workers may do the same at once.
"""

from collections import defaultdict

from dibs import states
from dibs.errors import BadInput
from dibs.liveness import Holder, Verdict
from dibs.queues.files.finder import Found
from dibs.queues.files.layout import is_hour, is_minute, parse_name, slot
from dibs.queues.files.parts import Parts
from dibs.queues.files.session import read_record
from dibs.queues.files.steering import Steering
from dibs.states import State
from dibs.task import Task

ORPHAN_SECONDS = 60.0
SILENT_RECORD_SECONDS = 3600.0
BLOCKED_EVERY = 5.0
TIDY_EVERY = 60.0


class Upkeep:
    def __init__(self, parts: Parts, steering: Steering) -> None:
        self._parts = parts
        self._steering = steering
        self._fs = parts.fs
        self._layout = parts.layout
        self._cells = parts.cells
        self._finder = parts.finder
        self._notes = parts.notes
        self._watch = parts.watch
        self._clock = parts.clock
        self._rng = parts.rng
        self._next_blocked = self._next_tidy = self._next_orphans = 0.0

    def run(self, *, idle: bool) -> bool:
        """True when something may have become ready."""
        now = self._clock.boottime()
        changed = self.recover(orphans=idle and now >= self._next_orphans)
        changed |= self.promote_due()
        if idle and now >= self._next_orphans:
            self._next_orphans = now + ORPHAN_SECONDS / 4
        if idle and now >= self._next_blocked:
            self._next_blocked = now + BLOCKED_EVERY
            changed |= self.recheck_blocked()
        if idle and now >= self._next_tidy:
            self._next_tidy = now + TIDY_EVERY * (0.5 + self._rng.random())
            self.tidy()
        return changed

    # Dead and silent workers

    def recover(self, *, orphans: bool = False) -> bool:
        """Give back what workers held that are gone."""
        asked = self._clock.boottime()
        holders = self.holders()
        boots = {(holder.machine, holder.boot) for holder in holders.values()}
        verdicts = {name: self._watch.judge(holder, asked, boots) for name, holder in holders.items()}
        stale = {name for name, verdict in verdicts.items() if verdict is not Verdict.ALIVE}
        if not stale and not orphans:
            return False
        changed = False
        leases = self._leases()
        for session, held in leases.items():
            if session in stale:
                for found in held:
                    changed |= self.expire(found, holders[session], verdicts[session])
            elif session not in holders:
                changed |= self._take_orphans(session, held, asked)
        for session in stale:
            if session not in leases:
                self._forget(holders[session], verdicts[session])
        return changed

    def _take_orphans(self, session: str, held: list[Found], asked: float) -> bool:
        """Leases whose session has no record, which only happens by hand, are taken after a while."""
        changed = False
        for found in held:
            watched = self._watch.watched_for(found.path, found.name.epoch, asked)
            if watched > ORPHAN_SECONDS and read_record(self._fs, self._layout, session) is None:
                changed |= self.expire(found, None, Verdict.SILENT)
        return changed

    def recover_session(self, holder: Holder) -> None:
        """Give back what one session held, whose holder is known to be dead."""
        for found in self._leases().get(holder.session, ()):
            self.expire(found, holder, Verdict.DEAD)
        self._forget(holder, Verdict.DEAD)

    def expire(self, found: Found, holder: Holder | None, verdict: Verdict) -> bool:
        """Take one lease from a holder that is gone."""
        name = found.name
        try:
            task = self._finder.read(found)
        except FileNotFoundError:
            return False
        except BadInput:
            task = Task(id=name.id)
        cell = states.expire(found.cell, task.max_deaths, counts=verdict is not Verdict.REBOOTED)
        worker = name.extra
        where = f" on {holder.host}" if holder else ""
        error = f"worker {worker}{where} {verdict} while holding it"
        note = self._notes.say_lost(name.id, found.cell, verdict, error)
        if not self._cells.attempt(found.path, self._layout.path(name.id, name.facet, cell)):
            self._notes.take_back(note)
            return False
        if cell.state is State.FAILED:
            self._steering.ended(task, State.FAILED)
        return True

    def holders(self) -> dict[str, Holder]:
        records = {}
        for text in self._fs.listdir(self._layout.folder("workers")):
            if text.endswith(".json") and (holder := read_record(self._fs, self._layout, text[:-5])):
                records[holder.session] = holder
        return records

    def _leases(self) -> dict[str, list[Found]]:
        held = defaultdict(list)
        for found in self._finder.find(State.CLAIMED):
            held[found.name.extra].append(found)
        return held

    def _forget(self, holder: Holder, verdict: Verdict) -> None:
        """Remove the record of a session that holds nothing; a silent one's later: a late claim may hang on it."""
        path = self._layout.session(holder.session)
        try:
            if verdict is Verdict.DEAD or self._parts.store_time() - self._fs.times(path)[0] > SILENT_RECORD_SECONDS:
                self._fs.unlink(path)
        except OSError:
            pass  # another worker removed it, or nobody may: then it stays

    # Waiting for a time, or for other tasks

    def promote_due(self) -> bool:
        root = self._layout.folder("scheduled")
        hours = sorted(filter(is_hour, self._fs.listdir(root)))
        if not hours:
            return False
        now = self._parts.store_time()
        hour_now, minute_now = slot(now)
        changed = False
        for hour in hours:
            if hour > hour_now:
                break
            for minute in sorted(filter(is_minute, self._list(f"{root}/{hour}"))):
                if hour == hour_now and minute > minute_now:
                    break
                past = (hour, minute) < (hour_now, minute_now)
                changed |= self._promote_folder(f"{root}/{hour}/{minute}", now, past=past)
            if hour < hour_now:
                self._remove_empty(f"{root}/{hour}")
        return changed

    def _promote_folder(self, folder: str, now: float, *, past: bool) -> bool:
        changed = False
        for text in self._list(folder):
            name = parse_name(text, State.SCHEDULED)
            if name is None or int(name.extra) > now * 1000:
                continue
            seen = name.cell(State.SCHEDULED)
            target = self._layout.path(name.id, name.facet, states.promote(seen))
            changed |= bool(self._cells.attempt(f"{folder}/{text}", target))
        if past:
            self._remove_empty(folder)
        return changed

    def recheck_blocked(self) -> bool:
        """A completer may have died before it told who waited; and keys may have been pushed since."""
        return any([self._steering.unblock(found.name.id) for found in self._finder.find(State.BLOCKED)])

    # Tidying, a little at a time

    def tidy(self) -> None:
        """One random shard: what is past its retention, folders that stayed empty, scraps of dead pushes."""
        now = self._parts.store_time()
        for state in (State.COMPLETED, State.CANCELLED):
            folders = list(self._finder.folders(state))
            if folders and self._parts.root.retention > 0:
                self._steering.remove_ended(state, self._rng.choice(folders), now - self._parts.root.retention)
        for folder in self._finder.folders(State.READY):
            self._remove_if_long_empty(folder, now)
        if self._parts.markers is not None:
            self._parts.markers.tidy()
        scratch = self._layout.folder("tmp")
        for text in self._list(scratch):
            if text.endswith((".task", ".beat", ".note")):
                self._remove_if_old(f"{scratch}/{text}", now)

    def _remove_if_long_empty(self, folder: str, now: float) -> None:
        try:
            if now - self._fs.times(folder)[0] > TIDY_EVERY and not self._fs.listdir(folder):
                self._fs.rmdir(folder)
        except OSError:
            pass  # filled again, or gone

    def _remove_if_old(self, path: str, now: float) -> None:
        try:
            if now - self._fs.times(path)[0] > 86400:
                self._fs.unlink(path)
        except OSError:
            pass  # its push came back to life, or somebody else removed it

    def _remove_empty(self, folder: str) -> None:
        try:
            self._fs.rmdir(folder)
        except OSError:
            pass  # not empty: foreign files, or not due yet

    def _list(self, folder: str) -> list[str]:
        try:
            return self._fs.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
