"""A daemon with a dashboard, asked without a browser."""

from collections.abc import Callable

import pytest

from dibs.serve.dashboard.dashboard import Dashboard
from serve.daemon import Daemon


@pytest.fixture
def board() -> Dashboard:
    return Dashboard(["password", "*token*"])


@pytest.fixture
def daemon(start: Callable[..., Daemon], board: Dashboard) -> Daemon:
    return start(beside=[board])
