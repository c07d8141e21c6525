"""Functions as tasks."""

from collections.abc import Callable
from typing import Any

import pytest

import dibs
from dibs.errors import BadInput
from dibs.functions import Functions, TaskFunction
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.worker.supervisor import Supervisor


@pytest.fixture
def resize(queue: Queue) -> TaskFunction[..., str]:
    @dibs.function(queue, priority="high", max_attempts=7)
    def resize(path: str, width: int = 100) -> str:
        """Make it smaller."""
        return f"{path}@{width}"

    return resize


def claimed(queue: Queue) -> Lease:
    lease = queue.claim()
    assert lease is not None
    return lease


def test_calling_calls(resize: TaskFunction[..., str]) -> None:
    assert resize("a", width=3) == "a@3"
    assert resize.__name__ == "resize"
    assert resize.__doc__ == "Make it smaller."


def test_push_and_run(resize: TaskFunction[..., str], queue: Queue) -> None:
    task = resize.push("a", width=3)
    assert (task.priority, task.max_attempts) == (100, 7)
    assert task.payload == {"function": "resize", "args": ["a"], "kwargs": {"width": 3}}
    assert resize.run_lease(claimed(queue)) == "a@3"


def test_options(resize: TaskFunction[..., str], queue: Queue) -> None:
    first = resize.options(key="k", delay=60).push("a")
    again = resize.options(key="k").push("b")
    assert (again.id, again.duplicate, first.max_attempts) == (first.id, True, 7)
    assert queue.push_many([resize.new("x"), resize.options(priority=3).new("y")])[1].priority == 3


def test_arguments_are_checked_at_push(resize: TaskFunction[..., str], queue: Queue) -> None:
    with pytest.raises(BadInput, match=r"resize\(\) cannot be called so: .*missing"):
        resize.push()
    with pytest.raises(BadInput, match="unexpected keyword argument 'height'"):
        resize.push("a", height=1)
    with pytest.raises(BadInput, match="not JSON"):
        resize.push(object())
    assert queue.stats().total == 0


def test_unknown_option(queue: Queue) -> None:
    with pytest.raises(BadInput, match="option 'prority' is not known"):
        dibs.function(queue, prority=3)(lambda: None)


def test_registry_runs_only_what_is_registered(queue: Queue) -> None:
    tasks = Functions(queue)

    @tasks.function(priority="low")
    def add(a: int, b: int) -> int:
        return a + b

    @tasks.function("minus")
    def subtract(a: int, b: int) -> int:
        return a - b

    add.push(1, 2)
    assert tasks.run_lease(claimed(queue)) == 3
    subtract.push(5, b=2)
    assert tasks.run_lease(claimed(queue)) == 3
    queue.push({"function": "os.system", "args": ["true"]})
    with pytest.raises(BadInput, match=r"'os.system' is not registered; registered: add, minus"):
        tasks.run_lease(claimed(queue))
    with pytest.raises(BadInput, match="already registered"):
        tasks.function("minus")(add.function)


@pytest.mark.parametrize(
    "payload",
    [None, "x", [], {}, {"function": 1}, {"function": "add", "args": "ab"}, {"function": "add", "kwargs": []}],
)
def test_payloads_that_are_no_call(queue: Queue, payload: Any) -> None:
    queue.push(payload)
    with pytest.raises(BadInput, match="no call of a function"):
        Functions(queue).run_lease(claimed(queue))


def test_decorated_function_runs_no_other(resize: TaskFunction[..., str], queue: Queue) -> None:
    queue.push({"function": "other", "args": []})
    with pytest.raises(BadInput, match="this worker has only 'resize'"):
        resize.run_lease(claimed(queue))


def test_importing_an_application_opens_nothing(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dibs.function("queues/x")(lambda: None)
    Functions("queues/y")
    assert list(tmp_path.iterdir()) == []


def test_worked_off_by_a_worker(
    url: str, queue: Queue, module: Callable[[str], str], supervise: Callable[..., Supervisor]
) -> None:
    module(f"""
        import dibs
        tasks = dibs.Functions({url!r})
        @tasks.function()
        def add(a, b=1): return a + b
        @tasks.function()
        async def later(a): return [a]
    """)
    one = queue.push({"function": "add", "args": [1], "kwargs": {"b": 4}})
    two = queue.push({"function": "later", "args": ["x"]})
    three = queue.push({"function": "nope"}, max_attempts=1)
    supervisor = supervise(call="jobs:tasks", until_empty=True)
    supervisor.join()
    assert queue.detail(one.id).result == 5
    assert queue.detail(two.id).result == ["x"]
    assert "not registered" in queue.detail(three.id).error
