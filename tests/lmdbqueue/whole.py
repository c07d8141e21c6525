"""Whether a queue's tables agree: each task in exactly one place, every count right, nothing left over."""

from collections import Counter
from typing import Any

from dibs.queues.lmdb import layout
from dibs.queues.lmdb.layout import Standing
from dibs.queues.queue import Queue


def check_whole(queue: Queue) -> None:
    rows = queue._database.read(lambda txn: dict(txn.cursor()))  # type: ignore[attr-defined]
    tables: dict[bytes, dict[bytes, bytes]] = {}
    for key, value in rows.items():
        tables.setdefault(key[:1], {})[key[1:]] = value

    def table(kind: bytes) -> dict[bytes, bytes]:
        return tables.get(kind, {})

    cells = {task: Standing(data) for task, data in table(layout.CELL).items()}
    assert set(table(layout.RECORD)) == set(cells)
    places = {cell.place(task) for task, cell in cells.items()}
    kinds = (layout.LEASE, layout.READY, layout.SCHEDULED, layout.BLOCKED, layout.ENDED)
    assert {kind + key for kind in kinds for key in table(kind)} == places
    faceted = {
        layout.facet_line(cell.facet) + task
        for task, cell in cells.items()
        if cell.state == layout.IS_READY and b"-" in cell.facet
    }
    assert {layout.READY_OF + key for key in table(layout.READY_OF)} == faceted
    counted: Counter[Any] = Counter((cell.facet, cell.state) for cell in cells.values())
    kept = Counter(
        {
            (facet, state): number
            for facet, data in table(layout.COUNT).items()
            for state, number in enumerate(layout.COUNTS.unpack(data))
            if number
        }
    )
    assert kept == counted
    assert set(table(layout.PAST)) <= set(cells)
    assert {key[-16:] for key in table(layout.WAITS)} <= {
        task for task, cell in cells.items() if cell.state == layout.IS_BLOCKED
    }
    for named in table(layout.KEY).values():
        assert {named[:16], named[16:] or named[:16]} <= set(cells)
