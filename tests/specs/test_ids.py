"""Names of specs: new ones never meet, short ones are found, hostile ones go nowhere."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import BadInput, TaskNotFound
from dibs.specs.ids import MAX_ID_BYTES, checked_id, fault_of, new_id, resolve, slug

NOW = 1_794_787_200.0  # 2026-11-16


def test_an_id_has_day_title_and_chance() -> None:
    made = new_id("Fix the login!", NOW, random.Random(1))
    assert made.startswith("2026-11-16-fix-the-login-")
    assert len(made.rsplit("-", 1)[1]) == 8


def test_the_same_title_on_the_same_day_never_meets() -> None:
    assert len({new_id("Fix", NOW) for _ in range(20_000)}) == 20_000


@pytest.mark.parametrize(
    ("title", "wanted"),
    [
        ("Größe ändern", "grosse-andern"),
        ("Crème brûlée, s'il vous plaît", "creme-brulee-sil-vous-plait"),
        ("登录 修复", "登录-修复"),
        ("हिन्दी लेख", "हिन्दी-लेख"),
        ("한국어", "한국어"),
        ("２０２６ ﬁx", "2026-fix"),
        ("../../etc/passwd", "etc-passwd"),
        ("-rf / --no-preserve-root", "rf-no-preserve-root"),
        ("C:\\con\0\n\x1b[31m", "c-con-31m"),
        ("\u202egnp.exe", "gnp-exe"),
        ("🎉🎉", "spec"),
        ("\ud800", "spec"),
        ("", "spec"),
        ("word " * 40, "-".join(["word"] * 9)),
        ("x" * 400, "x" * 48),
        ("字" * 400, "字" * 32),
    ],
)
def test_slugs(title: str, wanted: str) -> None:
    assert slug(title) == wanted


@given(st.text())
def test_any_title_gives_an_id_that_is_allowed(title: str) -> None:
    made = new_id(title, NOW, random.Random(0))
    assert fault_of(made) is None
    assert fault_of(slug(title)) is None
    assert len(made.encode()) <= MAX_ID_BYTES


HOSTILE = ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", ".hidden", "-rf", "a\0b", "a\nb", "a\x1b[2Jb"]
HOSTILE += ["\u202etxt", "\udcff", " a", "a ", "x" * 201, "字" * 67]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_ids_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="spec id "):
        checked_id(text)
    with pytest.raises(BadInput, match="spec id "):
        resolve(text, ["x", "etc"])


@pytest.mark.parametrize("text", ["a", "2026-01-22-001-x7m.1", "fix login", "登录", "a..b", "x" * 200, "a.md.md"])
def test_other_ids_are_not(text: str) -> None:
    assert checked_id(text) == text


IDS = ["2026-11-16-fix-login-4f2a81kd", "2026-11-16-fix-logout-9k2m00ab", "2026-11-17-login-page-77aa88bb", "fix"]


@pytest.mark.parametrize(
    ("ref", "place"),
    [
        ("2026-11-16-fix-login-4f2a81kd", 0),
        ("2026-11-16-fix-login-4f2a81kd.md", 0),
        ("2026-11-16-fix-login", 0),
        ("4f2a", 0),
        ("logout", 1),
        ("2026-11-17", 2),
        ("fix", 3),
    ],
)
def test_short_forms(ref: str, place: int) -> None:
    assert resolve(ref, IDS) == IDS[place]
    assert resolve(ref, iter(IDS)) == IDS[place]
    assert resolve(ref, dict.fromkeys(IDS)) == IDS[place]


def test_what_begins_with_it_comes_before_what_holds_it() -> None:
    assert resolve("log", ["login-page", "fix-login"]) == "login-page"


def test_an_ambiguous_form_lists_the_matches() -> None:
    with pytest.raises(BadInput, match="could be any of 2: 2026-11-16-fix-login-4f2a81kd, 2026-11-17-login-page"):
        resolve("login", IDS)
    with pytest.raises(BadInput) as caught:
        resolve("a", [f"a{number:03}" for number in range(25)])
    assert "a009 and 15 more" in str(caught.value)
    assert "a010" not in str(caught.value)


def test_an_unknown_one_is_not_found() -> None:
    with pytest.raises(TaskNotFound, match="no spec is called 'nothing'"):
        resolve("nothing", IDS)
