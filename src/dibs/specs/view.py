"""All specs at a moment: the files, what waits for what, and what is known of them beside the files."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from dibs.specs.graph import Graph
from dibs.specs.listing import Listing
from dibs.states import LIVE, State

LOCKS = ".locks"
LOCK = ".pid"


class View(NamedTuple):
    """`over`: of specs whose files do not say it, that they are held, or what has become of them."""

    listing: Listing
    graph: Graph
    over: Mapping[str, State]
    now: float

    def state(self, place: int) -> State | None:
        """None for a spec that cannot be read. What a file says to have ended has ended."""
        state = self.graph.state(place, self.now)
        if not self.over or state not in LIVE:
            return state
        return self.over.get(self.graph.nodes.ids[place], state)

    def ready(self) -> list[int]:
        return self.graph.ready(self.now, self.over)


def locks_of(folder: str) -> str:
    """`.dibs/.locks` for `.dibs/specs`: beside the specs in a hidden folder, else within their own."""
    above = os.path.dirname(os.path.abspath(folder))
    return os.path.join(above if os.path.basename(above).startswith(".") else os.path.abspath(folder), LOCKS)


def locked(locks: str) -> dict[str, State]:
    """The specs that have a lock in this folder."""
    try:
        names = os.listdir(locks)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return {name[: -len(LOCK)]: State.CLAIMED for name in names if name.endswith(LOCK)}
