"""The live view of `dibs work` on a terminal: rates, what is left, who does what, and the latest failures."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dibs.cli.output import clean
from dibs.cli.workview import PlainView, event_line, progress_line
from dibs.queues.why import seconds
from dibs.worker.progress import Bench, Progress, Snapshot

_LINES_AROUND = 12
_FAILURES = 5
_CHUNK = 65536


class LiveView(PlainView):
    """What the workers print is led through `output` and shown above."""

    def __init__(self, progress: Progress, title: str, *, json: bool = False, output: int, reader: int) -> None:
        super().__init__(progress, json=json)
        self.output = output
        self._reader = reader
        self._rest = b""
        self._title = clean(title)
        self._failures: deque[str] = deque(maxlen=_FAILURES)
        self._console = Console(stderr=True, highlight=False, markup=False, soft_wrap=False)
        self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)

    def __enter__(self) -> LiveView:
        os.set_blocking(self._reader, False)
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.tick()
        self._show_output(last=True)
        self._live.stop()

    def tick(self) -> None:
        self._show_output()
        self._live.update(self._render(self.progress.snapshot()), refresh=True)

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "trouble" or not event_line(event):
            super().event(event)
            return
        self._failures.append(event_line(event))
        if self._json:
            super().event(event)

    def say(self, text: str) -> None:
        self._console.print(Text(clean(text)))

    def _show_output(self, *, last: bool = False) -> None:
        try:
            while chunk := os.read(self._reader, _CHUNK):
                *lines, self._rest = (self._rest + chunk).split(b"\n")
                for line in lines:
                    self.say(line.decode("utf-8", "replace").expandtabs())
        except BlockingIOError:
            pass  # nothing more for now
        if self._rest and (last or len(self._rest) > _CHUNK):
            self.say(self._rest.decode("utf-8", "replace"))
            self._rest = b""

    def _render(self, snapshot: Snapshot) -> RenderableType:
        parts: list[RenderableType] = [Text(self._title, style="bold", no_wrap=True, overflow="ellipsis")]
        if snapshot.left is not None:
            ended = snapshot.totals.completed + snapshot.totals.failed
            bar = Table.grid()
            bar.add_row(ProgressBar(total=max(1, ended + snapshot.left), completed=ended, width=48))
            parts.append(bar)
        parts.append(Text(f"{progress_line(snapshot)}, running for {seconds(snapshot.elapsed)}"))
        parts.append(self._workers(snapshot))
        if self._failures:
            parts.append(Text("latest failures", style="bold"))
            parts += [Text(clean(line), style="red", no_wrap=True, overflow="ellipsis") for line in self._failures]
        return Group(*parts)

    def _workers(self, snapshot: Snapshot) -> RenderableType:
        benches = snapshot.benches
        room = max(3, self._console.height - _LINES_AROUND - len(self._failures))
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in ("worker", "done", "failed", "for", "task"):
            table.add_column(name, justify="right" if name in ("done", "failed", "for") else "left", no_wrap=True)
        for bench in benches[:room]:
            table.add_row(*_row(bench, over=snapshot.over))
        hidden = len(benches) - room
        return Group(table, Text(f"… and {hidden:,} more", style="dim")) if hidden > 0 else table


def _row(bench: Bench, *, over: bool) -> list[Text]:
    doing = bench.doing
    if not bench.pid:
        what = Text("ended" if over else "starting", style="dim")
    elif bench.stopped:
        what = Text("stopped", style="yellow")
    elif doing is None:
        what = Text("idle", style="dim")
    else:
        what = Text(clean(doing.title or doing.id))
    return [
        Text(str(bench.pid or "-")),
        Text(f"{bench.tally.completed:,}"),
        Text(f"{bench.tally.failed:,}", style="red" if bench.tally.failed else "dim"),
        Text(seconds(bench.age) if doing else ""),
        what,
    ]
