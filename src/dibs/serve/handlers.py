"""What each route does: one function, named as in the table. `given` was checked by the table before."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from dibs.errors import BadInput
from dibs.facets import make_filter
from dibs.queues.queue import Queue
from dibs.serve.cache.chosen import Chosen
from dibs.serve.counter import Counter
from dibs.serve.desk import MOST_CLAIMED
from dibs.serve.masking import NOTHING_HIDDEN
from dibs.serve.refusal import Gone
from dibs.serve.search.asking import asked
from dibs.task import checked_number
from dibs.values import asdict, replace

LONGEST_WAIT = 60.0
_PAGE, _LARGEST_PAGE = 100, 1000
_SHORT = 10  # so many leases are claimed in a moment


class Call:
    """One request to one queue."""

    def __init__(
        self,
        counter: Counter,
        ref: str,
        given: dict[str, Any],
        *,
        attempt: int,
        hung_up: Callable[[], Awaitable[None]],
        looks: bool = False,
    ) -> None:
        """`looks`: by a token that may do no more; what is hidden in lists is hidden from it everywhere."""
        self.mask = counter.desk.mask if looks else NOTHING_HIDDEN
        self.counter = counter
        self.desk = counter.desk
        self.received = self.desk.now()
        self.ref = ref
        self.given = given
        self.first = attempt == 1  # so the client says; 0 when it says nothing
        self.repeat = attempt > 1  # the answer to an earlier one was lost
        self.hung_up = hung_up  # returns when the client is gone

    @property
    def queue(self) -> Queue:
        return self.desk.queue

    async def run(self, act: Callable[..., Any], *args: Any, **more: Any) -> Any:
        return await self.counter.run(partial(act, *args, **more))

    async def step(self, act: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """One that is usually short."""
        return await (self.run if self.repeat else self.counter.step)(act, *args, **more)


async def about(call: Call) -> Any:
    offers = replace(call.queue.capabilities, processes=True, admits=False)
    paused = await call.run(lambda: call.queue.paused)
    return {
        "name": call.desk.name, "identity": call.desk.identity, "capabilities": asdict(offers), "paused": paused,
    }  # fmt: skip


async def time(call: Call) -> Any:
    return {"time": await call.run(call.queue.store_time)}


async def stats(call: Call) -> Any:
    return (await call.run(call.desk.look.stats)).to_json()


async def claimed(call: Call) -> Any:
    return {"claims": [claim.to_json() for claim in await call.run(call.desk.claimed)]}


async def push(call: Call) -> Any:
    return {"tasks": await call.run(call.desk.push, call.given["tasks"], first=call.first)}


async def tasks(call: Call) -> Any:
    size = call.given.get("page", _PAGE)
    if not 1 <= size <= _LARGEST_PAGE:
        raise BadInput(f"page {size} is not acceptable; use 1 to {_LARGEST_PAGE}")
    if "next" in call.given:
        return await call.counter.next_page(call.given["next"], size)
    limit = call.given.get("limit")
    if limit is not None and limit < 0:
        raise BadInput(f"limit {limit} is not acceptable; use a whole number from 0")
    labels = tuple(call.given.get("label", ()))
    order = call.given.get("order", "run")
    if order not in ("run", "newest"):
        raise BadInput(f"order {order[:40]!r} is not known; use run or newest")
    chosen = Chosen(call.given.get("state"), call.given.get("project"), labels, limit, order == "newest")
    return await call.counter.first_page(chosen, size)


async def search(call: Call) -> Any:
    return await call.desk.search(asked(call.given["q"], call.given.get("sort"), call.given.get("limit")))


async def get(call: Call) -> Any:
    return call.mask.record((await call.run(call.queue.get, call.ref)).to_json())


async def detail(call: Call) -> Any:
    return call.mask.detail((await call.run(call.desk.detail, call.ref)).to_json())


async def why(call: Call) -> Any:
    chosen = make_filter(call.given.get("project"), call.given.get("label", ()), call.given.get("max_priority"))
    return (await call.run(call.desk.why, call.ref, chosen)).to_json()


async def lease(call: Call) -> Any:
    found = await call.run(call.desk.lease, call.ref, call.given["epoch"])
    shown = call.desk.show(found, call.received)
    return {**shown, "task": call.mask.record(shown["task"])}


async def claim(call: Call) -> Any:
    given = dict(call.given)
    limit, wait = given.pop("limit", 1), checked_number("wait", given.pop("wait", 0), 0)
    if not 1 <= limit <= MOST_CLAIMED:
        raise BadInput(f"limit {limit} is not acceptable; use a whole number from 1 to {MOST_CLAIMED}")
    wanted = call.desk.wanted(given)
    take = call.step if limit <= _SHORT else call.run
    looked, leases = await take(call.desk.take, limit, wanted)
    if not leases and wait > 0:
        waiter = call.counter.waiting.join(limit, wanted, call.received + min(wait, LONGEST_WAIT))
        gone = asyncio.ensure_future(call.hung_up())
        either: set[asyncio.Future[Any]] = {waiter.found, gone}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            call.counter.waiting.leave(waiter)
            gone.cancel()
        if not waiter.found.done():
            raise Gone
        looked, leases = waiter.found.result()
    shown = [call.desk.show(lease, looked) for lease in leases]
    return {"leases": shown, "waited": looked - call.received}


async def renew(call: Call) -> Any:
    kept = await call.step(call.desk.renew, call.ref, call.given["epoch"], call.given.get("session"))
    return {"left": min(kept.ttl, kept.deadline - call.received), "worker": call.desk.worker_of(kept)}


async def complete(call: Call) -> Any:
    epoch, result = call.given["epoch"], call.given.get("result")
    if "claim" not in call.given:
        await call.step(call.desk.complete, call.ref, epoch, result, repeat=call.repeat)
        return {"lease": None}
    wanted = call.desk.wanted(call.given["claim"])
    _, following = await call.step(call.desk.complete_and_claim, call.ref, epoch, result, wanted, repeat=call.repeat)
    return {"lease": None if following is None else call.desk.show(following, call.received)}


async def fail(call: Call) -> Any:
    error, again = call.given.get("error", ""), call.given.get("retry", True)
    await call.step(call.desk.fail, call.ref, call.given["epoch"], error, again, repeat=call.repeat)
    return {}


async def release(call: Call) -> Any:
    delay = call.given.get("delay", 0.0)
    await call.step(call.desk.release, call.ref, call.given["epoch"], delay, repeat=call.repeat)
    return {}


async def end(call: Call) -> Any:
    await call.run(call.desk.end, (call.ref, call.given["epoch"]))
    return {}


async def complete_many(call: Call) -> Any:
    return {"lost": await call.run(call.desk.complete_many, call.given["leases"], repeat=call.repeat)}


async def cancel(call: Call) -> Any:
    return (await call.run(call.queue.cancel, call.ref)).to_json()


async def retry(call: Call) -> Any:
    return (await call.run(call.queue.retry, call.ref)).to_json()


async def prioritise(call: Call) -> Any:
    return (await call.run(call.queue.set_priority, call.ref, call.given["priority"])).to_json()


async def pause(call: Call) -> Any:
    await call.run(call.queue.pause, call.given.get("reason", ""))
    return {}


async def resume(call: Call) -> Any:
    await call.run(call.queue.resume)
    return {}


async def purge(call: Call) -> Any:
    older_than = checked_number("older_than", call.given.get("older_than", 3600.0), 0)
    state = call.given.get("state", "completed")
    return {"purged": await call.run(call.queue.purge, state, older_than=older_than)}


async def leave(call: Call) -> Any:
    """Needs no answer from the queue, so it is not done by its threads."""
    call.counter.sessions.leave(call.ref)
    await asyncio.get_running_loop().run_in_executor(None, call.desk.ties.leave, call.ref)
    return {}
