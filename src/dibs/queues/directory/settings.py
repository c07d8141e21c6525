"""The settings of a `dir:` URL: dir:FOLDER?done=FOLDER2&leases=FOLDER3&settle=SECONDS…"""

import os

from dibs.errors import BadInput
from dibs.queues.directory.steps import Limits
from dibs.values import dataclass

KNOWN = ("done", "leases", "settle", "max_attempts", "max_deaths", "max_runtime", "backoff", "max_backoff")
SETTLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    folder: str
    done: str
    leases: str
    settle: float = SETTLE_SECONDS
    limits: Limits = Limits()


def parse(url: str, path: str, settings: dict[str, str]) -> Settings:
    unknown = sorted(set(settings) - set(KNOWN))
    if unknown:
        raise BadInput(f"setting {unknown[0]!r} in {url!r} is not known; known: {', '.join(KNOWN)}")
    if not path:
        raise BadInput(f"{url!r} names no folder; write dir:FOLDER")
    folder = os.path.abspath(path)
    done = os.path.abspath(settings.get("done", f"{folder}.done"))
    leases = os.path.abspath(settings.get("leases", f"{folder}.leases"))
    if len({folder, done, leases}) != 3:
        raise BadInput(f"{url!r}: the folder, done and leases must be three different folders")
    runtime = settings.get("max_runtime")
    limits = Limits(
        max_attempts=_whole(url, settings, "max_attempts", 3),
        max_deaths=_whole(url, settings, "max_deaths", 5),
        max_runtime=None if runtime is None else _seconds(url, settings, "max_runtime", 0.0),
        backoff=_seconds(url, settings, "backoff", 1.0),
        max_backoff=_seconds(url, settings, "max_backoff", 3600.0),
    )
    return Settings(folder, done, leases, _seconds(url, settings, "settle", SETTLE_SECONDS), limits)


def _seconds(url: str, settings: dict[str, str], name: str, default: float) -> float:
    try:
        value = float(settings.get(name, default))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf") or (name == "max_runtime" and name in settings and value == 0):
        raise BadInput(f"{name}={settings[name]} in {url!r} is not acceptable; use seconds")
    return value


def _whole(url: str, settings: dict[str, str], name: str, default: int) -> int:
    text = settings.get(name, str(default))
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise BadInput(f"{name}={text} in {url!r} is not acceptable; use a whole number from 1")
    return int(text)
