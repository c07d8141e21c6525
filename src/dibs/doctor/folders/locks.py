"""flock, on which key cells, `dir:` leases and locks of specs rest: a number that all add to must come out right."""

from collections.abc import Iterator
from contextlib import suppress

from dibs.clock import Clock
from dibs.doctor.crew import NoAnswer
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.acts import added
from dibs.doctor.folders.ground import Ground
from dibs.errors import StorageError
from dibs.stores.shared import file_store

_FAR_REMEDY = (
    "push a key from one host at a time, and use dir: and specs: on one host; on the server, work through the share too"
)
_REMEDY = "push without keys, and use neither dir: nor specs: here; or mount with locks (NFS: no nolock, SMB: no nobrl)"
_SUM_SECONDS = 40.0
SLOWER = 4  # an addition takes several requests, and whoever comes too early asks again and again


def check(ground: Ground) -> Iterator[Finding]:
    count, step = ground.rounds(30), SLOWER * ground.step
    folder = ground.sub("locks")
    ground.write(f"{folder}/number", b"0 first\n")
    try:
        sums = ground.crew.all("count", count=count, at=ground.at(), step=step)
    except NoAnswer:
        raise
    except StorageError as error:
        yield refused(f"{ground.crew.size} processes", str(error), needed=ground.needs_locks)
        return
    found = sum_in(folder, sums, ground.clock)
    yield judged(f"{ground.crew.size} processes", sums, found, needed=ground.needs_locks)


def sum_in(folder: str, sums: list[list[int]], clock: Clock) -> int | None:
    """What all have added, read as they have: under the lock. What a cache has is not good enough."""
    if not any(done for done, _ in sums):
        return 0
    store, until = file_store(folder, clock=clock), clock.boottime() + _SUM_SECONDS
    while clock.boottime() < until:
        with suppress(StorageError):
            found = added(store)
            if found is not None:
                return found
        clock.sleep(0.05)
    return None


def refused(tried: str, words: str, *, far: bool = False, needed: bool = True) -> Finding:
    happened = f"not offered ({words}): keys, dir: and specs: do not work here"
    locks = Level.ONE_HOST if far else Level.BAD
    level = locks if needed else Level.WARNING
    return Finding(check="locks", tried=tried, happened=happened, level=level, remedy=_REMEDY, locks=locks)


def judged(who: str, sums: list[list[int]], found: int | None, *, far: bool = False, needed: bool = True) -> Finding:
    """`sums`: of each process, how often it added and how often it was refused. `needed`: a queue of this kind rests on
    locks; `file:` needs them for keys alone, and between hosts does without."""
    level = Level.BAD if not far else Level.ONE_HOST if needed else Level.WARNING
    locks = Level.ONE_HOST if far else None  # lost on one host, they are too much for file: as well
    wanted, denied = sum(one[0] for one in sums), sum(one[1] for one in sums)
    tried = f"{who}, {wanted} additions"
    if not wanted:
        return refused(tried, "every try failed", far=far, needed=needed)
    if found is None or found < wanted or found > wanted + denied:
        happened = _wrong(wanted, found)
        remedy = _FAR_REMEDY if far else _REMEDY
        return Finding(check="locks", tried=tried, happened=happened, level=level, remedy=remedy, locks=locks)
    if found > wanted:
        happened = f"none was lost, but {found - wanted} took effect though the storage said no"
        remedy = "pushes with keys, dir: and specs: may report an error for what is done; look before you repeat it"
        return Finding(check="locks", tried=tried, happened=happened, level=Level.WARNING, remedy=remedy)
    if denied:
        happened = f"none was lost, but {denied} tries were refused for a moment while others changed the file"
        remedy = "pushes with keys, dir: and specs: may report an error there; try again, or do without"
        return Finding(check="locks", tried=tried, happened=happened, level=Level.WARNING, remedy=remedy)
    return Finding(check="locks", tried=tried, happened="each waited for the others")


def _wrong(wanted: int, found: int | None) -> str:
    if found is None:
        return f"what was added could not be read any more within {_SUM_SECONDS:.0f} s: keys and leases could be lost"
    two = "two changed one version, so two could have one key or lease"
    return (
        f"{wanted - found} additions were lost: {two}" if found < wanted else f"{found} where {wanted} were made: {two}"
    )
