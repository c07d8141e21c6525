"""A daemon with a dashboard, asked without a browser."""

from collections.abc import Callable

import pytest

from dibs.serve.dashboard.dashboard import Dashboard
from dibs.serve.search.searching import Searching
from serve.daemon import Daemon


@pytest.fixture
def board() -> Dashboard:
    return Dashboard(["password", "*token*"])


@pytest.fixture
def daemon(start: Callable[..., Daemon], board: Dashboard, request: pytest.FixtureRequest) -> Daemon:
    """Without a search index, unless a test asks for one."""
    searched = getattr(request, "param", "") == "index"
    return start(beside=[board, Searching("none")] if searched else [board])
