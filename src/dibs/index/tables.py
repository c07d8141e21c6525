"""All records as a Polars frame, an Arrow table or a DuckDB relation: inbox and shards together, deletions left out."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dibs.errors import BadInput, MissingExtra
from dibs.index.frames import MANY_BYTES, frame_of, polars
from dibs.index.usv import UNIT
from dibs.index.where import Condition, conditions, place_of

if TYPE_CHECKING:
    from dibs.index.index import Index

FORMS = ("polars", "arrow", "duckdb")


def read(index: "Index", form: str, *, prefix: str = "", where: Iterable[str] = (), columns: Sequence[str] = ()) -> Any:
    if form not in FORMS:
        raise BadInput(f"form {form!r} is not known; use {', '.join(FORMS)}")
    frame = polars().concat([*frames(index, prefix=prefix, where=where, columns=columns)])
    if form == "polars":
        return frame
    return frame.to_arrow() if form == "arrow" else _duckdb().from_arrow(frame.to_arrow())


def sql(index: "Index", query: str) -> Any:
    database = _duckdb().connect()
    database.register("records", read(index, "arrow"))
    return database.sql(query)


def frames(
    index: "Index", *, prefix: str = "", where: Iterable[str] = (), columns: Sequence[str] = ()
) -> Iterator[Any]:
    """Frames of some shards each, so that the whole need not be in memory; at least one, which may be empty."""
    pl = polars()
    fields = index.schema.fields
    wanted = conditions(where, fields)
    shown = list(columns or index.schema.shown)
    for name in shown:
        place_of(name, fields)
    bodies: list[bytes] = []
    size = 0

    def chosen() -> Any:
        frame = frame_of(bodies, fields)
        if prefix:
            frame = frame.filter(pl.col(fields[0]).str.starts_with(prefix))
        for condition in wanted:
            frame = frame.filter(_expression(pl, fields[condition.place], condition))
        return frame.select(shown)

    for block in index.blocks():
        if block is None or not block.lines:
            continue
        body = memoryview(block.data)[block.start :]
        bodies.append(_fitted(bytes(body), block.fields, len(fields)))
        size += len(body)
        if size > MANY_BYTES:
            yield chosen()
            bodies, size = [], 0
    yield chosen()


def _fitted(body: bytes, fields: tuple[str, ...], width: int) -> bytes:
    """With the fields that were added to the schema since it was written."""
    lacking = width - len(fields)
    return body.replace(b"\x1e\n", (UNIT + b"\\N") * lacking + b"\x1e\n") if lacking > 0 else body


def _expression(pl: Any, name: str, condition: Condition) -> Any:
    return pl.col(name).map_elements(condition.holds, return_dtype=pl.Boolean, skip_nulls=False)


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("this needs DuckDB; install it with: pip install duckdb") from None
    return duckdb
