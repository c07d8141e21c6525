"""A queue in a bucket: the stored queue, with a mind for what requests cost.

A listing is used for half a minute, what is no longer needed is deleted many at a time, and a worker that finds
nothing waits longer the more its last look has cost (`idle` seconds for every listing). It looks first, in one
listing, which folders there are at all.
"""

import random
from contextlib import nullcontext
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.facets import Filter
from dibs.queues.held import Lease
from dibs.queues.objects.cost import estimate
from dibs.queues.objects.discovery.choice import Choice
from dibs.queues.objects.driver import open_driver
from dibs.queues.objects.settings import parse
from dibs.queues.stored import StoredQueue
from dibs.queues.stored.discovery import Discovery
from dibs.stores.meter import Meter
from dibs.stores.objects import ObjectStore


class ObjectsQueue(StoredQueue):
    @classmethod
    def open(
        cls, url: str, path: str, settings: dict[str, str], *, clock: Clock = SYSTEM, **options: Any
    ) -> "ObjectsQueue":
        scheme = url.partition(":")[0].lower()
        found = parse(scheme, url, path, settings)
        rng = options.setdefault("rng", random.Random())
        store = ObjectStore(
            open_driver(found),
            found.name,
            clock=clock,
            rng=rng,
            prefix=found.prefix,
            patience=(found.numbers["patience"] or 0.0) / (1 if options.get("pid", "self") else 3),
        )
        return cls(
            url,
            store,
            retention=found.numbers["retention"],
            fresh=found.numbers["fresh"] or 0.0,
            upkeep=found.numbers["upkeep"] or 0.0,
            idle=found.numbers["idle"] or 0.0,
            relist=found.numbers["relist"] or 0.0,
            discover=found.discover,
            clock=clock,
            **options,
        )

    def __init__(
        self,
        url: str,
        store: ObjectStore,
        *,
        fresh: float = 30.0,
        upkeep: float = 30.0,
        idle: float = 38.0,
        relist: float = 300.0,
        discover: Choice = Choice(),  # noqa: B008
        **options: Any,
    ) -> None:
        self.fresh_seconds, self.upkeep_seconds = fresh, upkeep
        self._idle, self._relist = idle, relist
        self._discover, self._create = discover, bool(options.get("create", True))
        self.first_pause = min(1.0, idle)
        self._objects = store
        self._listed = 0
        self._hungry = False
        super().__init__(url, store, **options)

    def _make_discovery(self) -> Discovery:
        if self._discover.way == "listing":
            return super()._make_discovery()
        from dibs.queues.objects.discovery.making import make_discovery

        return make_discovery(
            self._discover,
            address=self.address,
            store=self._store,
            clock=self.clock,
            rng=self.rng,
            host=self.host,
            facet=self._facets.get,
            held=self._upkeep.watches,
            fresh=self.fresh_seconds,
            relist=self._relist,
            idle=self._idle,
            create=self._create,
        )

    @property
    def meter(self) -> Meter:
        """What this process has asked of the bucket so far."""
        return self._objects.meter

    def cost(self) -> dict[str, Any]:
        return estimate(self.meter.counts, self._idle)

    @property
    def idle_seconds(self) -> float:  # type: ignore[override]
        """Between two looks of a worker that finds nothing: so much for every listing that the last one took."""
        listed = self._objects.meter.counts["list"]
        taken, self._listed = listed - self._listed, listed
        return self._idle * max(1, taken)

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        with self._objects.glanced() if self._hungry else nullcontext():
            leases = super()._take(limit, ttl, wanted)
        self._hungry = not leases
        return leases

    def _wait(self, seconds: float) -> None:
        self._objects.flush()
        self._discovery.forget()
        self._discovery.wait(seconds)

    def close(self) -> None:
        super().close()
        self._discovery.close()
        self._objects.flush()
