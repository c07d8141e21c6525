"""Keys as names of refs."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.git.names import quote, unquote
from dibs.specs.ids import fault_of
from git.clones import Team, git, store_of

HOSTILE = [
    "a", "A", "a.b", "a.lock", "a.lock.lock", "x..y", "x.", "@", "@{", "a@{1}", "HEAD", "a b", "a~1", "a^", "a:b",
    "a?*[", "\u00e4", "a\u0308", "%41", "%", "100%-", "1", "1.5", "日本" * 33,
    "." + "x", "x" * 200, "x" * 200 + "1", "x" * 200 + ".y", "x" * 199 + ".",
    "~" * 200,
    "é" * 100, "x" * 199 + ".y", "b/c", "b", "b/c/d", "-x", "%2F", "a%2Fb", "a/b",
]  # fmt: skip

texts = st.text(min_size=1, max_size=200) | st.text("./@{}lock%-~1a", min_size=1, max_size=210)
keys = texts.filter(lambda text: not any("\ud800" <= char <= "\udfff" or char == "\0" for char in text))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare")
    git(folder, "init", "-q", "--bare", str(folder))
    return folder


@given(st.lists(keys, unique=True, max_size=12))
@settings(max_examples=25, deadline=None)
def test_git_takes_all_of_them_side_by_side(bare: Path, some: list[str]) -> None:
    check_side_by_side(bare, some)


def test_git_takes_the_hostile_ones(bare: Path) -> None:
    check_side_by_side(bare, HOSTILE)


def check_side_by_side(bare: Path, some: list[str]) -> None:
    assert [unquote(quote(key)) for key in some] == some
    empty = git(bare, "hash-object", "-t", "tree", "-w", "--stdin", input="").strip()
    one = git(bare, "commit-tree", "-m", "x", empty).strip()
    refs = [f"refs/dibs/{kind}" for key in some for kind in (f"cells/{quote(key)}", f"leases/{quote(key)}/1")]
    for verb in ("create", "delete"):  # each in one transaction: it fails when one is a folder of another
        git(bare, "update-ref", "--stdin", input="".join(f"{verb} {ref} {one}\n" for ref in refs))
        assert len(git(bare, "for-each-ref").splitlines()) == (len(refs) if verb == "create" else 0)


@given(st.text("%-/.aA2F4", max_size=20))
def test_no_two_names_are_one_key(name: str) -> None:
    key = unquote(name)
    assert key is None or quote(key) == name


def test_every_id_of_a_spec_comes_back(team: Team) -> None:
    usable = [key for key in HOSTILE if fault_of(key) is None]
    assert len(usable) > 20
    store = store_of(team.clone("one"))
    for key in usable[::4]:
        store.create(key, f'{{"epoch":1,"key":"{key}"}}'.encode())
    assert list(store.list("")) == sorted(usable[::4])
    assert all(entry.data.decode() == f'{{"epoch":1,"key":"{key}"}}' for key, entry in store.snapshot().items())
