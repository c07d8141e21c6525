"""`dibs index …`, as a user types it."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dibs.cli.reference import FIELDS
from dibs.index.compactor import Compactor
from dibs.index.index import Index


def dibs(*words: str, given: str = "", code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "dibs", "index", *words], input=given, capture_output=True, text=True, timeout=120
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
        == "b\x1fkey\x1e\n\\u\x1fk2\x1e\n"
    )


def test_damage_is_told_and_the_exit_code_says_so(folder: str) -> None:
    with Index(folder, fields=["a"]) as index:
        index.put("k", {"a": "x"})
        (path,) = index._inbox.names(index.waiting()[0])
        Path(folder, path).write_bytes(Path(folder, path).read_bytes()[:-3])
    assert "damaged" in dibs("verify", folder, code=1)
    assert "1 bad records left out" in dibs("scan", folder, code=1)
    said = dibs("compact", folder, "--once", code=1)
    assert "0 good records kept, 1 bad" in said and "damaged/" in said
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
        (["import", "{}"], "is missing"),
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
    subprocess.run(work, check=True, capture_output=True, timeout=120)
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
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
