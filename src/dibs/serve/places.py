"""What can be asked of the daemon as a whole, besides the routes of a queue: one table, looked up by path."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from dibs import __version__
from dibs.queues.remote.wire import dump
from dibs.serve import exposition, readiness
from dibs.serve.dashboard import assets
from dibs.serve.dashboard import places as dashboard
from dibs.serve.house import House
from dibs.serve.openapi import describe
from dibs.serve.reply import Reply, Send
from dibs.serve.request import Request
from dibs.serve.routes import EVERYWHERE
from dibs.serve.search.places import everywhere

Act = Callable[[House, Request, Send], Awaitable[Reply | None]]  # None: it has answered by itself, as a stream


class Place(NamedTuple):
    path: str  # with /* at its end: everything below
    act: Act
    open: bool = False  # it shows nothing of any queue: no token is asked for
    method: str = "GET"


async def description(house: House, request: Request, send: Send) -> Reply:
    return Reply(200, dump(describe(__version__)))


async def queues(house: House, request: Request, send: Send) -> Reply:
    return Reply(200, dump({"queues": house.names}))


PLACES = (
    Place("/healthz", readiness.health, open=True),
    Place("/readyz", readiness.ready, open=True),
    Place("/metrics", exposition.metrics),
    Place("/v1/openapi.json", description),
    Place("/v1/queues", queues),
    Place(EVERYWHERE, everywhere),
    Place("/", assets.index, open=True),
    Place("/assets/*", assets.asset, open=True),
    Place("/v1/dashboard", dashboard.overview),
    Place("/v1/dashboard/may-write", dashboard.may_write, method="POST"),
    Place("/v1/dashboard/events", dashboard.events),
    Place("/v1/dashboard/tasks", dashboard.tasks),
    Place("/v1/dashboard/task", dashboard.task),
    Place("/v1/dashboard/claims", dashboard.claims),
    Place("/v1/dashboard/series", dashboard.series),
    Place("/v1/dashboard/graph", dashboard.graph),
)


class Places:
    def __init__(self, places: tuple[Place, ...] = PLACES) -> None:
        self._exact = {place.path: place for place in places if not place.path.endswith("/*")}
        self._below = [(place.path[:-1], place) for place in places if place.path.endswith("/*")]

    def find(self, path: str) -> Place | None:
        found = self._exact.get(path)
        if found is None:
            found = next((place for prefix, place in self._below if path.startswith(prefix)), None)
        return found
