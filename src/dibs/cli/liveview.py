"""The live view of `watch` on a terminal. The only command module that loads rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dibs.cli.output import clean, pause_words
from dibs.queues.queue import Queue
from dibs.queues.why import seconds
from dibs.redact import redact
from dibs.states import State

if TYPE_CHECKING:
    from dibs.cli.watch import Look

_COLOURS = {
    State.READY: "cyan",
    State.SCHEDULED: "blue",
    State.BLOCKED: "magenta",
    State.CLAIMED: "yellow",
    State.COMPLETED: "green",
    State.FAILED: "red",
    State.CANCELLED: "bright_black",
}
_ROOM = 18  # lines that are not leases


class LiveView:
    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._console = Console(highlight=False, markup=False)
        self._live = Live(console=self._console, auto_refresh=False)

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def update(self, look: Look) -> None:
        self._live.update(Group(self._title(look), Text(), self._counts(look), Text(), self._leases()), refresh=True)

    def _title(self, look: Look) -> Text:
        title = Text()
        title.append(clean(redact(self._queue.url)), style="bold")
        title.append(pause_words(look.stats.paused, "  "), style="bold red")
        title.append(f"\n{look.rate:,.1f} tasks/s")
        if look.rate and look.live:
            title.append(f", {look.live:,} left, about {seconds(look.live / look.rate)}")
        return title

    def _counts(self, look: Look) -> Table:
        counts = Table.grid(padding=(0, 2))
        counts.add_column()
        counts.add_column(justify="right")
        for state in State:
            number = look.stats.states.get(state, 0)
            counts.add_row(Text(state, style=_COLOURS[state] if number else "bright_black"), Text(f"{number:,}"))
        return counts

    def _leases(self) -> Group | Text:
        claims = self._queue.claimed()
        if not claims:
            return Text("nothing is claimed", style="bright_black")
        room = max(self._console.height - _ROOM, 3)
        now = self._queue.clock.wall()
        leases = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("TASK", "EPOCH", "HELD FOR", "EXPIRES IN", "WORKER"):
            leases.add_column(
                name, no_wrap=True, justify="right" if name in ("EPOCH", "HELD FOR", "EXPIRES IN") else "left"
            )
        for claim in sorted(claims, key=lambda claim: claim.claimed_at)[:room]:
            left = claim.expires_at - now
            leases.add_row(
                Text(clean(claim.key or claim.id)),
                str(claim.epoch),
                seconds(now - claim.claimed_at),
                Text(seconds(left)) if left > 0 else Text("expired", style="red"),
                Text(clean(claim.worker)),
            )
        hidden = len(claims) - room
        return Group(leases, Text(f"… and {hidden:,} more" if hidden > 0 else "", style="bright_black"))
