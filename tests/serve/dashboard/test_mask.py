"""The setting `mask` of the daemon."""

from typing import Any

import pytest

from dibs.config import Config
from dibs.errors import BadInput


def test_it_is_a_list_in_the_file_and_has_commas_in_the_environment() -> None:
    assert Config({}).daemon("mask") == ()
    assert Config({}, "dibs.toml", {"daemon": {"mask": ["password", "*token*"]}}).daemon("mask") == (
        "password",
        "*token*",
    )
    assert Config({"DIBS_DAEMON_MASK": "password, *token*"}).daemon("mask") == ("password", "*token*")


@pytest.mark.parametrize("value", [3, True, [""], [3], {"a": 1}])
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(BadInput, match="write a list of texts"):
        Config({}, "dibs.toml", {"daemon": {"mask": value}}).daemon("mask")
