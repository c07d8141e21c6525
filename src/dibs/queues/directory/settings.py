"""The settings of a `dir:` URL: dir:FOLDER?done=FOLDER2&leases=FOLDER3&settle=SECONDS…"""

import os

from dibs.errors import BadInput
from dibs.queues.lockfiles import limits
from dibs.queues.lockfiles.limits import Limits
from dibs.values import dataclass

KNOWN = ("done", "leases", "settle", *limits.KNOWN)
SETTLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    folder: str
    done: str
    leases: str
    settle: float = SETTLE_SECONDS
    limits: Limits = Limits()


def parse(url: str, path: str, settings: dict[str, str]) -> Settings:
    limits.check_known(url, settings, KNOWN)
    if not path:
        raise BadInput(f"{url!r} names no folder; write dir:FOLDER")
    folder = os.path.abspath(path)
    done = os.path.abspath(settings.get("done", f"{folder}.done"))
    leases = os.path.abspath(settings.get("leases", f"{folder}.leases"))
    if len({folder, done, leases}) != 3:
        raise BadInput(f"{url!r}: the folder, done and leases must be three different folders")
    settle = limits.seconds(url, settings, "settle", SETTLE_SECONDS)
    return Settings(folder, done, leases, settle, limits.limits(url, settings))
