"""Where everything is below the root of an index, and which shard a key belongs to.

dibs.json                    what this is; fixed at creation
schema.json                  the names of the fields
inbox/<shard>/<id>.usv       records on their way; written once, deleted once they are in the shard
shards/<shard>.usv           the latest record of every key of the shard
shards/<shard>.lock          who compacts it, and what was last written to it: its part of the manifest
damaged/<shard>/…            files that could not be read in full, as they were found
"""

from collections.abc import Iterator
from hashlib import sha256
from unicodedata import normalize

from dibs.errors import BadInput
from dibs.task import checked_key, is_id

INBOX = "inbox/"
SHARDS = "shards/"
DAMAGED = "damaged/"
FILE = ".usv"
LOCK = ".lock"
COUNTS = {16: 1, 256: 2, 4096: 3, 65536: 4}  # how many shards, in how many hex digits
KEYS = ("text", "domain")


def digits_of(shards: int) -> int:
    try:
        return COUNTS[shards]
    except KeyError:
        raise BadInput(f"shards {shards} is not acceptable; use {', '.join(map(str, COUNTS))}") from None


def shard_of(key: str, digits: int) -> str:
    """Of a normalised key."""
    return sha256(key.encode()).hexdigest()[:digits]


def all_shards(digits: int) -> Iterator[str]:
    return (f"{number:0{digits}x}" for number in range(16**digits))


def is_shard(text: str, digits: int) -> bool:
    return len(text) == digits and not set(text) - set("0123456789abcdef")


def normalised(key: str, kind: str) -> str:
    """One way to write a key: no space around it, composed characters; a domain also in small letters, without dots at
    its end. Normalising again changes nothing. BadInput when nothing is left, or it is too long."""
    if isinstance(key, str):
        key = _once(key, kind)
        while kind == "domain" and (again := _once(key, kind)) != key:
            key = again
    return checked_key(key)


def _once(key: str, kind: str) -> str:
    key = key.strip()
    if not key.isascii():
        key = normalize("NFC", key)
    return key.lower().rstrip(".") if kind == "domain" else key


def normalised_prefix(text: str, kind: str) -> str:
    """The beginning of a key, as keys that begin so are written."""
    text = normalize("NFC", text.lstrip())
    return normalize("NFC", text.lower()) if kind == "domain" else text


def inbox_of(shard: str) -> str:
    return f"{INBOX}{shard}/"


def file_of(shard: str) -> str:
    return f"{SHARDS}{shard}{FILE}"


def lock_of(shard: str) -> str:
    return f"{SHARDS}{shard}{LOCK}"


def is_ours(path: str) -> bool:
    """By its name it is a file that only dibs writes; in the inbox others may leave files too."""
    return path.startswith(SHARDS) or is_id(path.rpartition("/")[2].removesuffix(FILE))


def aside_of(key: str, tag: str) -> str:
    """Where a damaged file is kept: what it was, and a mark of its content."""
    shard, _, name = key.removeprefix(INBOX).removeprefix(SHARDS).removesuffix(FILE).partition("/")
    return f"{DAMAGED}{shard}/{name or 'shard'}-{tag}{FILE}"
