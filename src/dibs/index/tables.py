"""All records as a Polars frame, an Arrow table or a DuckDB relation: inbox and shards together, deletions left out."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dibs.errors import BadInput, MissingExtra
from dibs.index.block import Block
from dibs.index.frames import MANY_BYTES, frame_of, polars
from dibs.index.usv import UNIT
from dibs.index.where import Condition

if TYPE_CHECKING:
    from dibs.index.index import Index

FORMS = ("polars", "arrow", "duckdb")


def read(
    index: "Index",
    form: str,
    *,
    prefix: str = "",
    where: str | Iterable[str] = (),
    columns: str | Sequence[str] = (),
) -> Any:
    if form not in FORMS:
        raise BadInput(f"form {form!r} is not known; use {', '.join(FORMS)}")
    frame = polars().concat([*frames(index, prefix=prefix, where=where, columns=columns)])
    if form == "polars":
        return frame
    return frame.to_arrow() if form == "arrow" else _duckdb().from_arrow(frame.to_arrow())


def sql(index: "Index", query: str) -> Any:
    database = _duckdb().connect()
    database.register("records", read(index, "arrow"))
    with query_errors():
        return database.sql(query)


@contextmanager
def query_errors() -> Iterator[None]:
    """What DuckDB has against a query, as BadInput."""
    try:
        yield
    except _duckdb().Error as error:
        first = str(error).strip().partition("\n")[0]
        raise BadInput(f"the query cannot be run: {first}; the table is `records`, its values are text") from None


def frames(
    index: "Index", *, prefix: str = "", where: str | Iterable[str] = (), columns: str | Sequence[str] = ()
) -> Iterator[Any]:
    """Frames of some shards each, so that the whole need not be in memory; at least one, which may be empty. The fields
    are those that there are when it begins."""
    pl = polars()
    chosen = index.choose(prefix, where, columns)
    key, *_ = chosen.fields
    blocks: list[Block] = []
    size = 0

    def frame() -> Any:
        fields = max((*(block.fields for block in blocks), tuple(chosen.fields)), key=len)
        found = frame_of([_fitted(block, len(fields)) for block in blocks], fields)
        if chosen.prefix:
            found = found.filter(pl.col(key).str.starts_with(chosen.prefix))
        for condition in chosen.wanted:
            found = found.filter(_expression(pl, fields[condition.place], condition))
        return found.select(chosen.columns)

    for block in index.blocks():
        if block is None or not block.lines:
            continue
        blocks.append(block)
        size += len(block.data)
        if size > MANY_BYTES:
            yield frame()
            blocks, size = [], 0
    yield frame()


def _fitted(block: Block, width: int) -> bytes:
    """Its lines, with the fields that were added to the schema since it was written."""
    body = block.data[block.start :]
    lacking = width - len(block.fields)
    return body.replace(b"\x1e\n", (UNIT + b"\\N") * lacking + b"\x1e\n") if lacking > 0 else body


def _expression(pl: Any, name: str, condition: Condition) -> Any:
    return pl.col(name).map_elements(condition.holds, return_dtype=pl.Boolean, skip_nulls=False)


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("this needs DuckDB; install it with: pip install duckdb") from None
    return duckdb
