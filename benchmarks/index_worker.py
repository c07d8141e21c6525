"""One measurement of the index in a process of its own: `python -m benchmarks.index_worker WHAT FOLDER [COUNT]`.

What is imported is imported before the clock starts. Prints one JSON object.
"""

import glob
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.index_records import FIELDS, record, updates
from dibs.index.index import Index

GETS = 200


PROCESSORS = len(os.sched_getaffinity(0))


def timed(act: Callable[[], Any]) -> dict[str, Any]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent, begun = _processor_seconds(), time.perf_counter()
    found = act()
    seconds, processor = time.perf_counter() - begun, _processor_seconds() - spent
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "processor": processor, "megabytes": (peak - before) / 1024, "found": found}


def _processor_seconds() -> float:
    """Of this process, and of those that it started and that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def merge_dibs(folder: str, sync: str = "off", jobs: int = 1) -> dict[str, Any]:
    with Index(f"{folder}?sync={sync}") as index:
        found = timed(lambda: len(index.compact(jobs=jobs))) | {"found": index.stats().records}
    found["megabytes"] += (jobs - 1) * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return found


def merge_dibs_together(folder: str) -> dict[str, Any]:
    return merge_dibs(folder, jobs=PROCESSORS)


def merge_dibs_synced(folder: str) -> dict[str, Any]:
    return merge_dibs(folder, "on")


def merge_memory(folder: str) -> dict[str, Any]:
    """What Python has allocated at most, beyond what it had, in shards with their inbox."""
    import tracemalloc

    largest = max(
        os.path.getsize(path) + sum(map(os.path.getsize, glob.glob(f"{folder}/inbox/{os.path.basename(path)[:-4]}/*")))
        for path in glob.glob(f"{folder}/shards/*.usv")
    )
    with Index(f"{folder}?sync=off") as index:
        index.get("warm")
        tracemalloc.start()
        merged = sum(done.records for done in index.compact_all())
        peak = tracemalloc.get_traced_memory()[1]
    return {"peak": peak, "largest": largest, "ratio": peak / largest, "found": merged}


def _lines(folder: str) -> int:
    with open(f"{folder}/merged.usv", "rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def _scan(folder: str, part: str) -> Any:
    import polars as pl

    files = sorted(glob.glob(f"{folder}/{part}"))
    return pl.scan_csv(
        files, separator="\x1f", has_header=False, skip_lines=1, quote_char=None, empty_string_is_null=False,
        schema=dict.fromkeys(FIELDS, pl.String), null_values=["\\N", "\\N\x1e"],
    )  # fmt: skip


def merge_polars(folder: str, *, ordered: bool = True) -> dict[str, Any]:
    import polars as pl

    def act() -> None:
        old, new = _scan(folder, "shards/*.usv").collect(), _scan(folder, "inbox/*/*.usv").collect()
        there = old.join(new.select("key", other="updated_at"), on="key", how="left")
        kept = there.filter(pl.col("other").is_null() | (pl.col("other") <= pl.col("updated_at"))).drop("other")
        come = new.join(old.select("key", other="updated_at"), on="key", how="left")
        won = come.filter(pl.col("other").is_null() | (pl.col("other") < pl.col("updated_at"))).drop("other")
        found = pl.concat([kept, won])
        found = found.sort("key") if ordered else found
        found.write_csv(f"{folder}/merged.usv", include_header=False, separator="\x1f", quote_style="never",
                        null_value="\\N")  # fmt: skip

    return timed(act) | {"found": _lines(folder)}


def merge_polars_unsorted(folder: str) -> dict[str, Any]:
    return merge_polars(folder, ordered=False)


def merge_duckdb(folder: str, *, ordered: bool = True) -> dict[str, Any]:
    import duckdb

    columns = "{" + ",".join(f"'{name}':'VARCHAR'" for name in FIELDS) + "}"

    def source(part: str) -> str:
        return (
            f"read_csv('{folder}/{part}', delim='\x1f', header=false, skip=1, quote='', escape='', columns={columns}, "
            "nullstr='\\N', new_line='\\n', auto_detect=false)"
        )

    old, new = source("shards/*.usv"), source("inbox/*/*.usv")
    query = (
        f"copy (select o.* from {old} o left join {new} n using (key) "
        "where n.key is null or n.updated_at <= o.updated_at "
        f"union all select n.* from {new} n left join {old} o using (key) where o.key is null or "
        f"n.updated_at > o.updated_at {'order by key' if ordered else ''}) to '{folder}/merged.usv' "
        "(delimiter '\x1f', header false, quote '', escape '', nullstr '\\N')"
    )

    return timed(lambda: str(duckdb.connect().execute(query))) | {"found": _lines(folder)}


def merge_duckdb_unsorted(folder: str) -> dict[str, Any]:
    return merge_duckdb(folder, ordered=False)


def put(folder: str, count: int, sync: str = "off") -> dict[str, Any]:
    records = [record(number, 2) for number in range(count)]
    index = Index(f"{folder}?sync={sync}", fields=FIELDS[2:])
    return timed(lambda: index.put_many(records))


def put_synced(folder: str, count: int) -> dict[str, Any]:
    return put(folder, count, "on")


def put_floor(folder: str, count: int) -> dict[str, Any]:
    """A file for each record, over 256 folders: created, written and closed, and nothing else."""
    texts = ["\x1f".join(filter(None, record(number, 2).values())).encode() for number in range(count)]
    for shard in range(256):
        os.makedirs(f"{folder}/{shard:02x}")

    def act() -> int:
        for number, text in enumerate(texts):
            file = os.open(f"{folder}/{number % 256:02x}/{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            os.write(file, text)
            os.close(file)
        return count

    return timed(act)


def codec(folder: str) -> dict[str, Any]:
    """Parsing and writing, dibs' USV beside Polars' own CSV, of the same records; medians of fifteen."""
    import io

    from dibs.index.frames import body_of, frame_of, polars
    from dibs.index.usv import END, line_of, values_of

    count = int(sys.argv[3])
    lines = [line_of([*record(number, 2).values()]) for number in range(count)]
    body = b"".join(line + END for line in lines)
    frame = frame_of([body], FIELDS)
    text = frame.write_csv().encode()
    pl = polars()
    acts: dict[str, Callable[[], Any]] = {
        "read_csv": lambda: pl.read_csv(text, infer_schema=False),
        "read_usv": lambda: frame_of([body], FIELDS),
        "write_csv": lambda: frame.write_csv(io.BytesIO()),
        "write_usv": lambda: body_of(frame),
    }
    found: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(15):
        for name, act in acts.items():
            found[name].append(timed(act)["seconds"])
    plain = timed(lambda: [values_of(line) for line in lines])["seconds"]
    assert body_of(frame) == body
    return {**{name: statistics.median(times) for name, times in found.items()}, "plain": plain, "found": len(frame)}


def get(folder: str, count: int) -> dict[str, Any]:
    index = Index(folder, create=False)
    index.schema  # noqa: B018
    times = []
    for turn in range(GETS):
        key = record(turn * 7919 % count, 2)["key"]
        times.append(timed(lambda key=key: index.get(str(key)))["seconds"])  # type: ignore[misc]
    return {"seconds": statistics.median(times), "found": len(times)}


def waiting(folder: str, count: int) -> dict[str, Any]:
    """Fill the inbox with the updates."""
    with Index(f"{folder}?sync=off") as index:
        return {"found": index.put_many(updates(count))}


if __name__ == "__main__":
    what, where, *rest = sys.argv[1:]
    action = globals()[what]
    numbers = [] if what == "codec" else [int(word) for word in rest]
    print(json.dumps(action(where, *numbers)))
