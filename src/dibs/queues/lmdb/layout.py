"""Where things are kept: one database, whose keys begin with a byte that says what they are.

    ENDED      state (completed last), time, id: completed, failed, cancelled, and leaving (-> where to)
    META       format, retention, pause, boots
    COUNT      facet's code -> how many tasks of it are in each state
    WORKER     name -> who claims (JSON)
    FREEING    hash of a reference -> that reference: completed, and what waits for it is not all freed yet
    LEASE      boot, expiry, id -> worker: what is claimed
    READY      priority, id: in the order of claiming; READY_OF the same for each facet with a project or labels
    SCHEDULED  due, id;  BLOCKED id
    WAITS      hash of a reference, id: who waits for it
    KEY        hash of a key -> its last task, and the last that completed before that one
    CELL       id -> where the task stands: small, written by every step
    RECORD     id -> the task as it was pushed (JSON; nothing but its priority ever changes)
    PAST       id -> how its leases ended (a line of JSON each); a completion without a result is in the cell alone
    FACET      code -> project and labels

A task is in exactly one of LEASE, READY, SCHEDULED, BLOCKED and ENDED. What every step changes lies together, from the
last that was completed to the next that is ready: it shares its pages, and a page is what a transaction copies. Times
are whole microseconds: of the boottime clock in LEASE, else since 1970. Names of any length are hashed: LMDB's keys are
short.
"""

import hashlib
from struct import Struct

from dibs import states
from dibs.errors import BadInput
from dibs.states import State
from dibs.task import is_id

ENDED, META, COUNT, WORKER, FREEING, LEASE, READY = b"\0", b"\x01", b"\x02", b"\x03", b"\x04", b"\x05", b"\x06"
READY_OF, SCHEDULED, BLOCKED, WAITS, KEY = b"\x07", b"\x08", b"\x09", b"\x0a", b"\x0b"
CELL, RECORD, PAST, FACET = b"\x0c", b"\x0d", b"\x0e", b"\x0f"

FORMAT_KEY, PAUSED_KEY, BOOTS_KEY, SEEN_KEY = META + b"format", META + b"paused", META + b"boots", META + b"seen"

MICRO = 1_000_000
LOWEST = 9999  # priority

#: States by number, as cells and counts have them. What has departed is in the last, which is no state of a task.
STATES = (
    State.READY, State.SCHEDULED, State.BLOCKED, State.CLAIMED, State.COMPLETED, State.FAILED, State.CANCELLED,
)  # fmt: skip
NUMBERS = {state: number for number, state in enumerate(STATES)}
IS_READY, IS_SCHEDULED, IS_BLOCKED, IS_CLAIMED, IS_COMPLETED, IS_FAILED, IS_CANCELLED, IS_LEAVING = range(8)

HEAD = Struct(">BIIIqHqqqqq")
SIZE = HEAD.size
LEASE_PART = Struct(">Hqqqqq")  # the last six of them
LEASE_START = SIZE - LEASE_PART.size
LEASE_UNTIL = 2 + 8  # so much of that is in a lease's key: boot and expiry
COUNTS = Struct(">8Q")
#: One more in a state, where a facet's counts are taken as one number.
ONE_MORE = tuple(1 << 64 * (7 - state) for state in range(8))
TO_CLAIMED = ONE_MORE[IS_CLAIMED] - ONE_MORE[IS_READY]
TO_COMPLETED = ONE_MORE[IS_COMPLETED] - ONE_MORE[IS_CLAIMED]
LEASE_AT = Struct(">cHQ16s")
TIME_AT = Struct(">cQ16s")
ENDED_AT = Struct(">2sQ16s")
#: How keys begin in ENDED, by state.
ENDED_AS = {state: ENDED + bytes([IS_LEAVING - state]) for state in range(IS_COMPLETED, IS_LEAVING + 1)}


class Standing:
    """A task's cell. `when`: its time in LEASE, SCHEDULED or ENDED. The four after that are of its last lease:
    since and beat by its boot's clock, `at` since 1970, for people. `runtime` (0: any) is the task's own."""

    __slots__ = (
        "at", "attempts", "beat", "boot", "deaths", "epoch", "facet", "holder",
        "runtime", "since", "state", "ttl", "when",
    )  # fmt: skip
    state: int
    when: int

    def __init__(self, data: bytes) -> None:
        (
            self.state, self.epoch, self.attempts, self.deaths, self.runtime,
            self.boot, self.when, self.since, self.beat, self.ttl, self.at,
        ) = HEAD.unpack_from(data)  # fmt: skip
        self.facet, _, self.holder = data[SIZE:].partition(b"\0")

    def packed(self) -> bytes:
        head = HEAD.pack(
            self.state, self.epoch, self.attempts, self.deaths, self.runtime,
            self.boot, self.when, self.since, self.beat, self.ttl, self.at,
        )  # fmt: skip
        return head + self.facet + b"\0" + self.holder

    @property
    def live(self) -> bool:
        return self.state <= IS_CLAIMED

    @property
    def cell(self) -> states.Cell:
        """Of one that has departed: as it stood before."""
        state = STATES[self.since if self.state == IS_LEAVING else self.state]
        return states.Cell(
            state,
            self.epoch,
            self.attempts,
            self.deaths,
            self.holder.decode() if state in (State.CLAIMED, State.COMPLETED) else "",
            self.when / MICRO if state is State.SCHEDULED and self.state != IS_LEAVING else 0.0,
        )

    @property
    def worker(self) -> bytes:
        return worker_of(self.holder)

    def place(self, task: bytes) -> bytes:
        """Its key among those of its state."""
        if self.state == IS_CLAIMED:
            return LEASE_AT.pack(LEASE, self.boot, self.when, task)
        if self.state == IS_READY:
            return ready_line(self.facet) + task
        if self.state == IS_SCHEDULED:
            return TIME_AT.pack(SCHEDULED, self.when, task)
        if self.state == IS_BLOCKED:
            return BLOCKED + task
        return ENDED_AT.pack(ENDED_AS[self.state], self.when, task)


def new_cell(state: int, facet: bytes, when: int = 0, runtime: int = 0) -> bytes:
    return HEAD.pack(state, 0, 0, 0, runtime, 0, when, 0, 0, 0, 0) + facet + b"\0"


def ready_line(facet: bytes) -> bytes:
    """How the keys of one priority begin in READY."""
    return READY + (LOWEST - int(facet.partition(b"-")[0])).to_bytes(2)


def facet_line(facet: bytes) -> bytes:
    """How the keys of one facet begin in READY_OF: the highest priority first."""
    priority, _, digest = facet.partition(b"-")
    return READY_OF + (LOWEST - int(priority)).to_bytes(2) + digest


def facet_at(key: bytes) -> bytes:
    """The facet's code behind a key of READY_OF."""
    return b"%d-%s" % (LOWEST - int.from_bytes(key[1:3]), key[3:-16])


def worker_of(holder: bytes) -> bytes:
    return holder.rpartition(b".")[0] or holder


def hashed(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=24).digest()


def binary(task_id: str) -> bytes:
    """An id as keys have it."""
    if not is_id(task_id):
        raise BadInput(f"task id {task_id[:40]!r} is not acceptable; ids are 32 hex digits")
    return bytes.fromhex(task_id)


def micro(seconds: float) -> int:
    return round(seconds * MICRO)
