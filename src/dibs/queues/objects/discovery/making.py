"""The way that was chosen, ready for use over any store."""

import random
from collections.abc import Callable

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.facets import Facet
from dibs.host import Host
from dibs.queues import open_queue
from dibs.queues.objects.discovery.choice import Choice
from dibs.queues.objects.discovery.manifest import Manifest
from dibs.queues.objects.discovery.mirror import Mirror
from dibs.queues.objects.discovery.names import Names, trouble
from dibs.queues.objects.discovery.other import Other
from dibs.queues.objects.discovery.shared import Shared, Shelf
from dibs.queues.stored.discovery import Discovery, Listing
from dibs.queues.stored.layout import Marker
from dibs.redact import redact
from dibs.stores.store import Store

PACE = 0.7  # of `idle`: a worker that waits so long, give or take its jitter, finds the list old enough


def make_discovery(
    choice: Choice,
    *,
    address: str,
    store: Store,
    clock: Clock,
    rng: random.Random,
    host: Host,
    facet: Callable[[str], Facet],
    held: Callable[[Marker], bool],
    fresh: float,
    relist: float,
    idle: float,
    create: bool = True,
) -> Discovery:
    """In seconds: how long what was read is used, how long a list is, how long who finds nothing waits."""
    listing = Listing(store, clock, rng, facet, fresh)
    if choice.way == "listing":
        return listing
    if choice.way == "queue":

        def connect() -> Names:
            called = redact(choice.where)
            with trouble(called):
                queue = open_queue(choice.where, clock=clock)
            if queue.address == address:
                raise BadInput(f"discover={called} is the queue itself; give the URL of another, for names alone")
            return Names(queue, address.partition("?")[0], facet)

        return Other(
            connect, store, listing, clock, rng, facet, relist_seconds=relist, fresh_seconds=fresh, at_once=create
        )
    shelf: Shelf = Manifest(store, clock, rng, min(fresh, relist))
    if choice.way == "mirror":
        shelf = Mirror(choice.where, address, store, clock, rng, host)
    return Shared(shelf, listing, clock, rng, facet, held, relist_seconds=relist, pace_seconds=idle * PACE)
