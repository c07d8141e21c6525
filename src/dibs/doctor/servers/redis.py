"""Redis: version, role, what is kept and what is thrown away, its clock, and one race for keys."""

import random
from collections.abc import Callable, Iterator
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
from dibs.queues.redis.server import Server

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


class Line:
    """One connection, and commands as they are."""

    def __init__(self, server: Server) -> None:
        self._connection = server.connection(20.0)

    def ask(self, *words: Any) -> Any:
        self._connection.send_command(*words)
        return self._connection.read_response()


class Acts:
    def __init__(self, place: list[str]) -> None:
        url, self._key = place
        self._line = Line(_server(url))
        self._clock = SYSTEM

    def ready(self, me: int) -> bool:
        return bool(self._line.ask("PING"))

    def race(self, me: int, count: int, at: float, step: float) -> list[str]:
        return [
            WON if self._line.ask("SET", f"{self._key}:{number}", me, "NX", "EX", _LIVES_SECONDS) else LOST
            for number in rounds(count, at, step, self._clock)
        ]

    def pace(self, me: int, seconds: float) -> list[float]:
        """(how many, in how many seconds)"""
        done, start = 0, self._clock.boottime()
        while (now := self._clock.boottime()) - start < seconds:
            self._line.ask("SET", f"{self._key}:pace-{me}", "x" * 200, "EX", _LIVES_SECONDS)
            done += 1
        return [done, now - start]


def examine_redis(
    report: Report, url: str, clock: Clock, rng: random.Random, tell: Callable[[str], None], *, quick: bool
) -> None:
    tell("settings")
    server = _server(url)
    info, line = server.check(), Line(server)
    report.kind = f"Redis {info.get('redis_version', '')}"
    report.findings += _settings(info, _told(line, "appendfsync"))
    seconds, micro = line.ask("TIME")
    report.findings.append(skewed(int(seconds) + int(micro) / 1e6 - clock.wall(), "server"))
    if any(one.level is Level.BAD for one in report.findings):
        return  # no queue can be here, whatever else it does
    tell("a race for keys")
    key, count = f"{server.address.base}:doctor:{rng.getrandbits(40):010x}", 60 if quick else 200
    report.findings += _raced(report, line, [url, key], clock, count)


def _raced(report: Report, line: Line, place: list[str], clock: Clock, count: int) -> Iterator[Finding]:
    key = place[1]
    try:
        yield raced(__name__, place, clock, crew=_CREW, count=count, step=0.005, check="one winner")
        yield paced(report, __name__, place, clock, crew=_CREW)
    except StorageError as error:
        words, remedy = f"could not be tried: {error}", "look at the server's log, and at what this user may do"
        yield Finding(check="one winner", tried="begun", happened=words, level=Level.BAD, remedy=remedy)
    finally:
        with suppress(Exception):  # they end by themselves; what went wrong before matters more
            line.ask("DEL", *(f"{key}:{number}" for number in range(count)), *(f"{key}:pace-{n}" for n in range(_CREW)))


def _told(line: Line, name: str) -> str:
    """A setting; nothing where the server keeps it to itself, as hosted ones do."""
    try:
        answer = line.ask("CONFIG", "GET", name)
        return bytes(answer[1]).decode()
    except Exception:  # whatever the driver makes of a refusal
        return ""


def _settings(info: dict[str, str], fsync: str = "") -> Iterator[Finding]:
    yield Finding(check="version", tried="asked", happened=info.get("redis_version", "unknown"))
    if info.get("role") not in (None, "master"):
        words = "this is a replica: nothing can be written here"
        yield Finding(check="role", tried="asked", happened=words, level=Level.BAD, remedy="name the primary")
    if info.get("aof_enabled") == "0":
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


def _server(url: str) -> Server:
    from urllib.parse import parse_qsl

    query = split_url(url)[2]
    return Server(parse(url, dict(parse_qsl(query, keep_blank_values=True))), SYSTEM, random.Random())
