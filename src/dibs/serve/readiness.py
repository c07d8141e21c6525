"""`/healthz`: the daemon runs. `/readyz`: every queue behind it answers; a 503 names those that do not."""

import asyncio

from dibs import __version__
from dibs.queues.remote.wire import dump
from dibs.serve.house import House
from dibs.serve.reply import Reply, Send
from dibs.serve.request import Request

FRESH_SECONDS = 1.0  # no token is asked for here: whoever asks often costs no more


async def health(house: House, request: Request, send: Send) -> Reply:
    return Reply(200, dump({"ok": True, "version": __version__}))


class _Asked:
    """What the last look around found; one at a time."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.at = float("-inf")
        self.silent: tuple[str, ...] = ()


async def ready(house: House, request: Request, send: Send) -> Reply:
    last: _Asked = house.seen.setdefault("readiness", _Asked())
    async with last.lock:
        if house.clock.boottime() - last.at > FRESH_SECONDS:
            last.silent = await _silent(house)
            last.at = house.clock.boottime()
    if house.stopping:
        return _not("the daemon is stopping")
    if last.silent:
        return _not(f"no answer from the queue behind: {', '.join(last.silent)}; see the daemon's log")
    return Reply(200, dump({"ready": True}))


def _not(why: str) -> Reply:
    return Reply(503, dump({"error": {"kind": "storage", "message": why}}))


async def _silent(house: House) -> tuple[str, ...]:
    """Why not is in the log: no token is asked for here."""
    counters = dict(house.counters)
    answers = await asyncio.gather(*(counter.health.answers() for counter in counters.values()))
    silent = [name for name, answer in zip(counters, answers, strict=True) if not answer]
    return tuple(sorted([*silent, *house.absent]))
