"""`/healthz`: the daemon runs. `/readyz`: every queue behind it answers; a 503 names those that do not."""

import asyncio

from dibs import __version__
from dibs.errors import DibsError
from dibs.queues.remote.wire import dump
from dibs.serve.counter import Counter
from dibs.serve.house import House
from dibs.serve.refusal import Refusal
from dibs.serve.reply import Reply, Send
from dibs.serve.request import Request

ANSWER_SECONDS = 5.0
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
    counters = list(house.counters.values())
    answers = await asyncio.gather(*(_answers(house, counter) for counter in counters))
    return tuple(counter.desk.name for counter, answer in zip(counters, answers, strict=True) if not answer)


async def _answers(house: House, counter: Counter) -> bool:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await counter.run(lambda: counter.desk.queue.paused)
    except (DibsError, Refusal, TimeoutError) as error:
        house.log.note("warning", "queue silent", queue=counter.desk.name, why=error)
        return False
    return True
