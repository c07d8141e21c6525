"""Redis: version, role, what is kept and what is thrown away, its clock, and one race for tasks."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.times import skewed
from dibs.doctor.race import LOST, WON, rounds
from dibs.doctor.report import Report
from dibs.doctor.servers.racing import paced, raced
from dibs.errors import StorageError
from dibs.queues import split_url
from dibs.queues.redis.address import parse
from dibs.queues.redis.answers import MICRO
from dibs.queues.redis.scripts import script
from dibs.queues.redis.server import Server
from dibs.task import Task, encode

_CREW = 5
_SYNCING = {
    "always": ("synced with every write", Level.GOOD),
    "everysec": ("synced every second: a power cut costs up to a second of pushes", Level.GOOD),
    "no": (
        "never synced by itself (appendfsync no): a power cut costs what is not written yet",
        Level.WARNING,
    ),
    "": ("how often it is synced is not told here; with everysec a power cut costs up to a second", Level.NOTE),
}
_LIVES_SECONDS = 120  # of the doctor's keys, should it be killed
_KEPT = ("tasks", "ready", "cells", "claimed")  # the keys of a queue whose one task is claimed
_HELD = 60 * MICRO
_RIGHTS = "+@read +@write +eval +evalsha +time +info +select +publish +subscribe"


class Scratch(Server):
    """The way to the server that queues go, nodes of a cluster and all. A script's first argument is its base."""

    def _evalsha(self, verb: str, args: Sequence[Any]) -> tuple[Any, ...]:
        return ("EVALSHA", script(verb).sha, 1, *args)

    def command(self, *words: Any) -> Any:
        return self._tried([words], True)[0]

    def commands(self, *commands: tuple[Any, ...]) -> None:
        self._tried(list(commands), True)


class Acts:
    def __init__(self, place: list[str]) -> None:
        url, self._base = place
        self._server = _server(url)
        self._clock = SYSTEM

    def ready(self, me: int) -> bool:
        return bool(self._server.ask("time", self._base))

    def race(self, me: int, count: int, at: float, step: float) -> list[str]:
        """Each claims the one task of the round's own small queue, by the script that claims in all of them."""
        who = f"doctor-{me}."
        return [
            WON
            if self._server.ask("claim", f"{self._base}:{n}", 1, _HELD, f"{who}{n}", "", 0, twice=False)[0]
            else LOST
            for n in rounds(count, at, step, self._clock)
        ]

    def pace(self, me: int, seconds: float) -> list[float]:
        """(how many, in how many seconds)"""
        done, start, key = 0, self._clock.boottime(), f"{self._base}:pace-{me}"
        while (now := self._clock.boottime()) - start < seconds:
            self._server.command("HSET", key, "x", "x" * 200)
            done += 1
            if done == 1:
                _end_by_themselves(self._server, [key])
        return [done, now - start]


def examine_redis(
    report: Report, url: str, clock: Clock, rng: random.Random, tell: Callable[[str], None], *, quick: bool
) -> None:
    tell("settings")
    server = _server(url)
    base, count = f"{server.address.base}:doctor:{rng.getrandbits(40):010x}", 60 if quick else 200
    clocked = _clocked(server, base, clock)  # first: in a cluster it leads to the node that is meant
    info = server.check()
    report.kind = f"Redis {info.get('redis_version', '')}"
    report.findings += _settings(info, _told(server, "appendfsync"))
    report.findings.append(clocked)
    if any(one.level is Level.BAD for one in report.findings):
        return  # no queue can be here, whatever else it does
    tell("a race for tasks")
    report.findings += _raced(report, server, [url, base], clock, rng, count)


def _clocked(server: Scratch, base: str, clock: Clock) -> Finding:
    try:
        return skewed(int(server.ask("time", base)) / MICRO - clock.wall(), "server")
    except StorageError as error:
        words = f"could not be asked by a script: {_plain(error)}"
        return Finding(check="clock", tried="asked", happened=words, level=Level.BAD, remedy=_rights(server))


def _raced(
    report: Report, server: Scratch, place: list[str], clock: Clock, rng: random.Random, count: int
) -> Iterator[Finding]:
    base = place[1]
    keys = [f"{base}:{number}:{kind}" for number in range(count) for kind in _KEPT]
    try:
        _push(server, base, count, keys, rng)
        yield raced(__name__, place, clock, crew=_CREW, count=count, step=0.005, check="one winner")
        yield paced(report, __name__, place, clock, crew=_CREW)
    except StorageError as error:
        words = f"could not be tried: {_plain(error)}"
        yield Finding(check="one winner", tried="begun", happened=words, level=Level.BAD, remedy=_rights(server))
    finally:
        with suppress(Exception):  # they end by themselves; what went wrong before matters more
            server.command("DEL", *keys, *(f"{base}:pace-{number}" for number in range(_CREW)))


def _push(server: Scratch, base: str, count: int, keys: list[str], rng: random.Random) -> None:
    """One task into each of so many small queues. What claiming will write besides is there before, so that it can be
    told to end by itself."""
    tasks = [Task(id=f"{rng.getrandbits(128):032x}") for _ in range(count)]
    server.ask_many([("push", (f"{base}:{n}", 1, task.id, encode(task.to_record()))) for n, task in enumerate(tasks)])
    server.commands(*(("HSET", f"{base}:{n}:cells", "doctor", "") for n in range(count)))
    server.commands(*(("ZADD", f"{base}:{n}:claimed", "+inf", "doctor") for n in range(count)))
    _end_by_themselves(server, keys)


def _end_by_themselves(server: Scratch, keys: list[str]) -> None:
    with suppress(StorageError):  # queues do without that right
        server.commands(*(("EXPIRE", key, _LIVES_SECONDS) for key in keys))


def _plain(error: StorageError) -> str:
    return str(error).removesuffix("; see its ACL")


def _rights(server: Scratch) -> str:
    return (
        "look at the server's log, and at what this user may do: "
        f"ACL SETUSER … {_RIGHTS} ~{server.address.base}* &{server.address.base}*"
    )


def _told(server: Scratch, name: str) -> str:
    """A setting; nothing where the server keeps it to itself, as hosted ones do."""
    try:
        return bytes(server.command("CONFIG", "GET", name)[1]).decode()
    except (StorageError, IndexError):
        return ""


def _settings(info: dict[str, str], fsync: str = "") -> Iterator[Finding]:
    yield Finding(check="version", tried="asked", happened=info.get("redis_version", "unknown"))
    if info.get("role") not in (None, "master"):
        words = "this is a replica: nothing can be written here"
        yield Finding(check="role", tried="asked", happened=words, level=Level.BAD, remedy="name the primary")
    if "aof_enabled" not in info:
        words = "the server does not tell what it keeps on disk; ask whoever runs it"
        yield Finding(check="persistence", tried="asked", happened=words, level=Level.NOTE)
    elif info["aof_enabled"] == "0":
        words = "no append-only file: a crash loses what was pushed since the last snapshot"
        remedy = "appendonly yes; with appendfsync always not even the last second is lost"
        yield Finding(check="persistence", tried="asked", happened=words, level=Level.WARNING, remedy=remedy)
    else:
        words, level = _SYNCING.get(fsync, _SYNCING[""])
        remedy = "CONFIG SET appendfsync everysec, or always" if level is Level.WARNING else ""
        happened = f"append-only file on, {words}"
        yield Finding(check="persistence", tried="asked", happened=happened, level=level, remedy=remedy)
    if info.get("aof_last_write_status", "ok") != "ok" or info.get("rdb_last_bgsave_status", "ok") != "ok":
        words = "the last write to disk failed"
        yield Finding(check="disk", tried="asked", happened=words, level=Level.BAD, remedy="see the server's log")
    policy = info.get("maxmemory_policy", "noeviction")
    if policy.startswith("allkeys-"):
        words = f"maxmemory-policy is {policy}: tasks are deleted when memory is short"
        remedy = "maxmemory-policy noeviction"
        yield Finding(check="eviction", tried="asked", happened=words, level=Level.BAD, remedy=remedy)
    else:
        yield Finding(check="eviction", tried="asked", happened=f"{policy}: no task is thrown away")
    replicas = int(info.get("connected_slaves", "0") or 0)
    if replicas:
        words = f"{replicas} replicas, which get writes later: a failover can lose the last ones"
        yield Finding(check="replicas", tried="asked", happened=words, level=Level.NOTE)


def _server(url: str) -> Scratch:
    from urllib.parse import parse_qsl

    query = split_url(url)[2]
    return Scratch(parse(url, dict(parse_qsl(query, keep_blank_values=True))), SYSTEM, random.Random())
