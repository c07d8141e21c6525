"""Payloads as text: whatever they are, what is shown is short, masked, and costs no more than what is shown."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.serve.dashboard.shown import ROW_CHARACTERS, line_of
from dibs.serve.dashboard.writing import written
from dibs.serve.masking import hiding

NOBODY = hiding(())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_what_is_not_cut_is_the_same_json(value: Any) -> None:
    for indent in (False, True):
        text, cut = written(value, 10**6, NOBODY, indent=indent)
        assert not cut
        assert json.loads(text) == value


@given(JSON, st.integers(1, 60))
def test_what_is_cut_is_the_beginning(value: Any, limit: int) -> None:
    whole, _ = written(value, 10**6, NOBODY)
    text, cut = written(value, limit, NOBODY)
    assert cut == (len(whole) > limit)
    assert len(text) <= limit
    assert cut or text == whole


@given(JSON)
def test_a_row_is_short(value: Any) -> None:
    assert len(line_of(value, NOBODY)) <= ROW_CHARACTERS


class Counted(list[int]):
    """Says how much of it was read."""

    read = 0

    def __iter__(self) -> Any:
        for item in super().__iter__():
            self.read += 1
            yield item


def test_a_large_payload_is_not_read_to_its_end() -> None:
    large = Counted(range(1_000_000))
    assert len(written({"numbers": large}, 200, NOBODY)[0]) == 200
    assert large.read < 200


def test_what_is_deep_can_be_shown() -> None:
    deep: Any = "bottom"
    for _ in range(256):
        deep = [deep]
    assert "bottom" in written(deep, 10**6, NOBODY, indent=True)[0]


SECRET = {"user": "ada", "Password": "hunter2", "more": [{"api_token_old": {"a": "hunter3"}}], "tokens": 1}


@pytest.mark.parametrize("indent", [False, True])
def test_secrets_are_masked_at_any_depth_in_any_case(indent: bool) -> None:
    text, _ = written(SECRET, 10**6, hiding(["password", "*token*"]), indent=indent)
    assert "hunter" not in text
    shown = json.loads(text)
    assert shown == {"user": "ada", "Password": "•••", "more": [{"api_token_old": "•••"}], "tokens": "•••"}


def test_a_row_is_masked_too() -> None:
    assert line_of(SECRET, hiding(["password", "*token*"])) == (
        'user: ada · Password: ••• · more: [{"api_token_old": "•••"}] · tokens: •••'
    )
    assert line_of({"title": "a secret"}, hiding(["title"])) == "title: •••"


def test_a_mask_is_the_whole_name_unless_it_has_a_star() -> None:
    hide = hiding(["key"])
    assert hide("KEY")
    assert not hide("keyboard")
