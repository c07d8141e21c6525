"""The locks of shards as they really change: nobody takes one from a holder who lives and has time left."""

from tests.simulation.cloud import Cloud
from tests.simulation.world import Violation, World

from dibs.lease import seen
from dibs.liveness import Holder
from dibs.states import State
from dibs.stores.store import Entry


class Locking:
    def __init__(self, world: World, cloud: Cloud) -> None:
        self._world = world
        cloud.changed = self._changed

    def _changed(self, key: str, before: bytes | None, after: bytes | None) -> None:
        if not key.endswith(".lock") or before is None or after is None:
            return
        old, new = (seen(Entry(data, "")).record for data in (before, after))
        if old.cell.state is not State.CLAIMED or new.held_as(old.cell.epoch, old.cell.holder):
            return
        late = self._world.late_for or self._world.current
        mine = late is not None and old.holder is not None and old.holder.pid == late.pid
        if new.cell.state is State.CLAIMED and not mine and old.holder is not None and self._lives(old.holder):
            violation = Violation("stolen", f"{key} of {old.cell.holder} was taken by {new.cell.holder}")
            self._world.failed(violation)
            raise violation

    def _lives(self, holder: Holder) -> bool:
        for process in self._world.processes:
            if process.pid == holder.pid and process.host.boot == holder.boot:
                gone = not process.alive or process.over
                return not gone and process.host.boottime(self._world.now) - holder.beat < holder.ttl
        return False
