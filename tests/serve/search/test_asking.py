"""How a query is read: the same meaning however it is written, and no text that breaks it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import BadInput
from dibs.serve.search.asking import MOST, asked
from dibs.serve.search.index import Index
from dibs.serve.search.words import of_task
from dibs.states import State
from dibs.task import Task

TASKS = (
    Task(id="1", payload="auth for the shop", labels=("backend", "eu"), priority=100, key="https://example.com/a"),
    Task(id="2", payload={"title": "auth page", "note": "deep text"}, labels=("frontend",), key="b"),
    Task(id="3", payload="other", labels=("backend",), priority=200, key="pi-3.local", project="shop"),
    Task(id="4", payload='a quote " and a back\\slash', priority=0, state=State.FAILED),
)


@pytest.fixture(scope="module")
def index() -> Index:
    made = Index(None)
    for task in TASKS:
        made.put("", of_task(task))
    made.commit()
    return made


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "1234"),
        ("*", "1234"),
        ("auth", "12"),
        ("AUTH", "12"),
        ("auth label:backend", "1"),
        ("auth AND label:backend", "1"),
        ("label:backend OR label:frontend", "123"),
        ("auth label:eu OR other", "13"),
        ("auth (label:eu OR other)", "1"),
        ("NOT label:backend", "24"),
        ("-label:backend auth", "2"),
        ("NOT (auth OR other)", "4"),
        ("NOT NOT auth", "12"),
        ("status:pending AND ready:true priority:>=high", "13"),
        ("status:failed", "4"),
        ("state:failed", "4"),
        ("ready:false", "4"),
        ("priority:100", "1"),
        ("priority:high", "1"),
        ("priority:<50", "4"),
        ("priority:[normal TO high]", "12"),
        ("priority:{50 TO *]", "13"),
        ("https://example.com/a", "1"),
        ("key:https://example.com/a", "1"),
        ("key:pi-3.local", "3"),
        ('"the shop"', "1"),
        ('"shop the"', ""),
        ("title:auth", "2"),
        ("title:deep", ""),
        ('text:"deep text"', "2"),
        ("project:shop", "3"),
        ('"quote \\" and"', "4"),
        ('"nothing:known"', ""),
        ('state:"failed"', "4"),
        ("status:needs_attention", ""),
        ("IN", ""),
        ("id:2", "2"),
    ],
)
def test_what_a_query_finds(index: Index, query: str, found: str) -> None:
    assert "".join(sorted(hit.id for hit in index.search(asked(query)).hits)) == found


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("(a", "not closed"),
        ("a)", "too many"),
        ("a AND", "missing at its end"),
        ("OR a", "before `OR`"),
        ("NOT", "missing"),
        ('"open', "quotes"),
        ("priority:soon", "low, normal"),
        ("priority:[1 TO soon]", "neither a number"),
        ("ready:maybe", "use one of true, false"),
        ("bogus:field", "field 'bogus' is not known; use one of id, key"),
        ("a NOT (stat:failed)", "field 'stat' is not known"),
        ("state:bogus", "state:bogus is not known; use one of ready, scheduled"),
        ("status:pendng", "status:pendng is not known; use one of pending, blocked"),
        ("label:", "label: has no value; write label:VALUE"),
        ("state: failed", "state: has no value"),
        ("(" * 30 + "a" + ")" * 30, "brackets"),
    ],
)
def test_what_cannot_be_read_is_said(query: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        asked(query)


def test_what_cannot_be_asked() -> None:
    for given_wrong in (("a", "size", 5), ("a", None, 0), ("a", None, MOST + 1), ("a" * 3000, None, 5)):
        with pytest.raises(BadInput):
            asked(*given_wrong)


PARTS = st.sampled_from(
    [
        "a", "auth", "(", ")", "AND", "OR", "NOT", "-", '"', "\\", ":", "label:", "priority:", "[", "]", "TO", "*", " ",
        "^", "~", "ready:true", "{", "}", "'", "/", "+", "<", ">=", "IN", "key:[a", "\x00", "ü",
    ]
)  # fmt: skip


@given(
    st.one_of(
        st.lists(PARTS, max_size=12).map(" ".join), st.lists(PARTS, max_size=12).map("".join), st.text(max_size=40)
    )
)
def test_any_text_is_read_or_refused(index: Index, query: str) -> None:
    try:
        index.search(asked(query))
    except BadInput as error:
        assert "\n" not in str(error)


def test_sorting(index: Index) -> None:
    def order(sort: str) -> str:
        return "".join(hit.id for hit in index.search(asked("*", sort)).hits)

    assert (order("priority"), order("newest"), order("oldest")) == ("3124", "4321", "1234")
    assert [hit.id for hit in index.search(asked("auth")).hits] == ["2", "1"]  # in the title it counts for more
