"""Cells in the refs of a remote: what stands there, who is refused, and what the remote may do to us."""

import os
from pathlib import Path

import pytest

from dibs.errors import BadInput, StorageError
from dibs.git.refs import RefStore
from dibs.git.repository import Repository
from dibs.stores import settle
from dibs.stores.store import Changed, Exists, Unsure
from git.clones import Team, git, hook, state, store_of


def value(epoch: int, text: str = "") -> bytes:
    return b'{"epoch":%d,"nonce":"%s"}\n' % (epoch, text.encode())


def test_a_lease_is_seen_on_the_remote_under_its_epoch(team: Team) -> None:
    store = store_of(team.clone("one"))
    first = store.create("fix-login", value(1))
    assert team.refs() == {"refs/dibs/cells/fix-login": first, "refs/dibs/leases/fix-login/1": first}
    beat = store.replace("fix-login", value(1, "beat"), first)
    assert team.refs() == {"refs/dibs/cells/fix-login": beat, "refs/dibs/leases/fix-login/1": beat}
    taken = store.replace("fix-login", value(2), beat)
    assert team.refs() == {"refs/dibs/cells/fix-login": taken, "refs/dibs/leases/fix-login/2": taken}
    assert git(team.remote, "cat-file", "-p", taken).endswith('\n\n{"epoch":2,"nonce":""}\n')
    store.delete_if("fix-login", taken)
    assert team.refs() == {}


@pytest.mark.parametrize(
    "data", [b'{"epoch":3}', b"\n\n x", b"no newline", "日本\r\n".encode(), b"\xff\xfe", b"x" * 300_000]
)
def test_values_come_back_byte_for_byte(team: Team, data: bytes) -> None:
    store_of(team.clone("one")).create("k", data)
    other = store_of(team.clone("two"))
    entry = other.get("k")
    assert entry is not None and entry.data == data
    assert other.snapshot() == {"k": entry}


def test_another_clone_is_refused_and_sees_what_is_there(team: Team) -> None:
    one, two = store_of(team.clone("one")), store_of(team.clone("two"))
    version = one.create("k", value(1, "one"))
    with pytest.raises(Exists):
        two.create("k", value(1, "two"))
    newer = two.replace("k", value(2, "two"), version)
    for data in (value(1, "late beat"), value(2, "late takeover"), value(3)):
        with pytest.raises(Changed):
            one.replace("k", data, version)
    with pytest.raises(Changed):
        one.delete_if("k", version)
    entry = one.get("k")
    assert entry is not None and (entry.data, entry.version) == (value(2, "two"), newer)


def test_who_slept_through_a_takeover_cannot_create_the_first_epoch_anew(team: Team) -> None:
    sleeper, other = store_of(team.clone("one")), store_of(team.clone("two"))
    assert sleeper.get("k") is None
    other.replace("k", value(2), other.create("k", value(1)))
    before = team.refs()
    with pytest.raises(Exists):
        sleeper.create("k", value(1, "sleeper"))
    assert team.refs() == before


def test_a_snapshot_is_what_the_remote_has_now(team: Team) -> None:
    one, two = store_of(team.clone("one")), store_of(team.clone("two"))
    assert two.snapshot() == {}
    versions = {key: one.create(key, value(1, key)) for key in ("a", "b", "c")}
    assert {key: entry.version for key, entry in two.snapshot().items()} == versions
    one.delete("a")
    changed = one.replace("b", value(2), versions["b"])
    now = two.snapshot()
    assert {key: entry.version for key, entry in now.items()} == {"b": changed, "c": versions["c"]}
    assert now["b"].data == value(2) and now["c"].data == value(1, "c")


@pytest.mark.parametrize("harm", ["gone", "other epoch", "older", "stray"])
def test_what_hands_did_to_the_leases_is_put_right(team: Team, harm: str) -> None:
    store = store_of(team.clone("one"))
    first = store.create("k", value(1))
    second = store.replace("k", value(2), first)
    if harm in ("gone", "other epoch"):
        git(team.remote, "update-ref", "-d", "refs/dibs/leases/k/2")
    if harm in ("other epoch", "stray"):
        git(team.remote, "update-ref", "refs/dibs/leases/k/7", second)
    if harm == "older":
        git(team.remote, "update-ref", "refs/dibs/leases/k/2", first)
    third = store.replace("k", value(3), second)
    assert third == team.refs()["refs/dibs/cells/k"] == team.refs()["refs/dibs/leases/k/3"]
    if harm != "stray":
        assert set(team.refs()) == {"refs/dibs/cells/k", "refs/dibs/leases/k/3"}
    git(team.remote, "update-ref", "-d", "refs/dibs/cells/k")
    assert store.get("k") is None
    again = store.create("k", value(3, "again"))
    assert team.refs()["refs/dibs/leases/k/3"] == again


@pytest.mark.parametrize("name", ["pre-receive", "update"])
def test_a_remote_that_refuses_is_quoted_and_nothing_is_written(team: Team, name: str) -> None:
    store = store_of(team.clone("one"))
    version = store.create("k", value(1))
    before = team.refs()
    team.hook(name, "echo leases are frozen until Monday >&2; exit 1")
    for step in (lambda: store.create("new", value(1)), lambda: store.replace("k", value(2), version)):
        with pytest.raises(StorageError, match="frozen until Monday") as raised:
            step()
        assert not isinstance(raised.value, Unsure)
    with pytest.raises(StorageError, match="frozen"):
        store.delete("k")
    assert team.refs() == before
    with pytest.raises(Exists):
        store.create("k", value(1, "other"))


def test_a_remote_that_dies_before_the_write_leaves_it_open(team: Team) -> None:
    store = store_of(team.clone("one"))
    script = team.hook("pre-receive", "kill -9 $PPID")
    with pytest.raises(Unsure):
        store.create("k", value(1))
    assert team.refs() == {}
    script.write_text("#!/bin/sh\n[ -e died ] || { touch died; kill -9 $PPID; }\n")
    version = settle.create(store, "k", value(1, "mine"))
    assert team.refs()["refs/dibs/cells/k"] == version


@pytest.mark.parametrize("name", ["post-receive", "post-update"])
def test_a_remote_that_dies_after_the_write(team: Team, name: str) -> None:
    store = store_of(team.clone("one"))
    team.hook(name, "kill -9 $PPID")
    version = settle.create(store, "k", value(1, "mine"))
    assert team.refs()["refs/dibs/cells/k"] == version
    version = settle.replace(store, "k", value(2, "mine"), version)
    assert team.refs()["refs/dibs/cells/k"] == version


def test_an_answer_lost_after_the_write_is_settled(team: Team) -> None:
    """The remote writes as soon as all is received, and dies before it says so."""
    store = store_of(team.clone("one"))
    team.hook("reference-transaction", '[ "$1" = committed ] && [ ! -e died ] && touch died && kill -9 $PPID; exit 0')
    with pytest.raises(Unsure):
        store.create("k", value(1, "mine"))
    assert "refs/dibs/cells/k" in team.refs()
    (team.remote / "died").unlink()
    version = team.refs()["refs/dibs/cells/k"]
    taken = settle.replace(store, "k", value(2, "mine"), version)
    assert team.refs()["refs/dibs/cells/k"] == taken
    entry = store.get("k")
    assert entry is not None and entry.data == value(2, "mine")


def test_a_remote_that_does_not_answer_is_given_up(team: Team) -> None:
    store = store_of(team.clone("one"), timeout=4.0)
    team.hook("pre-receive", "exec sleep 30")
    with pytest.raises(Unsure, match="no answer in 4 s"):
        store.create("k", value(1))
    assert team.refs() == {}


def test_a_lock_left_on_the_remote_for_a_moment_is_waited_for(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    from dibs.clock import SystemClock

    lock = team.remote / "refs" / "dibs" / "cells" / "k.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    pauses: list[float] = []

    class Clock(SystemClock):
        def sleep(self, seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                lock.unlink()

    store = RefStore(Repository.find(str(team.clone("one")), clock=Clock()))
    version = store.create("k", value(1))
    assert team.refs()["refs/dibs/cells/k"] == version and len(pauses) == 3
    lock.touch()
    with pytest.raises(StorageError, match=r"nothing was written.*k\.lock") as raised:
        store.replace("k", value(2), version)
    assert not isinstance(raised.value, Unsure)


def test_no_remote_and_no_such_remote(team: Team, tmp_path: Path) -> None:
    clone = team.clone("one")
    alone = tmp_path / "alone"
    git(tmp_path, "init", "-q", str(alone))
    with pytest.raises(BadInput, match="git remote add"):
        store_of(alone)
    git(alone, "remote", "add", "elsewhere", str(team.remote))
    assert store_of(alone).remote == "elsewhere"
    git(alone, "remote", "add", "more", str(team.remote))
    with pytest.raises(BadInput, match="elsewhere, more"):
        store_of(alone)
    store = RefStore(Repository.find(str(clone)), str(tmp_path / "nowhere.git"))
    for step in (lambda: store.get("k"), lambda: store.create("k", value(1)), store.snapshot):
        with pytest.raises(StorageError, match="nowhere") as raised:
            step()
        assert not isinstance(raised.value, Unsure)
    by_url = RefStore(Repository.find(str(clone)), str(team.remote))
    by_url.create("k", value(1))
    assert store_of(clone).get("k") == by_url.get("k")


def test_secrets_are_not_printed(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = team.clone("one")
    monkeypatch.setenv("no_proxy", "*")
    url = "http://ada:s3cret@127.0.0.1:1/x.git"
    git(clone, "remote", "set-url", "origin", url)
    for store in (store_of(clone), RefStore(Repository.find(str(clone)), url)):
        for step in (lambda: store.get("k"), lambda: store.create("k", value(1)), store.snapshot):  # noqa: B023
            with pytest.raises(StorageError) as raised:
                step()
            assert "s3cret" not in str(raised.value) and "127.0.0.1" in str(raised.value)
    team.hook("pre-receive", "echo ask https://ada:s3cret@example.com/ first >&2; exit 1")
    git(clone, "remote", "set-url", "origin", str(team.remote))
    with pytest.raises(StorageError, match="ask https") as raised:
        store_of(clone).create("k", value(1))
    assert "s3cret" not in str(raised.value)
    copies = [path for path in (clone / ".git" / "dibs").rglob("*") if path.is_file()]
    assert not any(b"s3cret" in path.read_bytes() for path in copies)


def test_the_way_to_the_remote_is_that_of_the_clone(team: Team) -> None:
    """Settings of this clone alone, among them rewritten URLs and programs on the other side."""
    clone = team.clone("one")
    git(clone, "remote", "set-url", "origin", "team:remote.git")
    git(clone, "config", f"url.{team.remote.parent}/.insteadOf", "team:")
    store_of(clone).create("k", value(1))
    assert "refs/dibs/cells/k" in team.refs()
    git(clone, "remote", "set-url", "origin", "../remote.git")
    (clone / "deep").mkdir()
    assert store_of(clone / "deep").get("k") is not None


def test_the_users_repository_stays_as_it_is(started: Team) -> None:
    clone = started.clone("one")
    (clone / "code.py").write_text("mine\n")
    (clone / "new.py").write_text("staged\n")
    git(clone, "add", "new.py")
    (clone / "untracked").write_text("x")
    git(clone, "fetch", "-q")
    git(clone, "config", "core.logAllRefUpdates", "always")
    git(clone, "config", "commit.gpgsign", "true")
    git(clone, "config", "push.gpgsign", "true")
    git(clone, "config", "push.followTags", "true")
    git(clone, "config", "fetch.prune", "true")
    git(clone, "config", "remote.origin.mirror", "true")
    git(clone, "tag", "-a", "-m", "x", "v1")
    for name in ("pre-push", "reference-transaction", "post-checkout", "pre-auto-gc", "fsmonitor-watchman"):
        hook(clone / ".git", name, f"touch {clone}/ran-{name}; exit 1")
    before, refs, tracking = state(clone), started.refs(), git(clone, "for-each-ref", "refs/remotes")
    packs = sorted(os.listdir(clone / ".git" / "objects"))
    store = store_of(clone)
    version = store.create("k", value(1))
    store.snapshot()
    store.replace("k", value(2), version)
    store.delete("k")
    assert state(clone) == before
    assert started.refs() == refs
    assert git(clone, "for-each-ref", "refs/remotes") == tracking
    assert sorted(os.listdir(clone / ".git" / "objects")) == packs


def test_what_was_fetched_may_be_thrown_away(team: Team) -> None:
    import shutil

    clone = team.clone("one")
    store = store_of(clone)
    version = store.create("k", value(1))
    shutil.rmtree(clone / ".git" / "dibs")
    version = store.replace("k", value(2), version)
    shutil.rmtree(clone / ".git" / "dibs")
    assert store.snapshot()["k"].version == version


def test_old_versions_are_cleaned_away(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    from dibs.git import shadow

    clone = team.clone("one")
    store = store_of(clone)
    version = store.create("k", value(1))
    for number in range(6):
        version = store.replace("k", value(1, str(number)), version)
    objects = next((clone / ".git" / "dibs").glob("*.git")) / "objects"
    for path in objects.rglob("*"):
        if path.is_file():
            os.utime(path, (1, 1))
    assert len([path for path in objects.rglob("*") if path.is_file()]) == 8
    monkeypatch.setattr(shadow, "MANY_IN_ONE_FOLDER", -1)
    again = store_of(clone)
    assert again.get("k") is not None
    left = [path for path in objects.rglob("*") if path.is_file() and path.parent.name not in ("pack", "info")]
    assert len(left) <= 2
    assert store.replace("k", value(2), version) == team.refs()["refs/dibs/cells/k"]
