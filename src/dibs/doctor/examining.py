"""From a URL to a report: which checks its backend needs."""

import random
from collections.abc import Callable
from importlib import import_module

from dibs.clock import SYSTEM, Clock
from dibs.doctor.place import folder_of, named, settings
from dibs.doctor.report import Report, Verdict
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
    "http": ("dibs.doctor.servers.daemon", "examine_daemon"),
    "https": ("dibs.doctor.servers.daemon", "examine_daemon"),
    "unix": ("dibs.doctor.servers.daemon", "examine_daemon"),
}
_NOTHING = "{}: is a part of one process and gone with it: there is no storage to examine; name a folder or a server"


def examine(
    url: str,
    *,
    quick: bool = False,
    hosts: int = 1,
    tell: Tell = lambda _: None,
    clock: Clock = SYSTEM,
    rng: random.Random | None = None,
) -> Report:
    """`tell` hears what is being tried. `hosts` above 1 waits for so many, see `folders.hosting`; folders only.
    StorageError when it cannot be tried at all: it is out of reach, or this user may not write there."""
    scheme = split_url(url)[0]
    if scheme not in BACKENDS:
        raise BadInput(
            f"no backend for {scheme!r} in {redact(url)!r}; known: {', '.join(f'{one}:' for one in BACKENDS)}"
        )
    if scheme not in _FOLDERS and scheme not in _SERVERS:
        raise BadInput(_NOTHING.format(scheme))
    if hosts > 1 and scheme not in _FOLDERS[:3]:
        raise BadInput(f"--hosts and --join are for folders that hosts share, not for {scheme}:")
    rng = rng or random.Random()
    report = Report(place=redact(url), scheme=scheme, hosts=hosts, begun=clock.boottime())
    if scheme in _FOLDERS:
        _folder(report, url, clock, rng, tell, quick=quick, hosts=hosts)
    else:
        module, name = _SERVERS[scheme]
        getattr(import_module(module), name)(report, url, clock, rng, tell, quick=quick)
    if report.verdict in (Verdict.UNSAFE, Verdict.NONE):
        report.advice.clear()  # on how to work where nobody should, or nobody knows
    report.seconds = clock.boottime() - report.begun
    return report


def _folder(report: Report, url: str, clock: Clock, rng: random.Random, tell: Tell, *, quick: bool, hosts: int) -> None:
    from dibs.doctor.folders import missing, pace
    from dibs.doctor.folders.battery import examine_folder

    scheme, _, _ = split_url(url)
    more = []
    if scheme == "lmdb":
        from dibs.doctor.servers import lmdb

        more.append(("transactions", lmdb.check))
    given = settings(url)
    if scheme == "specs":
        from dibs.queues.specs.settings import parse

        parse(url, named(url), given)  # says what is wrong in it
    through_git = scheme == "specs" and bool(given.get("git"))
    paced = pace.check if scheme == "file" else pace.by_queue(scheme)
    report.findings += missing.check(named(url))
    examine_folder(
        report,
        folder_of(url),
        clock,
        rng,
        tell,
        quick=quick,
        hosts=hosts,
        more=more,
        paced=None if through_git else paced,
        needs_locks=scheme in ("dir", "specs"),
    )
    if through_git and given["git"] == "push":
        from dibs.doctor.servers.branch import examine_branch

        remote, branch = given.get("remote", ""), given.get("branch", "")
        examine_branch(report, named(url), remote, branch, clock, rng, tell, quick=quick)
    elif through_git:
        from dibs.doctor.servers.git import examine_remote

        examine_remote(report, named(url), given.get("remote", ""), clock, rng, tell, quick=quick)
