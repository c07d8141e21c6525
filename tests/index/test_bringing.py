"""Records from elsewhere: the flat form with a file for each key, and another index with other shards."""

import os
from pathlib import Path

import pytest
from tests.index.test_commands import dibs
from tests.index.test_damage import damage

from dibs.clock import SYSTEM
from dibs.errors import BadInput, Refused
from dibs.index.importing import import_files
from dibs.index.index import Index
from dibs.index.opening import open_store
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
    store = open_store(bucket_url, clock=SYSTEM, rng=here.site.rng).store
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


def test_a_header_with_an_unknown_column_is_no_record(tmp_path: Path) -> None:
    source = flat(
        tmp_path / "flat",
        a=b"domain\x1ftitle\x1fextra\x1e\na\x1fA\x1fx\x1e\n",
        b=b"b\x1fB\x1e\n",
        c=b"domain\x1ftitle\x1ftitle\x1e\nc\x1fC\x1fx\x1e\n",
    )
    index = Index(str(tmp_path / "new"), key="domain")
    report = import_files(index, source, fields=["domain", "title"], updated_at="2026-01-01")
    assert [path for path, _ in report.refused] == ["a.usv", "c.usv"] and "'extra'" in report.refused[0][1]
    assert [record["domain"] for record in index.scan()] == ["b"]


def test_a_record_may_look_a_little_like_a_header(here: Index, tmp_path: Path) -> None:
    source = flat(tmp_path / "flat", key=b"key\x1f2026-01-02\x1ftitle\x1fstatus\x1e\n")
    assert import_files(here, source).records == 1
    assert (here.get("key") or {})["title"] == "title"


def test_two_records_without_a_header_are_no_header(tmp_path: Path) -> None:
    source = flat(tmp_path / "flat", a=b"a\x1f2026-01-02\x1fA\x1e\nb\x1f2026-01-02\x1fB\x1e\n")
    index = Index(str(tmp_path / "new"))
    assert "--fields" in import_files(index, source).refused[0][1] and not index.site.exists
    assert import_files(index, source, fields=["key", "updated_at", "title"]).records == 2


def test_one_bad_file_is_named_and_the_others_go_in(here: Index, tmp_path: Path) -> None:
    source = flat(
        tmp_path / "flat",
        a=b"a\x1f2026-01-02\x1fA\x1f1\x1e\n",
        b=b"b\x1fyesterday\x1fA\x1f1\x1e\n",
        c=b"key\x1fupdated_at\x1fnix\x1e\nc\x1f2026-01-02\x1fx\x1e\n",
        d=b"#usv\x1f1\x1f1\x1f0\x1f00000000\x1fn\x1fkey\x1fupdated_at\x1e\nd\x1f1\x1e\n",
    )
    os.symlink("e.usv", tmp_path / "flat" / "e.usv")
    report = import_files(here, source)
    assert [path for path, _ in report.refused] == ["b.usv", "c.usv", "d.usv", "e.usv"] and report.files == 1
    assert [record["key"] for record in here.scan()] == ["a"]


def test_a_source_that_is_not_there_is_refused(here: Index, folder: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for source in ("nix", "file"):
        with pytest.raises(BadInput, match="there is no folder"):
            import_files(here, str(tmp_path / source))
        assert "there is no folder" in dibs("import", folder, str(tmp_path / source), code=2)


def test_what_was_exported_comes_back_as_it_was(here: Index, folder: str, tmp_path: Path) -> None:
    here.put("a", {"title": None, "status": "line\nline\\N"}, updated_at=1)
    here.put("b", {"title": "", "status": "\x1f"}, updated_at=2)
    (tmp_path / "flat").mkdir()
    dibs("scan", folder, "--format", "usv", "--output", str(tmp_path / "flat" / "all.usv"))
    new = Index(str(tmp_path / "new"))
    assert import_files(new, str(tmp_path / "flat")).records == 2
    assert sorted(map(str, new.scan())) == sorted(map(str, here.scan()))


def test_a_single_file_is_imported(here: Index, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here.put("a", {"title": "A", "status": ""})
    out = tmp_path / "all.usv"
    dibs("scan", folder, "--format", "usv", "--output", str(out))
    (tmp_path / "other.usv").write_bytes(b"nonsense")
    monkeypatch.chdir(tmp_path)
    for number, source in enumerate((str(out), "all.usv", f"file:{out}")):
        dibs("import", f"new{number}", source)
        assert list(Index(f"new{number}").scan()) == list(here.scan())


def test_a_single_file_of_a_bucket_is_imported(bucket_url: str, here: Index) -> None:
    place, _, query = bucket_url.partition("?")
    store = open_store(bucket_url, clock=SYSTEM, rng=here.site.rng).store
    for name in ("a", "b"):
        store.create(f"{name}.usv", b"title\x1fstatus\x1e\nA\x1f1\x1e\n")
    assert import_files(here, f"{place}/a.usv?{query}").files == 1
    assert [record["key"] for record in here.scan()] == ["a"]


def test_what_an_import_passes_over_is_told(here: Index, folder: str, tmp_path: Path) -> None:
    source = flat(tmp_path / "flat", a=b"a\x1f2026-01-02\x1fA\x1f1\x1e\n", bad=b"\xff\x1f1\x1e\n")
    flat(tmp_path / "flat" / "below", b=b"")
    (tmp_path / "flat" / "x.csv").touch()
    assert import_files(here, source).skipped == ["below/b.usv", "x.csv"]
    assert "below/b.usv and 1 more passed over" in dibs("import", folder, source, code=1)


def test_an_index_is_no_folder_of_files(here: Index, folder: str, tmp_path: Path) -> None:
    here.put("a", {"title": "A", "status": ""})
    with pytest.raises(BadInput, match=f"is an index; bring it over with: dibs index reshard {folder} "):
        import_files(Index(str(tmp_path / "new")), folder)


def test_deletions_of_another_index_come_as_deletions(here: Index, tmp_path: Path) -> None:
    here.put("a", {"title": "", "status": ""}, updated_at=1)
    here.delete("a", updated_at=2)
    here.compact()
    new = Index(str(tmp_path / "new"), fields=["title", "status"])
    new.put("a", {"title": "", "status": ""}, updated_at=1)
    assert import_files(new, f"{here.site.url}/shards").records == 1
    assert new.get("a") is None


def test_an_index_is_itself_however_it_is_called(here: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    os.symlink("index", "link")
    for url in ("index", "./index", "file:index", "link", "index?sync=off"):
        with pytest.raises(BadInput, match="itself"):
            reshard(here, url, shards=256)
    with pytest.raises(BadInput, match="itself"):
        reshard(Index("./index"), here.site.url, shards=256)


def test_a_target_that_has_other_shards_is_refused(here: Index, tmp_path: Path) -> None:
    reshard(here, str(tmp_path / "new"), shards=256)
    with pytest.raises(Refused, match="shards 256, not 4096"):
        reshard(here, str(tmp_path / "new"), shards=4096)


def test_fields_may_be_added_between_two_runs(here: Index, tmp_path: Path) -> None:
    here.put("a", {"title": "x", "status": ""})
    url = str(tmp_path / "new")
    reshard(here, url, shards=256)
    new = Index(url)
    new.add_fields("lang")
    here.put("b", {"title": "y", "status": ""})
    reshard(here, url)
    assert {(record["key"], record["lang"]) for record in new.scan()} == {("a", None), ("b", None)}
    here.add_fields("lang", "more")
    here.put("b", {"title": "y", "status": "", "lang": "de", "more": "z"})
    reshard(here, url)
    assert (Index(url).get("b") or {})["more"] == "z" and Index(url).verify() == []
    new.add_fields("own")
    here.add_fields("other")
    with pytest.raises(Refused, match="use a new index"):
        reshard(here, url)


def test_a_damaged_source_is_told(here: Index, folder: str, tmp_path: Path) -> None:
    here.put_many({"key": f"k{number}", "title": "x" * 20, "status": ""} for number in range(60))
    (path,) = here._inbox.names(here.waiting()[0])
    damage(Path(folder, path))
    assert f"{path} is damaged" in dibs("reshard", folder, f"{folder}2", "--shards", "256", code=1)
    assert len(list(Index(f"{folder}2").scan())) == 59
