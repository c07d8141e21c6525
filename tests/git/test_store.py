"""What every store promises, on refs of a git remote: the same tests as for the other stores."""

import importlib.util
from pathlib import Path

import pytest

from dibs.stores.store import Store
from git.clones import Team, store_of

_FILE = Path(__file__).parents[1] / "unit" / "test_stores.py"
_spec = importlib.util.spec_from_file_location("store_tests", _FILE)
assert _spec is not None and _spec.loader is not None
_tests = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_tests)


@pytest.fixture
def store(team: Team) -> Store:
    return store_of(team.clone("one"))


test_a_value_is_created_once = _tests.test_a_value_is_created_once
test_replace_only_from_the_version_seen = _tests.test_replace_only_from_the_version_seen
test_delete = _tests.test_delete
test_listing_is_in_order_by_prefix_and_can_go_on = _tests.test_listing_is_in_order_by_prefix_and_can_go_on
test_no_key_leaves_the_store = _tests.test_no_key_leaves_the_store
test_lost_answers_are_settled = _tests.test_lost_answers_are_settled
test_a_lost_answer_is_no_excuse = _tests.test_a_lost_answer_is_no_excuse_for_taking_what_another_has
