"""Changes of priority beside claims, cancels, releases and each other."""

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from dibs import states
from dibs.clock import SYSTEM
from dibs.errors import LeaseLost, Refused
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.stores.files import Busy
from dibs.task import Task
from dibs.testing.contest import CONTENDERS, PATIENCE_SECONDS, Contest
from dibs.testing.harness import needs
from dibs.testing.topics.priorities import shown

SEVERAL = 8


class PriorityRaces(Contest):
    @needs("prioritises", "push")
    @pytest.mark.parametrize("between", ["claim", "cancel", "prioritise"])
    def test_a_step_between_look_and_step_counts(
        self, queue: Queue, between: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the two are apart. Where a step is a transaction this would wait for itself: leave it out there."""
        task, other = queue.push({"n": 1}), self.open()
        look = states.prioritise
        taken: list[Lease | Task] = []

        def looked(cell: states.Cell) -> states.Cell:
            monkeypatch.setattr(states, "prioritise", look)
            if between == "claim":
                taken.append(self.take(other))
            elif between == "cancel":
                taken.append(other.cancel(task.id))
            else:
                taken.append(other.set_priority(task.id, 9))
            return look(cell)

        monkeypatch.setattr(states, "prioritise", looked)
        if between == "prioritise":
            assert queue.set_priority(task.id, 100).priority == 100
            assert shown(other, task.id) == {100}
            assert self.counts(other) == {"ready": 1}
        else:
            with pytest.raises(Refused, match="claimed" if between == "claim" else "cancelled"):
                queue.set_priority(task.id, 100)
            assert shown(other, task.id) == {50}
        assert len(taken) == 1
        if isinstance(taken[0], Lease):
            taken[0].complete()
            assert self.counts(queue) == {"completed": 1}

    @needs("prioritises", "push")
    def test_threads_claim_each_task_once_while_priorities_change(self, queue: Queue) -> None:
        count = self.thread_tasks // 5
        ids = [queue.push({"n": n}).id for n in range(count)]
        queues = [queue, self.open()]
        start = threading.Barrier(CONTENDERS)

        def work(number: int) -> list[str]:
            mine, taken = queues[number % 2], []
            start.wait()
            while (lease := mine.claim(ttl=self.units(600))) is not None or "ready" in self.counts(mine):
                if lease is not None:
                    lease.complete()
                    taken.append(lease.id)
            return taken

        def change(number: int) -> list[str]:
            start.wait()
            for turn, task_id in enumerate(ids[::-1] if number % 2 else ids):
                try:
                    queues[number % 2].set_priority(task_id, (turn * 7 + number) % 100)
                except Refused:
                    continue  # claimed, or completed
            return []

        with ThreadPoolExecutor(CONTENDERS) as pool:
            parts = [pool.submit(change if number < 3 else work, number) for number in range(CONTENDERS)]
            taken = [task_id for part in parts for task_id in part.result()]
        while (lease := queue.claim(ttl=self.units(600))) is not None:  # what was on its way when they looked last
            lease.complete()
            taken.append(lease.id)
        assert Counter(taken) == Counter(ids)
        assert self.counts(queue) == {"completed": count}

    @needs("prioritises", "push")
    def test_of_steps_at_once_nothing_is_lost(self, queue: Queue) -> None:
        """A cancel, a release, a claim and several changes of priority on one task, again and again."""
        held = queue.push({"n": 0})
        queues = [self.open() for _ in range(SEVERAL)]
        rounds = max(self.thread_tasks // 50, 3)
        with ThreadPoolExecutor(SEVERAL) as pool:
            for turn in range(rounds):
                lease = self.take(queue)
                start = threading.Barrier(SEVERAL)
                meddle = partial(self._meddle, lease, start)
                done = list(pool.map(meddle, range(SEVERAL), queues))
                task = queue.get(held.id)
                changed = {answer for answer in done if isinstance(answer, int)}
                assert task.priority in changed | {lease.task.priority}, f"round {turn}: {done}"
                assert shown(queue, held.id) == {task.priority}
                assert sum(self.counts(queue).values()) == 1
                for taken in (lease, *(answer for answer in done if isinstance(answer, Lease))):
                    with suppress(LeaseLost):
                        taken.release()
                if task.state is State.CANCELLED:
                    queue.retry(held.id)
                self.pass_a_moment()
        assert self.counts(queue) == {"ready": 1}

    def _meddle(self, lease: Lease, start: threading.Barrier, number: int, queue: Queue) -> Any:
        start.wait()
        try:
            if number == 0:
                return lease.release()
            if number == 1:
                return queue.claim(ttl=self.units(600))
            if number == 2:
                queue.cancel(lease.id)
                return None
            return queue.set_priority(lease.id, number).priority
        except (Refused, LeaseLost, Busy):
            return None

    @needs("prioritises", "push", "processes")
    def test_processes_claim_each_task_once_while_priorities_change(self) -> None:
        queue = self.make_queue(clock=SYSTEM)
        count = max(self.race_tasks // 4, 10)
        ids = [task.id for task in queue.push_many([{"n": n} for n in range(count)])]
        shuffling = [self._start("shuffle", "10") for _ in range(2)]
        for process in shuffling:
            assert self._say(process, "0") == "shuffling"
        said = self._together([self._start("fight", "0") for _ in range(4)])
        for process in shuffling:
            process.communicate(timeout=PATIENCE_SECONDS)
            assert process.returncode == 0
        claims = [json.loads(line) for lines in said for line in lines]
        assert Counter(task_id for task_id, _ in claims) == Counter(ids)
        assert {epoch for _, epoch in claims} == {1}
        assert self.counts(queue) == {"completed": count}
        queue.close()
