"""Objects as git stores them, made and read here: so that any number of them costs one process, and no index is needed.

An object's id is the hash of its kind, size and content, so it is known before git has seen it.
"""

import hashlib
import zlib
from typing import NamedTuple

_KINDS = {"commit": 1, "tree": 2, "blob": 3}
FOLDER = "40000"
FILE = "100644"
LINK = "120000"


class Made(NamedTuple):
    kind: str
    data: bytes
    id: str


class TreeEntry(NamedTuple):
    mode: str
    id: str


def made(kind: str, data: bytes, hash: str) -> Made:  # noqa: A002
    digest = hashlib.new(hash, b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False)
    return Made(kind, data, digest.hexdigest())


def commit(tree: str, parents: list[str], author: str, seconds: float, message: bytes, hash: str) -> Made:  # noqa: A002
    when = f"{author} {max(0, int(seconds))} +0000"
    lines = [f"tree {tree}", *(f"parent {one}" for one in parents), f"author {when}", f"committer {when}", "", ""]
    return made("commit", "\n".join(lines).encode(errors="replace") + message, hash)


def message_of(commit: bytes) -> bytes:
    """What stands after the headers of a commit, byte for byte."""
    return commit.partition(b"\n\n")[2]


def tree(entries: dict[bytes, TreeEntry], hash: str) -> Made:  # noqa: A002
    ordered = sorted(entries.items(), key=lambda item: item[0] + (b"/" if item[1].mode == FOLDER else b""))
    parts = (b"%s %s\0%s" % (entry.mode.encode(), name, bytes.fromhex(entry.id)) for name, entry in ordered)
    return made("tree", b"".join(parts), hash)


def read_tree(data: bytes, hash: str) -> dict[bytes, TreeEntry]:  # noqa: A002
    entries: dict[bytes, TreeEntry] = {}
    size = hashlib.new(hash, usedforsecurity=False).digest_size
    at = 0
    while at < len(data):
        end = data.index(b"\0", at)
        mode, _, name = data[at:end].partition(b" ")
        at = end + 1 + size
        entries[name] = TreeEntry(mode.decode(), data[end + 1 : at].hex())
    return entries


def pack(objects: list[Made], hash: str) -> bytes:  # noqa: A002
    """A pack file for `git unpack-objects`."""
    parts = [b"PACK", (2).to_bytes(4, "big"), len(objects).to_bytes(4, "big")]
    for one in objects:
        parts += [_head(_KINDS[one.kind], len(one.data)), zlib.compress(one.data, 1)]
    body = b"".join(parts)
    return body + hashlib.new(hash, body, usedforsecurity=False).digest()


def _head(kind: int, size: int) -> bytes:
    head = bytearray([kind << 4 | size & 15])
    size >>= 4
    while size:
        head[-1] |= 128
        head.append(size & 127)
        size >>= 7
    return bytes(head)


def read_batch(out: bytes) -> list[tuple[str, str, bytes] | None]:
    """What `git cat-file --batch` wrote, in the order asked: (id, kind, content), None for what is not there."""
    found: list[tuple[str, str, bytes] | None] = []
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        words = out[at:end].split(b" ")
        if len(words) == 3 and words[2].isdigit():
            start, size = end + 1, int(words[2])
            found.append((words[0].decode(), words[1].decode(), out[start : start + size]))
            at = start + size + 1
        else:
            found.append(None)
            at = end + 1
    return found
