"""From a URL to a report: which checks its backend needs."""

import os
import random
from collections.abc import Callable
from importlib import import_module

from dibs.clock import SYSTEM, Clock
from dibs.doctor.report import Report
from dibs.errors import BadInput
from dibs.queues import BACKENDS, split_url
from dibs.redact import redact

Tell = Callable[[str], None]
_FOLDERS = ("file", "dir", "specs", "lmdb")
_SERVERS = {
    "s3": ("dibs.doctor.buckets.battery", "examine_bucket"),
    "gs": ("dibs.doctor.buckets.battery", "examine_bucket"),
    "az": ("dibs.doctor.buckets.battery", "examine_bucket"),
    "postgres": ("dibs.doctor.servers.postgres", "examine_postgres"),
    "postgresql": ("dibs.doctor.servers.postgres", "examine_postgres"),
    "redis": ("dibs.doctor.servers.redis", "examine_redis"),
    "rediss": ("dibs.doctor.servers.redis", "examine_redis"),
    "sqs": ("dibs.doctor.servers.sqs", "examine_sqs"),
}
_NOTHING = {
    "memory": "memory: is a part of one process: there is no storage to examine",
    "http": "behind a daemon the doctor sees nothing; run it on the daemon's host, on the queue's own URL",
}


def examine(
    url: str,
    *,
    quick: bool = False,
    hosts: int = 1,
    tell: Tell = lambda _: None,
    clock: Clock = SYSTEM,
    rng: random.Random | None = None,
) -> Report:
    """`tell` hears what is being tried. `hosts` above 1 waits for so many, see `folders.hosting`; folders only."""
    scheme = split_url(url)[0]
    if scheme not in BACKENDS:
        raise BadInput(
            f"no backend for {scheme!r} in {redact(url)!r}; known: {', '.join(f'{one}:' for one in BACKENDS)}"
        )
    if scheme not in _FOLDERS and scheme not in _SERVERS:
        raise BadInput(_NOTHING.get(scheme, _NOTHING["http"]))
    if hosts > 1 and scheme not in _FOLDERS[:3]:
        raise BadInput(f"--hosts and --join are for folders that hosts share, not for {scheme}:")
    rng = rng or random.Random()
    report = Report(place=redact(url), hosts=hosts)
    start = clock.boottime()
    if scheme in _FOLDERS:
        _folder(report, url, clock, rng, tell, quick=quick, hosts=hosts)
    else:
        module, name = _SERVERS[scheme]
        getattr(import_module(module), name)(report, url, clock, rng, tell, quick=quick)
    report.seconds = clock.boottime() - start
    return report


def _folder(report: Report, url: str, clock: Clock, rng: random.Random, tell: Tell, *, quick: bool, hosts: int) -> None:
    from dibs.doctor.folders.battery import examine_folder

    scheme, path, _ = split_url(url)
    more = []
    if scheme == "lmdb":
        from dibs.doctor.servers import lmdb

        more.append(("transactions", lmdb.check))
    given = _settings(url)
    examine_folder(
        report,
        folder_of(url),
        clock,
        rng,
        tell,
        quick=quick,
        hosts=hosts,
        more=more,
        needs_locks=scheme != "file",
    )
    if scheme == "specs" and given.get("git"):
        from dibs.doctor.servers.git import examine_remote

        examine_remote(report, path or ".dibs/specs", given.get("remote", ""), clock, rng, tell, quick=quick)


def folder_of(url: str) -> str:
    """Where a queue of files does its compare-and-set: its own folder, or that of its leases or locks."""
    scheme, path, _ = split_url(url)
    given = _settings(url)
    path = path.removeprefix("//") if scheme == "lmdb" else path
    if scheme == "dir":
        path = given.get("leases") or f"{path.rstrip('/')}.leases"
    elif scheme == "specs":
        path = given.get("locks") or path or ".dibs/specs"
    if not path:
        raise BadInput(f"{redact(url)!r} names no folder; write {scheme}:PATH")
    return os.path.abspath(path)


def _settings(url: str) -> dict[str, str]:
    from urllib.parse import parse_qsl

    return dict(parse_qsl(split_url(url)[2], keep_blank_values=True))
