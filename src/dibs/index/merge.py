"""Which of two records of one key stays, the same on every machine and in every order; and a shard with its updates.

The later time wins. At the same time a deletion wins; else the record whose bytes have the greater SHA-256. That is one
order of all records, so merging is commutative, associative and idempotent: what is merged twice, or late, changes
nothing.
"""

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import NamedTuple

from dibs.index.block import Block, assemble
from dibs.index.locate import NEAR, locate
from dibs.index.times import compare
from dibs.index.usv import DELETED, END, UNIT, is_deletion, key_of, narrowed, widened

Rule = Callable[[bytes, bytes], bytes]  # of two lines with one key, the one that stays


def later(one: bytes, other: bytes) -> bytes:
    """Whole records: the later one."""
    left, right = one.split(UNIT, 2)[1], other.split(UNIT, 2)[1]
    gone, went = left.startswith(DELETED), right.startswith(DELETED)
    order = compare(left[2:] if gone else left, right[2:] if went else right)
    if not order and one != other:
        order = gone - went or _by_digest(one, other)
    return one if order >= 0 else other


def _by_digest(one: bytes, other: bytes) -> int:
    mine, others = _rank(one), _rank(other)
    return (mine > others) - (mine < others)


def _rank(line: bytes) -> tuple[bytes, int]:
    """Lines that differ only in how many fields are missing at the end are told apart by that."""
    return sha256(narrowed(line)).digest(), len(line)


def latest(lines: Iterable[bytes], rule: Rule, into: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """The line that stays of each key, added to what is in `into`."""
    for line in lines:
        key = key_of(line)
        known = into.get(key)
        into[key] = line if known is None else rule(known, line)
    return into


class Merged(NamedTuple):
    data: bytes
    lines: int
    deletions: int


def merged(
    shard: Block | None, updates: dict[bytes, bytes], fields: tuple[str, ...], rule: Rule, nonce: str
) -> Merged | None:
    """The shard's file with these updates in it; None when they change nothing. Lines are copied, not taken apart."""
    if shard is None:
        shard = Block(fields, b"", 0, 0, 0)
    elif shard.fields != fields:
        shard = _refitted(shard, len(fields))
    data, at = shard.data, shard.start
    copied = memoryview(data)
    lines, deletions, kept = shard.lines, shard.deletions, at
    pieces: list[bytes | memoryview] = []
    near = max(NEAR, len(data) // (len(updates) + 1))
    for key in sorted(updates):
        new = updates[key]
        at, end = locate(data, key, at, near)
        if at == end:
            lines += 1
        else:
            old = data[at : end - 2]
            new = rule(old, new)
            if new == old:
                at = end
                continue
            deletions -= shard.deletions > 0 and is_deletion(old)
        deletions += is_deletion(new)
        if at > kept:
            pieces.append(copied[kept:at])
        pieces.append(new + END)
        kept = at = end
    if not pieces:
        return None
    pieces.append(copied[kept:])
    return Merged(assemble(fields, pieces, lines, deletions, nonce), lines, deletions)


def _refitted(shard: Block, width: int) -> Block:
    """With the fields that were added to the schema since."""
    body = b"".join(widened(line, width) + END for line in shard.all())
    return Block((), body, 0, shard.lines, shard.deletions)
