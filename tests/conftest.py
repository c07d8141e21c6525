"""For all tests: failures inside the shipped contract suite show their values."""

import pytest

pytest.register_assert_rewrite("dibs.testing")
