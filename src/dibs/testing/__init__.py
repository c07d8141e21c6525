"""Testing: a manual clock, and the contract suite that every backend passes.

Whoever writes a backend holds it to the guarantees of dibs in a test file of some twenty lines. Needs pytest.

    # conftest.py
    import pytest
    pytest.register_assert_rewrite("dibs.testing")      # failures then show their values

    # test_mine.py
    from dibs.queues.views import Capabilities
    from dibs.testing import QueueContract
    from mine import MyQueue

    class TestMyQueue(QueueContract):
        capabilities = Capabilities(dependencies=False)  # what it does not offer is checked to be refused

        def make_queue(self, **options):                 # the same queue each time within one test
            return MyQueue(self.tmp_path / "q", **options)

        def place(self):                                 # for tests with several processes
            return f"mine:{self.tmp_path}/q"

`make_queue` gets a `ManualClock`, by which leases and the store's own time must go. Where that cannot be
(a database's `now()`), set `real_time = True` and `tick = 0.1`: time then really passes.

Topics can be run alone: each class of `dibs.testing.topics` is a suite of its own.
"""

from typing import TYPE_CHECKING, Any

from dibs.testing.clock import ManualClock

if TYPE_CHECKING:
    from dibs.testing.contract import QueueContract
    from dibs.testing.harness import needs

__all__ = ["ManualClock", "QueueContract", "needs"]


def __getattr__(name: str) -> Any:
    """The suite needs pytest, the clock does not: load each when it is asked for."""
    if name == "QueueContract":
        from dibs.testing.contract import QueueContract

        return QueueContract
    if name == "needs":
        from dibs.testing.harness import needs

        return needs
    raise AttributeError(f"module 'dibs.testing' has no attribute {name!r}")
