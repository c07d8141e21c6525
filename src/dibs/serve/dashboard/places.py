"""What the page asks, besides the steps that anybody may ask of a queue. It changes with the page: no public API."""

from itertools import islice
from typing import Any

from dibs import __version__
from dibs.errors import Unsupported
from dibs.facets import EVERYTHING
from dibs.queues.views import Capabilities, Claim
from dibs.serve.asked import Field, checked_query
from dibs.serve.counter import Counter
from dibs.serve.dashboard import events as streaming
from dibs.serve.dashboard.dashboard import Dashboard, dump, of
from dibs.serve.dashboard.finding import find
from dibs.serve.dashboard.graph import Drawing
from dibs.serve.dashboard.sampler import absent
from dibs.serve.dashboard.series import SPANS
from dibs.serve.dashboard.shown import claim_of, line_of, page_of, row_of
from dibs.serve.desk import Desk
from dibs.serve.house import House
from dibs.serve.refusal import Refusal
from dibs.serve.reply import Reply, Send
from dibs.serve.request import Request
from dibs.states import TERMINAL, State
from dibs.values import asdict

MOST_TEXTS = 1000
_QUEUE = Field("queue", "text", "its name", True)
_REF = Field("ref", "text", "the id or key of a task", True)
_LIST = (
    _QUEUE,
    Field("state", "text", "only tasks in this state"),
    Field("project", "text", "only tasks of this project"),
    Field("label", "texts", "only tasks with this label"),
    Field("text", "text", "only tasks with this in their key, id or payload"),
    Field("next", "text", "what the page before gave as `next`"),
)


async def overview(house: House, request: Request, send: Send) -> Reply:
    board = of(house)
    shown = [
        {**board.samplers[name].to_json(), "capabilities": asdict(counter.desk.queue.capabilities)}
        for name, counter in house.counters.items()
    ]
    shown += [
        {**absent(name, missing.why), "capabilities": asdict(Capabilities())} for name, missing in house.absent.items()
    ]
    return _json({"version": __version__, "queues": sorted(shown, key=lambda one: str(one["name"]))})


async def may_write(house: House, request: Request, send: Send) -> Reply:
    """The gatehouse lets nobody come here whose token may only look."""
    return _json({"write": True})


async def events(house: House, request: Request, send: Send) -> None:
    with of(house).watching() as watcher:
        await streaming.stream(watcher, request, send)


async def tasks(house: House, request: Request, send: Send) -> Reply:
    board, counter, asked = _asked(house, request, _LIST)
    text = asked.pop("text", "").strip()
    if text:
        page = await find(counter, asked, text, board.hide)
    else:
        following = asked.get("next")
        page = await (board.listings.following(following) if following else board.listings.first(counter, asked))
    if asked.get("state") in TERMINAL and not board.samplers[counter.desk.name].paid:
        await counter.run(board.endings.add, counter.desk, page["tasks"])
    claims = {}
    if asked.get("state") == "claimed" or any(task["state"] == "claimed" for task in page["tasks"]):
        claims = {claim.id: claim for claim in await counter.run(_claims, counter.desk)}
    page["tasks"] = [row_of(task, board.hide, claims.get(task["id"])) for task in page["tasks"]]
    now = await counter.run(counter.desk.queue.store_time)
    return _json({**page, "waiting": len(counter.waiting), "now": now})


async def task(house: House, request: Request, send: Send) -> Reply:
    board, counter, asked = _asked(house, request, (_QUEUE, _REF))
    queue = counter.desk.queue
    detail = await counter.run(counter.desk.detail, asked["ref"])
    why = await counter.run(counter.desk.why, detail.task.id, EVERYTHING)
    now = await counter.run(queue.store_time)
    return _json({**page_of(detail, board.hide), "why": why.text, "now": now})


async def claims(house: House, request: Request, send: Send) -> Reply:
    board, counter, _ = _asked(house, request, (_QUEUE,))
    held = await counter.run(_claims, counter.desk)
    texts = await counter.run(_texts, counter.desk, board) if held else {}
    now = await counter.run(counter.desk.queue.store_time)
    shown = [{**claim_of(claim), "text": texts.get(claim.id, "")} for claim in held]
    return _json({"claims": shown, "waiting": len(counter.waiting), "now": now})


def _texts(desk: Desk, board: Dashboard) -> dict[str, str]:
    held = islice(desk.look.tasks(State.CLAIMED), MOST_TEXTS)
    return {task.id: line_of(task.payload, board.hide) for task in held}


async def series(house: House, request: Request, send: Send) -> Reply:
    board, counter, asked = _asked(house, request, (_QUEUE, Field("span", "text", "15m, 1h or 12h")))
    span = asked.get("span", "1h")
    if span not in SPANS:
        raise Refusal("bad-input", f"span {span[:40]!r} is not known; use one of {', '.join(SPANS)}")
    sampler = board.samplers[counter.desk.name]
    columns = await counter.run(sampler.series.columns, house.clock.boottime(), span)
    return _json({**columns, "paid": sampler.paid})


async def graph(house: House, request: Request, send: Send) -> Reply:
    board, counter, asked = _asked(house, request, (_QUEUE, Field("ref", "text", "only what this task waits for")))

    def draw() -> dict[str, Any]:
        drawing = Drawing(counter.desk, board.hide)
        if "ref" in asked:
            drawing.around(asked["ref"])
        drawing.all()
        return drawing.to_json()

    return _json(await counter.run(draw))


def _claims(desk: Desk) -> list[Claim]:
    try:
        return desk.claimed()
    except Unsupported:
        return []


def _asked(house: House, request: Request, fields: tuple[Field, ...]) -> tuple[Dashboard, Counter, dict[str, Any]]:
    """(the dashboard, the queue that is asked about, what else is asked)."""
    asked = checked_query(fields, request.query)
    counter = house.counter(asked.pop("queue"))
    if counter.health.why:
        raise counter.health.refusal()
    request.queue = counter.desk.name
    return of(house), counter, asked


def _json(value: Any) -> Reply:
    return Reply(200, dump(value))
