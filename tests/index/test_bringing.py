"""Records from elsewhere: the flat form with a file for each key, and another index with other shards."""

from pathlib import Path

import pytest

from dibs.errors import BadInput, Refused
from dibs.index.importing import import_files
from dibs.index.index import Index
from dibs.index.resharding import reshard


def flat(folder: Path, **files: bytes) -> str:
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.usv").write_bytes(data)
    return str(folder)


def test_the_flat_form_is_imported_in_every_dialect(here: Index, tmp_path: Path) -> None:
    source = flat(
        tmp_path / "flat",
        a=b"a\x1f2026-01-02\x1fA\x1f200\x1e\n",
        b=b"b\x1f2026-01-02\x1fB\x1f200",
        c=b"status\x1ftitle\x1fkey\x1fupdated_at\n404\x1fC\x1fc\x1f2026-01-02\n",
        d=b"title\x1fupdated_at\x1e\nno key\x1f2026-01-02\x1e\n",
        bad=b"x\x1f2026-01-02\x1f1\x1f2\x1f3\x1f4\x1e\n",
    )
    here.put("a", {"title": "older", "status": ""}, updated_at="2026-01-01")
    here.put("b", {"title": "newer", "status": ""}, updated_at="2026-01-03")
    report = import_files(here, source)
    assert (report.files, report.records, report.deleted) == (4, 4, 0)
    assert [path for path, _ in report.refused] == ["bad.usv"]
    here.compact()
    found = {record["key"]: (record["title"], record["status"]) for record in here.scan()}
    assert found == {"a": ("A", "200"), "b": ("newer", ""), "c": ("C", "404"), "d": ("no key", None)}
    assert import_files(here, source).records == 4
    here.compact()
    assert {record["key"]: record["title"] for record in here.scan()} == {key: one for key, (one, _) in found.items()}


def test_files_are_deleted_once_they_are_in(here: Index, tmp_path: Path) -> None:
    source = flat(tmp_path / "flat", a=b"a\x1f2026-01-02\x1fA\x1f1\x1e\n", bad=b"\xff\x1f1\x1e\n")
    report = import_files(here, source, delete=True)
    assert (report.deleted, len(report.refused)) == (1, 1)
    assert [path.name for path in Path(source).iterdir()] == ["bad.usv"]


def test_an_import_needs_to_know_fields_and_times(tmp_path: Path) -> None:
    source = flat(tmp_path / "flat", a=b"a\x1fA\x1e\n")
    index = Index(str(tmp_path / "new"), key="domain")
    assert "--fields" in import_files(index, source).refused[0][1]
    assert "--updated-at" in import_files(index, source, fields=["domain", "title"]).refused[0][1]
    assert import_files(index, source, fields=["domain", "title"], updated_at="2026-01-01").records == 1
    assert index.get("a") == {"domain": "a", "updated_at": "2026-01-01", "title": "A"}


def test_a_bucket_says_when_its_files_were_written(bucket_url: str, here: Index) -> None:
    from dibs.clock import SYSTEM
    from dibs.index.opening import open_store

    store = open_store(bucket_url, clock=SYSTEM, rng=here.site.rng, create=False).store
    store.create("a.usv", b"title\x1fstatus\x1e\nA\x1f1\x1e\n")
    assert import_files(here, bucket_url, delete=True).deleted == 1
    assert (here.get("a") or {})["title"] == "A" and store.get("a.usv") is None


@pytest.mark.parametrize("merge", ["record", "fields"])
def test_other_shards(tmp_path: Path, merge: str) -> None:
    old = Index(str(tmp_path / "old"), shards=16, merge=merge, fields=["a", "b"], key="domain", keys="domain")
    old.put_many({"domain": f"k{number}", "a": "1", "b": ""} for number in range(300))
    old.compact()
    old.put("k1", {"a": "2", "b": None}, sparse=True)
    old.delete("k2")
    new_url = str(tmp_path / "new")
    report = reshard(old, new_url, shards=256)
    assert (report.shards, report.records, report.deletions) == (256, 299, 1)
    old.put("k3", {"a": "late", "b": ""})
    reshard(old, new_url)
    new = Index(new_url)
    assert sorted(map(str, new.scan())) == sorted(map(str, old.scan()))
    assert new.site.root.shards == 256 and new.verify() == [] and new.waiting() == []
    new.put("k2", {"a": "before", "b": ""}, updated_at="2020-01-01")
    assert new.get("k2") is None
    with pytest.raises(BadInput, match="itself"):
        reshard(old, str(tmp_path / "old"))
    Index(str(tmp_path / "other"), fields=["c"])
    with pytest.raises(Refused):
        reshard(old, str(tmp_path / "other"))
