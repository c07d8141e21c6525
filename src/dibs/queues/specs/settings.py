"""The settings of a `specs:` URL: specs:FOLDER?locks=FOLDER2&stale=SECONDS&git=push…"""

import os

from dibs.errors import BadInput
from dibs.queues.lockfiles import limits
from dibs.queues.lockfiles.limits import Limits
from dibs.specs.view import locks_of
from dibs.values import dataclass

DEFAULT = ".dibs/specs"
STALE_SECONDS = 4 * 3600.0
MODES = ("push", "refs")
KNOWN = ("locks", "stale", "git", "remote", "branch", *limits.KNOWN)


@dataclass(frozen=True, slots=True)
class Settings:
    folder: str
    locks: str
    stale: float = STALE_SECONDS  # after so long without a sign of life a claim of another host is void
    git: str | None = None
    remote: str | None = None
    branch: str | None = None
    limits: Limits = Limits()


def parse(url: str, path: str, settings: dict[str, str]) -> Settings:
    limits.check_known(url, settings, KNOWN)
    folder = os.path.abspath(path or DEFAULT)
    mode = settings.get("git") or None
    if mode not in (None, *MODES):
        raise BadInput(f"git={mode} in {url!r} is not known; use one of {', '.join(MODES)}, or leave it out")
    return Settings(
        folder,
        os.path.abspath(settings["locks"]) if settings.get("locks") else locks_of(folder),
        limits.seconds(url, settings, "stale", STALE_SECONDS),
        mode,
        settings.get("remote") or None,
        settings.get("branch") or None,
        limits.limits(url, settings),
    )
