"""LMDB: a local disk beneath it, and transactions that wait for each other."""

from collections.abc import Iterator

from dibs.clock import SYSTEM
from dibs.doctor.crew import Crew
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.ground import Ground
from dibs.doctor.folders.kinds import UNKNOWN
from dibs.doctor.folders.mounts import mount_of
from dibs.doctor.race import rounds
from dibs.queues.lmdb.database import Database, Transaction

_KEY = b"number"


class Acts:
    def __init__(self, folder: str) -> None:
        self._database = Database(folder, sync=False)
        self._clock = SYSTEM

    def count(self, me: int, count: int, at: float, step: float) -> int:
        done = 0
        for _ in rounds(count, at, step, self._clock):
            self._database.write(_add)
            done += 1
        return done


def _add(txn: Transaction) -> None:
    txn.put(_KEY, b"%d" % (int(txn.get(_KEY) or b"0") + 1))


def check(ground: Ground) -> Iterator[Finding]:
    mount = mount_of(ground.folder)
    if mount.row is UNKNOWN:
        words = f"{mount.shown}: not known here; on a network file system LMDB damages its file"
        remedy = "make sure that it is a local disk"
        yield Finding(check="disk", tried="looked up", happened=words, level=Level.NOTE, remedy=remedy)
    elif mount.row.shared:
        words = f"{mount.shown} is a network file system: LMDB maps its file, which hosts do not share"
        remedy = "put it on a local disk, or use file: here"
        yield Finding(check="map", tried="looked up", happened=words, level=Level.BAD, remedy=remedy)
        return
    yield Finding(
        check="map", tried="looked up", happened="LMDB's file is mapped by one host", level=Level.ONE_HOST,
        remedy="several hosts need file: on a share, a bucket or a database",
    )  # fmt: skip
    folder = ground.sub("lmdb")
    database = Database(folder, sync=False)
    with Crew(__name__, folder, 4, ground.clock) as crew:
        wanted = sum(crew.all("count", count=ground.rounds(200), at=ground.at(0.3), step=ground.step))
    found = int(database.read(lambda txn: txn.get(_KEY)) or b"0")
    database.close()
    tried = f"4 processes, {wanted} additions"
    if found == wanted:
        yield Finding(check="transactions", tried=tried, happened="each waited for the others")
    else:
        words = f"{wanted - found} additions were lost"
        remedy = "use another disk"
        yield Finding(check="transactions", tried=tried, happened=words, level=Level.BAD, remedy=remedy)
