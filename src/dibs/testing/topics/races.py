"""Many claimers at once: threads on one queue, and real processes on thousands of stale leases."""

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from dibs.clock import SYSTEM
from dibs.errors import LeaseLost
from dibs.queues.queue import Queue
from dibs.testing.contest import CONTENDERS, Contest
from dibs.testing.harness import needs


class Races(Contest):
    def test_threads_claim_each_task_once(self, queue: Queue) -> None:
        ids = {self.add(queue, {"n": n}).id for n in range(self.thread_tasks)}
        queues = [queue, self.open()]
        start = threading.Barrier(CONTENDERS)

        def work(number: int) -> list[str]:
            mine = queues[number % 2]
            start.wait()
            taken = []
            while (lease := mine.claim(ttl=self.units(600))) is not None:
                taken.append(lease.id)
                if len(taken) % 7 == 0:
                    lease.renew()
                lease.complete()
            return taken

        with ThreadPoolExecutor(CONTENDERS) as pool:
            taken = [task_id for part in pool.map(work, range(CONTENDERS)) for task_id in part]
        assert Counter(taken) == Counter(ids)
        assert self.counts(queue) == {"completed": self.thread_tasks}

    @needs("push", "settings")
    def test_threads_push_claim_fail_and_release_together(self, queue: Queue) -> None:
        queues = [queue, self.open()]
        start = threading.Barrier(CONTENDERS)
        completed: list[str] = []

        def produce(number: int) -> list[str]:
            start.wait()
            return [
                queues[number % 2].push({"n": n}, max_attempts=100, backoff=0.0).id
                for n in range(self.thread_tasks // 5)
            ]

        def work(number: int) -> list[str]:
            start.wait()
            for turn, lease in enumerate(queues[number % 2].claims(ttl=self.units(600), wait=self.units(5))):
                if turn % 5 == 0:
                    lease.release()
                elif turn % 5 == 1:
                    lease.fail("again")
                else:
                    lease.complete()
                    completed.append(lease.id)
            return []

        with ThreadPoolExecutor(CONTENDERS) as pool:
            running = [pool.submit(produce if number < 3 else work, number) for number in range(CONTENDERS)]
            pushed = [task_id for part in running for task_id in part.result()]
        while (lease := queue.claim(ttl=self.units(600))) is not None:
            lease.complete()
            completed.append(lease.id)
        assert Counter(completed) == Counter(pushed)
        assert len(pushed) == 3 * (self.thread_tasks // 5)

    def test_threads_take_stale_leases_over_once(self, queue: Queue) -> None:
        count = self.thread_tasks * 2 // 5
        ids = [self.add(queue, {"n": n}).id for n in range(count)]
        stale = queue.claim_many(count, ttl=self.units(5))
        assert len(stale) == count
        self.pass_time(6)
        queues = [self.open() for _ in range(CONTENDERS)]
        start = threading.Barrier(CONTENDERS)

        def work(mine: Queue) -> list[tuple[str, int]]:
            start.wait()
            return [(lease.id, lease.epoch) for lease in mine.claims(ttl=self.units(10_000), wait=self.units(1))]

        with ThreadPoolExecutor(CONTENDERS) as pool:
            claims = [claim for part in pool.map(work, queues) for claim in part]
        assert Counter(claims) == Counter((task_id, 2) for task_id in ids)
        refused = 0
        for lease in stale:
            try:
                lease.complete("stale")
            except LeaseLost:
                refused += 1
        assert refused == count

    @needs("processes")
    def test_processes_take_stale_leases_over_once(self) -> None:
        """A process claims everything and dies; eight others fight for what it held."""
        queue = self.make_queue(clock=SYSTEM)
        ids = [self.add(queue, {"n": n}).id for n in range(self.race_tasks)]
        holder = self._start("hold", str(self.race_tasks))
        assert self._say(holder, "0") == str(self.race_tasks)
        holder.kill()
        holder.communicate()
        contenders = [self._start("fight", "0") for _ in range(CONTENDERS)]
        said = self._together(contenders)
        shares = [len(lines) for lines in said]
        claims: list[tuple[str, int]] = [tuple(json.loads(line)) for lines in said for line in lines]
        twice = [claim for claim, times in Counter(claims).items() if times > 1]
        assert twice == []
        assert Counter(task_id for task_id, _ in claims) == Counter(ids)
        assert {epoch for _, epoch in claims} == {2}
        assert sum(share > 0 for share in shares) > 1, f"one contender did it all: {shares}"
        assert self.counts(queue) == {"completed": self.race_tasks}
        queue.close()
