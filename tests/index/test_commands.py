"""`dibs index …`, as a user types it."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dibs.cli.reference import FIELDS
from dibs.index.compactor import Compactor
from dibs.index.index import Index
from waiting import LONG_PATIENCE, PATIENCE


def dibs(*words: str, given: str = "", code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "dibs", "index", *words],
        input=given,
        capture_output=True,
        text=True,
        timeout=LONG_PATIENCE,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stdout + done.stderr


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_from_put_to_verify(folder: str) -> None:
    dibs("put", folder, "--key", "Example.com", "--field", "title=A=B", "--field", "status=", "--keys", "domain")
    given = '{"key": "b.org", "title": null, "status": 200}\n\n{"key": "c.net", "title": "C", "status": 404}\n'
    assert json.loads(dibs("put", folder, "--jsonl", "-", "--json", given=given)) == {"put": 2}
    assert "title       A=B" in dibs("get", folder, "EXAMPLE.COM")
    assert [record["status"] for record in lines(dibs("get", folder, "b.org", "c.net"))] == ["200", "404"]
    assert dibs("get", folder, "--key", "b.org") == dibs("get", folder, "b.org")
    assert len(dibs("compact", folder, "--waiting").split()) == 3
    dibs("delete", folder, "c.net")
    (found,) = lines(dibs("sql", folder, "select count(*) as n, min(key) as key from records"))
    assert found == {"n": 2, "key": "b.org"}
    assert "4 records" in dibs("compact", folder, "--all") or "3 records" in dibs("compact", folder, "--all")
    stats = json.loads(dibs("stats", folder, "--json"))
    assert (stats["records"], stats["deletions"], stats["inbox"]) == (2, 1, 0)
    assert "records" in dibs("stats", folder)
    assert "every key is in its shard" in dibs("verify", folder)
    assert dibs("repair", folder) == "nothing is wrong\n"
    assert json.loads(dibs("schema", folder, "--add", "lang", "--json"))["fields"][-1] == "lang"
    assert "lacks 'lang'" in dibs("put", folder, "--key", "x", "--field", "title=", "--field", "status=", code=1)


def test_formats(folder: str, tmp_path: Path) -> None:
    import polars

    with Index(folder, fields=["a", "b"]) as index:
        index.put("k1", {"a": 'quote " and, comma\n', "b": None}, updated_at=1)
        index.put("k2", {"a": "", "b": "\x1f"}, updated_at=2)
    wanted = [("k1", "1", 'quote " and, comma\n', None), ("k2", "2", "", "\x1f")]
    assert sorted(tuple(record.values()) for record in lines(dibs("scan", folder))) == wanted
    text = dibs("scan", folder, "--format", "csv")
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["key", "updated_at", "a", "b"]
    assert sorted(map(tuple, rows[1:])) == [("k1", "1", wanted[0][2], ""), ("k2", "2", "", "\x1f")]
    assert 'k2,2,"",' in text
    for form, read in (("parquet", polars.read_parquet), ("arrow", polars.read_ipc)):
        out = str(tmp_path / "out")
        dibs("scan", folder, "--format", form, "--output", out)
        assert sorted(read(out).rows()) == wanted
    assert (
        dibs("scan", folder, "--format", "usv", "--columns", "b,key", "--where", "a=")
        == "#usv\x1f1\x1f\x1f\x1f\x1f\x1fb\x1fkey\x1e\n\\u\x1fk2\x1e\n"
    )


def test_damage_is_told_and_the_exit_code_says_so(folder: str) -> None:
    with Index(folder, fields=["a"]) as index:
        index.put("k", {"a": "x"})
        (path,) = index._inbox.names(index.waiting()[0])
        Path(folder, path).write_bytes(Path(folder, path).read_bytes()[:-3])
    assert "damaged" in dibs("verify", folder, code=1)
    assert "0 of 1 records can be read" in dibs("scan", folder, code=1)
    said = dibs("compact", folder, "--once", code=1)
    assert "0 of 1 records can be read" in said and "damaged/" in said
    assert json.loads(dibs("stats", folder, "--json"))["damaged"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["get", "{}"], "the key is missing"),
        (["get", "{}/nix", "k"], "no index"),
        (["put", "{}"], "give --key"),
        (["put", "{}", "--key", "k", "--field", "x"], "no value"),
        (["put", "{}", "--jsonl", "-", "--field", "x=1"], "go with --key"),
        (["put", "memory:", "--key", "k"], "one process"),
        (["compact", "{}", "--once", "--all"], "exclude each other"),
        (["compact", "{}", "--shard", "zz"], "hex digits"),
        (["scan", "{}", "more"], "one word too many"),
        (["scan", "{}", "--where", "nix=1"], "no field 'nix'"),
        (["scan", "{}", "--columns", "key,key", "--format", "parquet"], "named twice"),
        (["sql", "{}", "selec"], "the query cannot be run"),
        (["sql", "{}", "select cast(key as int) from nix"], "the query cannot be run"),
        (["put", "{}", "--key", "k", "--field", "a=", "--updated-at", "9" * 400], "not acceptable"),
        (["import", "{}"], "is missing"),
        (["put", "{}", "k"], "--key KEY --field NAME=VALUE"),
        (["put", "{}", "--key", "k", "--field", "a=1", "--field", "a=2"], "field 'a' is given twice"),
        (["scan", "{}", "--json", "--format", "csv"], "exclude each other"),
        (["schema", "{}", "--add", "b,c"], "--add b --add c"),
        (["scan", "{}", "--where", "a==1"], "write a=1"),
        (["nix", "{}"], "nix"),
    ],
)
def test_bad_usage_is_one_line(words: list[str], said: str, folder: str) -> None:
    Index(folder, fields=["a"])
    done = subprocess.run(
        [sys.executable, "-m", "dibs", "index", *(word.format(folder) for word in words)],
        input="", capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode in (1, 2) and said in done.stderr and done.stdout == ""
    assert len(done.stderr.strip().splitlines()) <= 2


def test_bad_lines_are_named(folder: str) -> None:
    assert "line 2 of -" in dibs("put", folder, "--jsonl", "-", given='{"key": "a"}\n[1]\n', code=2)
    assert "no index" in dibs("get", folder, "a", code=1)


def test_shards_as_tasks_of_a_queue(folder: str, tmp_path: Path) -> None:
    with Index(folder, fields=["a"], shards=16) as index:
        index.put_many({"key": f"k{number}", "a": ""} for number in range(40))
    queue = str(tmp_path / "queue")
    waiting = dibs("compact", folder, "--waiting")
    command = [sys.executable, "-m", "dibs"]
    subprocess.run([*command, "push", queue, "--text", "--jsonl", "-"], input=waiting, text=True, check=True)
    work = [*command, "work", queue, "--until-empty", "--", *command, "index", "compact", folder, "--shard", "{}"]
    subprocess.run(work, check=True, capture_output=True, timeout=LONG_PATIENCE)
    assert Index(folder).waiting() == [] and Index(folder).stats().records == 40


def test_without_polars_everything_but_tables_works(folder: str) -> None:
    code = f"""
import sys
for name in ("polars", "duckdb", "pyarrow"):
    sys.modules[name] = None
import dibs
with dibs.Index({folder!r}, fields=["a"]) as index:
    index.put_many({{"key": f"k{{n}}", "a": "\\\\N"}} for n in range(50))
    index.delete("k1")
    index.compact()
    index.put("k2", {{"a": None}})
    assert index.get("k2")["a"] is None and len(list(index.scan())) == 49 and index.verify() == []
    index.stats(), index.repair()
    try:
        index.read()
    except dibs.DibsError as error:
        print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.startswith("MissingExtra") and "pip install 'dibs[index]'" in done.stdout, done.stderr


def test_the_lock_holds_five_minutes(folder: str) -> None:
    index = Index(folder, fields=["a"])
    compactor: Compactor = index._passes.compactor
    held = compactor.leases.acquire("shards/00.lock", compactor._holder())
    assert held is not None and held.seen.record.holder is not None and held.seen.record.holder.ttl == 300
    body = json.loads(Path(folder, "shards/00.lock").read_bytes())
    assert {"worker_id", "created", "expires"} <= set(body)


def test_documented_fields_are_the_printed_fields(folder: str, tmp_path: Path) -> None:
    seen = {"index create": json.loads(dibs("create", folder, "--fields", "a", "--json"))}
    seen["index put"] = json.loads(dibs("put", folder, "--key", "k", "--field", "a=1", "--json"))
    seen["index delete"] = json.loads(dibs("delete", folder, "k", "--json"))
    seen["index compact"] = lines(dibs("compact", folder, "--json"))[0]
    seen["index stats"] = json.loads(dibs("stats", folder, "--json"))
    seen["index schema"] = json.loads(dibs("schema", folder, "--json"))
    Path(folder, "shards/zz.usv").touch()
    seen["index verify, repair"] = json.loads(dibs("verify", folder, "--json", code=1))
    seen["index import"] = json.loads(dibs("import", folder, str(tmp_path), "--json"))
    seen["index reshard"] = json.loads(dibs("reshard", folder, f"{folder}2", "--json"))
    documented = {name: set(fields.split()) for name, fields in FIELDS.items() if name.startswith("index ")}
    assert {name: set(printed) for name, printed in seen.items()} == documented


def test_several_processes(folder: str) -> None:
    with Index(folder, fields=["a"]) as index:
        index.put_many({"key": f"k{number}", "a": "x"} for number in range(50))
    assert "50 records" in dibs("compact", folder, "--all", "--jobs", "2")
    assert "goes with --all" in dibs("compact", folder, "--watch", "-j", "2", code=2)
    assert "every key is in its shard" in dibs("verify", folder)


def test_a_query_that_fails_when_it_runs_is_one_line(folder: str) -> None:
    with Index(folder, fields=["a"]) as index:
        index.put("k", {"a": "x"})
    assert "the query cannot be run" in dibs("sql", folder, "select cast(a as int) from records", code=2)


def test_output_is_replaced_only_by_something_whole(folder: str, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.write_text("kept")
    out.chmod(0o640)
    words = ["scan", folder, "--format", "csv", "--output", str(out)]
    dibs(*words, code=1)
    Index(folder, fields=["a"]).put("k", {"a": "x"}, updated_at=1)
    dibs(*words, "--where", "nix=1", code=2)
    assert out.read_text() == "kept"
    dibs(*words)
    assert out.read_text() == "key,updated_at,a\nk,1,x\n" and out.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["out.csv"]
    assert "k,1,x" in dibs("scan", folder, "--format", "csv", "--output", "/dev/stdout")
    assert "cannot write" in dibs("scan", folder, "--output", str(tmp_path / "nix" / "out"), code=1)


def test_a_pipe_that_nobody_reads_is_no_error(folder: str) -> None:
    with Index(folder, fields=["a"], shards=16) as index:
        index.put_many({"key": f"k{number}", "a": os.urandom(50).hex()} for number in range(2000))
    read, write = os.pipe()
    os.close(read)
    for form in ("parquet", "arrow", "jsonl"):
        done = subprocess.run(
            [sys.executable, "-m", "dibs", "index", "scan", folder, "--format", form],
            stdout=write, stderr=subprocess.PIPE, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (141, b"")
    os.close(write)


def test_stats_show_when_each_shard_was_compacted(folder: str) -> None:
    with Index(folder, fields=["a"], shards=16) as index:
        index.put_many({"key": f"k{number}", "a": ""} for number in range(200))
        index.compact()
        index.put("k1", {"a": "x"})
        each = index.stats().each
    assert len(each) == 16
    rows = {row.split()[0]: row for row in dibs("stats", folder).splitlines() if row}
    assert all(str(one.compacted_at) in rows[one.shard] for one in each)


def test_a_shard_that_others_compact_is_waited_for(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index(folder, fields=["a"], shards=16)
    index.put("k", {"a": "x"})
    shard = index.site.shard_of("k")
    other = Index(folder)._passes.compactor
    held = other.leases.acquire(f"shards/{shard}.lock", other._holder())
    assert held is not None
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            held.release()

    monkeypatch.setattr(index.site.clock, "sleep", sleep, raising=False)
    (done,) = index.compact(shard)
    assert (done.outcome, done.records, len(waited)) == ("merged", 1, 3) and index.waiting() == []
