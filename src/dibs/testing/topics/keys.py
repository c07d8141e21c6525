"""Keys: the user's own names, unique among live tasks, harmless whatever they contain."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from dibs.errors import BadInput, Refused, TaskNotFound
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.task import NewTask
from dibs.testing.harness import Contract, needs

HOSTILE = [
    "../../etc/passwd",
    "/etc/passwd",
    "a/b",
    "a\\b",
    ".",
    "..",
    "CON",
    "nul.txt",
    "x" * 300,
    "🦀" * 75,
    "é\u0301\u202egnp.exe",
    "two\nlines\r\n",
    " leading and trailing ",
    "\t",
    "~",
    "-rf",
    "$(reboot)`reboot`",
    "%2e%2e%2f",
    "*?[a-z]",
    "'\"; DROP TABLE tasks; --",
    "{key}",
    ".DS_Store",
    "dibs.json",
    "a\x00b",
    "0" * 31,
]
ALIKE = [["a/b", "a_b", "a%2Fb", "a:b"], ["Key", "key"], ["k", "k ", "k\n", " k"], ["é", "e\u0301"], ["1", "01"]]


class KeyRules(Contract):
    @needs("keys", "push")
    def test_a_key_pushed_twice_is_one_task(self, queue: Queue) -> None:
        first = queue.push("first", key="k")
        again = self.open().push("again", key="k")
        assert (first.duplicate, again.duplicate) == (False, True)
        assert (again.id, again.payload) == (first.id, first.payload)
        assert self.counts(queue) == {"ready": 1}

    @needs("keys", "push")
    def test_a_key_twice_in_one_batch_is_one_task(self, queue: Queue) -> None:
        items = [NewTask(payload=n, key=f"k{n % 3}") for n in range(9)]
        pushed = queue.push_many(items)
        assert [task.duplicate for task in pushed] == [False] * 3 + [True] * 6
        assert [task.id for task in pushed] == [task.id for task in pushed[:3]] * 3
        assert self.counts(queue) == {"ready": 3}

    @needs("keys", "push")
    def test_a_claimed_task_holds_its_key(self, queue: Queue) -> None:
        task = queue.push(1, key="k")
        lease = self.take(queue)
        assert queue.push(2, key="k").id == task.id
        lease.fail("once")
        assert queue.push(3, key="k").id == task.id

    @needs("keys", "push", "scheduling")
    def test_a_scheduled_task_holds_its_key(self, queue: Queue) -> None:
        task = queue.push(1, key="k", delay=self.units(50))
        assert queue.push(2, key="k").id == task.id

    @needs("owned", "keys", "push")
    def test_a_completed_task_frees_its_key(self, queue: Queue) -> None:
        first = queue.push(1, key="k")
        self.take(queue).complete()
        second = queue.push(2, key="k")
        assert not second.duplicate
        assert second.id != first.id
        assert queue.get("k").id == second.id
        assert self.counts(queue) == {"ready": 1, "completed": 1}

    @needs("owned", "keys", "push")
    def test_a_key_may_be_unique_among_completed_tasks_too(self, queue: Queue) -> None:
        first = queue.push(1, key="k", unique="completed")
        self.take(queue).complete()
        again = queue.push(2, key="k", unique="completed")
        assert again.duplicate
        assert (again.id, again.state) == (first.id, State.COMPLETED)
        assert queue.claim() is None
        assert not queue.push(3, key="k").duplicate

    @needs("owned", "keys", "push")
    @pytest.mark.parametrize("unique", ["live", "completed"])
    def test_failed_and_cancelled_tasks_hold_no_key(self, queue: Queue, unique: str) -> None:
        failed = queue.push(1, key="k", unique=unique)
        self.take(queue).fail("no", retry=False)
        cancelled = queue.push(2, key="k", unique=unique)
        assert cancelled.id != failed.id
        queue.cancel("k")
        third = queue.push(3, key="k", unique=unique)
        assert third.id not in (failed.id, cancelled.id)
        assert self.take(queue).id == third.id

    @needs("owned", "keys", "push")
    def test_a_retry_takes_the_key_back_only_if_it_is_free(self, queue: Queue) -> None:
        first = queue.push(1, key="k")
        self.take(queue).fail("no", retry=False)
        second = queue.push(2, key="k")
        with pytest.raises(Refused, match=second.id):
            queue.retry(first.id)
        assert self.state(queue, first.id) is State.FAILED
        queue.cancel(second.id)
        queue.retry(first.id)
        assert queue.get("k").id == first.id
        assert queue.push(3, key="k").id == first.id

    @needs("keys", "push")
    def test_a_key_names_its_task_everywhere(self, queue: Queue) -> None:
        task = queue.push(1, key="k")
        assert queue.get("k").id == queue.detail("k").task.id == queue.why("k").id == task.id
        assert queue.cancel("k").id == task.id
        assert queue.retry("k").id == task.id

    @needs("owned", "keys", "push")
    def test_a_purged_task_leaves_its_key_free(self, queue: Queue) -> None:
        queue.push(1, key="k", unique="completed")
        self.take(queue).complete()
        self.pass_time(1)
        assert queue.purge("completed", older_than=0) == 1
        with pytest.raises(TaskNotFound):
            queue.get("k")
        assert not queue.push(2, key="k", unique="completed").duplicate

    @needs("owned", "keys", "push")
    @pytest.mark.parametrize("key", HOSTILE, ids=ascii)
    def test_a_hostile_key_is_only_a_name(self, queue: Queue, key: str) -> None:
        task = queue.push({"n": 1}, key=key)
        other = self.open()
        assert other.push({"n": 2}, key=key).id == task.id
        assert other.get(key).key == key
        lease = self.take(other)
        assert (lease.id, lease.task.key) == (task.id, key)
        lease.complete("done")
        assert queue.detail(key).result == "done"
        self.pass_time(1)
        assert queue.purge("completed", older_than=0) == 1
        with pytest.raises(TaskNotFound):
            queue.get(key)

    @needs("owned", "keys", "push")
    @pytest.mark.parametrize("keys", ALIKE, ids=ascii)
    def test_keys_that_look_alike_are_different(self, queue: Queue, keys: list[str]) -> None:
        pushed = {key: queue.push(key, key=key) for key in keys}
        assert not any(task.duplicate for task in pushed.values())
        assert {key: queue.get(key).id for key in keys} == {key: task.id for key, task in pushed.items()}

    @needs("keys", "push")
    @pytest.mark.parametrize("key", ["", 5, b"k", "x" * 1025, "🦀" * 257, "\ud800", ["k"]], ids=ascii)
    def test_what_is_no_key_is_refused(self, queue: Queue, key: object) -> None:
        with pytest.raises(BadInput, match="key"):
            queue.push(1, key=key)  # type: ignore[arg-type]
        assert self.counts(queue) == {}

    @needs("keys", "push")
    def test_many_threads_pushing_one_key_make_one_task(self, queue: Queue) -> None:
        queues = [self.open() for _ in range(4)]
        with ThreadPoolExecutor(8) as pool:
            for turn in range(self.thread_keys):
                key = f"k{turn}"
                pushed = list(pool.map(lambda n, key=key: queues[n % 4].push(n, key=key), range(8)))
                assert len({task.id for task in pushed}) == 1
                assert sum(not task.duplicate for task in pushed) == 1
        assert self.counts(queue) == {"ready": self.thread_keys}
