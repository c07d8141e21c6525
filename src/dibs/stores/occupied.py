"""What a folder is already. Two things in one would not notice each other, until somebody removes one of them."""

import os
from collections.abc import Collection
from typing import NamedTuple

from dibs.errors import BadInput, FormatError
from dibs.stores.refusal import refusals
from dibs.task import decode

LEASES = "where a dir: or specs: queue keeps its leases"
_LMDB, _GROWING = "data.mdb", "grow.lock"


class Occupant(NamedTuple):
    what: str
    use: str  # what it is for
    ours: bool = True  # made by dibs


def occupant(folder: str) -> Occupant | None:
    """What of dibs, or of LMDB, is in a folder."""
    record = _record(f"{folder}/dibs.json")
    if "index" in record:
        return Occupant("an index", "`dibs index` works on it")
    if "shards" in record:
        return Occupant("a queue of files", f"use file:{folder}")
    if "format" in record:
        return Occupant(LEASES, "leave it to that queue")
    if os.path.isfile(f"{folder}/{_LMDB}"):
        ours = os.path.isfile(f"{folder}/{_GROWING}")
        return Occupant(f"an LMDB {'queue' if ours else 'environment'}", f"use lmdb:{folder}", ours)
    return None


def refuse_occupied(folder: str, wanted: str, *, only_ours: bool = False) -> None:
    """FormatError when it is something else than what is `wanted`; `only_ours`: anybody else's files are welcome."""
    there = occupant(folder)
    if there is not None and (there.ours or not only_ours):
        raise FormatError(f"{folder} is {there.what}, not {wanted}; {there.use}, or name another folder")


def refuse_occupied_leases(folder: str) -> None:
    """Of a folder that is named for leases: other tools may keep theirs there too, and anything else."""
    there = occupant(folder)
    if there is not None and there.what != LEASES:
        raise FormatError(f"{folder} is {there.what}, not a place for leases; {there.use}, or name another folder")


def refuse_strangers(folder: str, wanted: str, own: Collection[str]) -> None:
    """The same for what wants a folder for itself: whatever is there but its `own`, and hidden files, is refused."""
    refuse_occupied(folder, wanted)
    with refusals(folder):
        try:
            names = sorted(os.listdir(folder))
        except FileNotFoundError:
            return
    strangers = [name for name in names if name not in own and not name.startswith(".")]
    if strangers:
        raise FormatError(
            f"{folder} is not {wanted}: other files are in it ({ascii(strangers[0])[1:-1]}); name another folder"
        )


def _record(path: str) -> dict[str, object]:
    try:
        with open(path, "rb") as file:
            found = decode(file.read(4096))
    except (OSError, BadInput):
        return {}  # whoever opens it says what is wrong
    return found if isinstance(found, dict) else {}
