"""Writing records out: JSON lines, CSV, USV, Parquet, Arrow. The last two need Polars; the others work without it."""

import io
import json
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any

from dibs.errors import BadInput
from dibs.index.block import stream_head
from dibs.index.usv import END, line_of

if TYPE_CHECKING:
    from dibs.index.index import Index

FORMATS = ("jsonl", "csv", "usv", "parquet", "arrow")


def write(
    index: "Index",
    form: str,
    file: IO[bytes],
    *,
    prefix: str = "",
    where: Iterable[str] = (),
    columns: Sequence[str] = (),
) -> None:
    """All that is wanted. CSV begins with the names, USV with the head of a stream, which has them too; in CSV an empty
    field is quoted, a missing one not."""
    if form not in FORMATS:
        raise BadInput(f"format {form!r} is not known; use {', '.join(FORMATS)}")
    if form in ("parquet", "arrow"):
        frame = index.read("polars", prefix=prefix, where=where, columns=columns)
        whole = io.BytesIO()  # not to `file`: what goes wrong there is told by Polars in its own way
        frame.write_parquet(whole) if form == "parquet" else frame.write_ipc(whole)
        file.write(whole.getbuffer())
        return
    names = index.choose(prefix, where, columns).columns
    if form == "csv":
        file.write(_csv([names]))
    elif form == "usv":
        file.write(stream_head(names) + END)
    for record in index.scan(prefix=prefix, where=where, columns=names):
        if form == "jsonl":
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        else:
            values = list(record.values())
            file.write(_csv([values]) if form == "csv" else line_of(values) + END)


def _csv(rows: Iterable[Sequence[Any]]) -> bytes:
    out = io.StringIO()
    for row in rows:
        cells = ["" if cell is None else '""' if cell == "" else _cell(cell) for cell in row]
        out.write(",".join(cells) + "\r\n")
    return out.getvalue().encode()


def _cell(text: str) -> str:
    plain = not any(char in text for char in ',"\r\n')
    return text if plain else '"' + text.replace('"', '""') + '"'
