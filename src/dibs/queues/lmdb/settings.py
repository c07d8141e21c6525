"""What `lmdb:FOLDER?sync=on&retention=604800&map=4194304` says."""

from typing import NamedTuple

from dibs.errors import BadInput
from dibs.task import checked_number

SETTINGS = ("sync", "retention", "map")
FIRST_BYTES = 4 << 20
_FEWEST_BYTES = 1 << 16


class Settings(NamedTuple):
    folder: str
    sync: bool
    retention: float | None
    first_bytes: int


def parse(url: str, path: str, settings: dict[str, str]) -> Settings:
    """BadInput says what is missing or wrong."""
    unknown = sorted(set(settings) - set(SETTINGS))
    if unknown:
        raise BadInput(f"setting {unknown[0]!r} in {url!r} is not known; known: {', '.join(SETTINGS)}")
    folder = path.removeprefix("//")
    if not folder:
        raise BadInput(f"{url!r} names no folder; write lmdb:FOLDER")
    sync = settings.get("sync", "on")
    if sync not in ("on", "off"):
        raise BadInput(f"sync={sync} in {url!r} is not acceptable; use on or off")
    try:
        retention = checked_number("retention", float(settings["retention"]), 0) if "retention" in settings else None
        first_bytes = max(int(settings.get("map", FIRST_BYTES)), _FEWEST_BYTES)
    except ValueError as error:
        raise BadInput(f"{url!r}: {error}; retention is in seconds, map in bytes") from None
    return Settings(folder, sync == "on", retention, first_bytes)
