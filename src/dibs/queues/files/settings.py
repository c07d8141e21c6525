"""The settings in the URL of a file queue."""

import os
from typing import Any

from dibs.errors import BadInput
from dibs.queues.files.layout import FORMATS, SHARDS

SETTINGS = ("sync", "shards", "retention", "steps")


def read_settings(url: str, path: str, settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """The folder, and the options that the settings stand for."""
    unknown = sorted(set(settings) - set(SETTINGS))
    if unknown:
        raise BadInput(f"setting {unknown[0]!r} in {url!r} is not known; known: {', '.join(SETTINGS)}")
    if not path:
        raise BadInput(f"{url!r} names no folder; write file:PATH")
    sync = settings.get("sync", "on")
    if sync not in ("on", "off"):
        raise BadInput(f"sync={sync} in {url!r} is not known; use sync=on (default) or sync=off")
    steps = settings.get("steps")
    if steps not in (None, *FORMATS):
        raise BadInput(f"steps={steps} in {url!r} is not known; use steps=rename (default) or steps=marker")
    try:
        shards = int(settings.get("shards", SHARDS))
        retention = float(settings["retention"]) if "retention" in settings else None
    except ValueError as error:
        raise BadInput(f"{url!r}: {error}; shards and retention (seconds) are numbers") from None
    return os.path.abspath(path), {"sync": sync == "on", "shards": shards, "retention": retention, "steps": steps}
