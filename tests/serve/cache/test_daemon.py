"""A daemon that remembers: what a client did it sees in its own next list, and what others did too."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.queues.specs.queue import SpecsQueue
from dibs.serve.cache.files import KnownFiles
from dibs.serve.cache.remembering import Remembering
from dibs.serve.cache.specs import KnownSpecs
from serve.cache.conftest import settle
from serve.cache.test_events import write_in_place
from serve.daemon import Daemon
from waiting import until


@pytest.fixture
def start() -> Iterator[Callable[[str], Daemon]]:
    started: list[Daemon] = []

    def one(url: str) -> Daemon:
        opening: Callable[[], Queue] = lambda: dibs.open(url, pid=None)  # noqa: E731
        started.append(Daemon(opening, beside=[Remembering()]))
        return started[-1]

    yield one
    for daemon in started:
        daemon.stop()


def states(queue: Queue) -> dict[str, str]:
    return {str(task.key): str(task.state) for task in queue.tasks()}


@pytest.mark.parametrize("kind", ["file", "specs"])
def test_one_sees_what_one_has_done(start: Callable[[str], Daemon], specs: Path, kind: str) -> None:
    url = f"file:{specs.parent}/q?sync=off" if kind == "file" else f"specs:{specs}"
    daemon = start(url)
    assert isinstance(daemon.house.counters["q"].desk.look, KnownFiles if kind == "file" else KnownSpecs)
    with dibs.open(daemon.url) as queue:
        for number in range(30):
            key = f"task-{number}"
            queue.push({"n": number}, key=key)
            assert states(queue)[key] == "ready"
            lease = queue.claim(ttl=600)
            assert lease is not None
            assert states(queue)[key] == "claimed"
            assert [claim.key for claim in queue.claimed()] == [key]
            lease.complete()
            assert states(queue)[key] == "completed"
            assert queue.stats().states["completed"] == number + 1
            if number % 10 == 0:
                settle(str(specs.parent))


def test_with_and_without_a_daemon_on_one_queue(start: Callable[[str], Daemon], specs: Path) -> None:
    url = f"file:{specs.parent}/q?sync=off"
    daemon = start(url)
    with dibs.open(daemon.url) as remote, dibs.open(url) as direct:
        taken: list[str] = []
        for number in range(60):
            direct.push({"n": number})
            lease = (remote if number % 2 else direct).claim(ttl=600)
            assert lease is not None
            taken.append(lease.id)
            assert [task.id for task in remote.tasks("claimed")] == [lease.id]
            assert list(remote.tasks("ready")) == []
            lease.complete()
        assert len(set(taken)) == 60
        assert [task.id for task in remote.tasks()] == [task.id for task in direct.tasks()]


def test_a_spec_saved_in_place_is_in_the_answers(start: Callable[[str], Daemon], specs: Path) -> None:
    (specs / "one.md").write_text("---\npriority: 10\n---\n# One\n")
    daemon = start(f"specs:{specs}")
    look = daemon.house.counters["q"].desk.look
    assert isinstance(look, KnownSpecs)
    until(lambda: look.files.watched, "the watch")
    with dibs.open(daemon.url) as queue:
        assert [task.priority for task in queue.tasks()] == [10]
        settle(str(specs))
        write_in_place(specs / "one.md", "---\npriority: 70\n---\n# One\n")
        until(lambda: [task.priority for task in queue.tasks()], "the change", equals=[70])


def test_what_changed_while_the_daemon_was_down(start: Callable[[str], Daemon], specs: Path) -> None:
    (specs / "one.md").write_text("---\npriority: 10\n---\n# One\n")
    first = start(f"specs:{specs}")
    with dibs.open(first.url) as queue:
        assert [task.priority for task in queue.tasks()] == [10]
    settle(str(specs))
    first.stop()
    write_in_place(specs / "one.md", "---\npriority: 70\n---\n# One\n")
    with dibs.open(start(f"specs:{specs}").url) as queue:
        assert [task.priority for task in queue.tasks()] == [70]


def test_pages_of_a_list_are_of_one_look(start: Callable[[str], Daemon], specs: Path) -> None:
    """A client that reads page by page while others change things gets each task once."""
    for number in range(30):
        (specs / f"s-{number:02}.md").write_text("---\nstatus: pending\n---\n# One\n")
    daemon = start(f"specs:{specs}")
    counter = daemon.house.counters["q"]
    tasks = iter(counter.desk.look.tasks())
    first = [next(tasks).id for _ in range(10)]
    (specs / "s-00.md").unlink()
    (specs / "a-new.md").write_text("---\nstatus: pending\n---\n# New\n")
    assert len(list(counter.desk.look.tasks())) == 30
    assert [*first, *(task.id for task in tasks)] == [f"s-{number:02}" for number in range(30)]


def test_where_claims_go_through_git_the_queue_itself_answers(specs: Path) -> None:
    from dibs.serve.cache.looking import looking

    class Elsewhere(SpecsQueue):
        pass

    queue = dibs.open(f"specs:{specs}")
    queue.__class__ = Elsewhere
    assert looking(queue) is queue
    with dibs.open("memory:x") as memory:
        assert looking(memory) is memory
