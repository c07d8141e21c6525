"""From the QUEUE argument to an open queue.

QUEUE is a name in dibs.toml, or else a URL or path; `.` (or nothing) is the default queue. A name wins
over a folder of the same name: `./name` is the folder. `queue_type` says what a plain path means and
never changes a URL. Only push and work create a queue; to anybody else one that is not there is an error.
"""

from __future__ import annotations

import os

from dibs import config as settings
from dibs.cli.exits import USAGE, CommandError
from dibs.queues import open_queue, scheme_of_provider, split_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from dibs.queues.queue import Queue

_REMOTE = ("s3", "gs", "az", "sqs", "postgres", "postgresql", "redis", "rediss", "http", "https")
_PATHS = ("file", "dir", "lmdb", "specs")  # schemes whose body is a path
_PATH_PARAMETERS = ("done", "leases", "locks")


class Place:
    """Where a queue is: its URL, its name in dibs.toml if it has one, and the settings that apply to it.

    `ours`: dibs.toml names it, or it is the default queue."""

    def __init__(self, url: str, name: str | None, config: settings.Config, *, ours: bool = False) -> None:
        self.url = url
        self.name = name
        self.config = config
        self.ours = ours

    def setting(self, name: str, flag: Any = None) -> Any:
        return self.config.setting(name, self.name, flag).value


def find(queue: str | None, queue_type: str | None = None, config: settings.Config | None = None) -> Place:
    """Where QUEUE is. Nothing is opened or created."""
    config = settings.load() if config is None else config
    base = ""
    ours = queue in (None, ".")
    if ours:
        default = config.setting("queue")
        queue = str(default.value)
        base = config.folder if default.source in (config.path, f"{config.path} [queue]") else ""
    elif not queue:
        raise CommandError("QUEUE is empty", "give a name from dibs.toml, a URL or a path", USAGE)
    name = queue if queue in config.queues else None
    if name is not None:
        queue, base = config.url(name), config.folder
    provider = config.setting("queue_type", name, queue_type)
    scheme = scheme_of_provider(provider.value)
    return Place(_absolute(_typed(str(queue), scheme), base), name, config, ours=ours or name is not None)


def find_specs(place: Place) -> Place | None:
    """Where the specs are that feed a queue of dibs.toml, if any do."""
    given = None if place.name is None else place.config.specs(place.name)
    if given is None:
        return None
    url = _typed(given, "specs")
    if split_url(url)[0] != "specs":
        raise CommandError(f"specs of [queues.{place.name}] are {given!r}", "write a folder, or specs:…", USAGE)
    return Place(_absolute(url, place.config.folder), None, place.config)


def nearest(place: Place) -> Place:
    """The same queue through the daemon of this dibs.toml, where that is wanted and it answers; else as it is."""
    if not place.ours or not place.config.daemon("enabled"):
        return place
    from dibs.cli.near import through

    return through(place)


def open_place(
    place: Place, *, create: bool = False, look: bool = False, lasting: bool = False, **options: Any
) -> Queue:
    """Open it; with `look`, without leaving a trace. A queue that lives in one process is refused unless that is
    `lasting`: with a command it would be gone."""
    scheme = split_url(place.url)[0]
    if scheme == "memory" and not lasting:
        if place.ours and place.config.daemon("enabled"):
            raise CommandError("memory: is in the daemon of this dibs.toml, which does not answer", "dibs serve", USAGE)
        raise CommandError(
            "memory: lives inside one process, so with this command its tasks would be gone",
            "a path, such as queues/scrape; or [daemon] enabled = true in dibs.toml, and `dibs serve` to hold it",
            USAGE,
        )
    if scheme in ("file", "lmdb") or scheme in _REMOTE:
        options["create"] = create
    elif scheme in ("dir", "specs"):
        options["create"] = not look  # the folder is a queue already; what else it needs is made beside it
    queue = open_queue(place.url, **options)
    if getattr(queue, "advised", False):
        from dibs.cli.output import warn

        warn(f"new queue {place.url}: its steps go by markers, as the doctor found that they must here")
    return queue


def opened(args: Namespace, *, look: bool = False) -> Queue:
    """The queue that the arguments name."""
    return open_place(nearest(find(args.queue, args.queue_type)), look=look)


def _typed(queue: str, scheme: str) -> str:
    """A plain path gets the scheme of the provider; a URL stays as it is."""
    plain = split_url(queue)[0] == "file" and not queue.lower().startswith("file:")
    return f"{scheme}:{'//' if scheme in _REMOTE else ''}{queue}" if plain else queue


def _absolute(url: str, base: str) -> str:
    """`url` with its relative paths taken from `base`; untouched without one."""
    scheme, path, query = split_url(url)
    if not base or scheme not in _PATHS:
        return url
    fields = []
    for field in query.split("&") if query else ():
        name, equals, value = field.partition("=")
        fields.append(f"{name}={os.path.join(base, value)}" if equals and name in _PATH_PARAMETERS else field)
    tail = f"?{'&'.join(fields)}" if fields else ""
    return f"{scheme}:{os.path.join(base, path)}{tail}"
