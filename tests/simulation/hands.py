"""Who holds what in its hand, and what it may believe; and whether the answers that steps gave are true.

Belief is measured in true time with the holder's own clock and the real code of `Lease.held`: from the moment a task
has gone on to others, no process that looks may still be told that it holds it.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from dibs.errors import DibsError, LeaseLost, StorageError
from dibs.queues.held import Lease
from dibs.states import Cell, State
from dibs.stores.files import Busy

from .truth import Truth, show
from .world import Process, Violation, World


class Hand:
    """A lease in the hand of a process."""

    __slots__ = ("epoch", "id", "lease", "process", "stepping", "tried")

    def __init__(self, process: Process, lease: Lease) -> None:
        self.process = process
        self.lease = lease
        self.id = lease.id
        self.epoch = lease.epoch
        self.stepping = False
        self.tried: set[str] = set()  # steps: one that failed half-way may be finished by somebody else


class Hands:
    def __init__(self, world: World, truth: Truth) -> None:
        self._world = world
        self._truth = truth
        self._by_task: dict[str, list[Hand]] = defaultdict(list)
        self._shadows: list[Hand] = []  # the task has gone on to others, the lease is still in a hand
        self._taken: dict[tuple[str, int], Process] = {}
        truth.observers.append(self._observe)
        world.watchers.append(self.check_shadows)

    def take(self, process: Process, lease: Lease) -> Hand:
        """A claim returned this lease."""
        name = (lease.id, lease.epoch)
        other = self._taken.get(name)
        if other is not None:
            raise Violation("two holders", f"{process} and {other} were both given epoch {lease.epoch} of {lease.id}")
        if name not in self._truth.leased:
            raise Violation("two holders", f"{process} was given epoch {lease.epoch} of {lease.id}, which never was")
        self._taken[name] = process
        known = self._truth.priorities[lease.id][-1]
        if self._truth.holds(lease.id, lease.epoch) and lease.task.priority != known:
            raise Violation("untrue answer", f"{process} was given {lease.id} at {lease.task.priority}, not at {known}")
        return self.adopt(process, lease)

    def adopt(self, process: Process, lease: Lease) -> Hand:
        """A lease that was looked up by its epoch."""
        hand = Hand(process, lease)
        self._by_task[lease.id].append(hand)
        cancelled = self._truth.took(lease.id, "cancel", lease.epoch + 1)
        if not cancelled and not self._truth.holds(lease.id, lease.epoch):
            self._shadows.append(hand)
        self._world.look()
        return hand

    def drop(self, hand: Hand) -> None:
        """The process forgets the lease."""
        self._by_task[hand.id].remove(hand)
        if hand in self._shadows:
            self._shadows.remove(hand)

    # Belief

    def _observe(self, task_id: str, step: str, before: Cell, after: Cell | None) -> None:
        if before.state is not State.CLAIMED or step == "keep":
            return
        for hand in self._by_task.get(task_id, ()):
            if hand.epoch == before.epoch and step != "cancel" and not self._own_doing(hand, step):
                self._shadows.append(hand)
                if self._believes(hand):
                    raise Violation(
                        "stolen",
                        f"{self._world.current} took {task_id} from {hand.process} ({show(before)} -> {show(after)}), "
                        f"which still believes to hold epoch {hand.epoch}",
                    )

    def _own_doing(self, hand: Hand, step: str) -> bool:
        world = self._world
        if hand.process is world.late_for or step in hand.tried:
            return True
        return hand.stepping and hand.process is world.current

    def check_shadows(self) -> None:
        for hand in self._shadows:
            if self._believes(hand):
                raise Violation(
                    "two believe",
                    f"{hand.process} believes to hold epoch {hand.epoch} of {hand.id}, "
                    f"which is {show(self._truth.cells.get(hand.id))}",
                )

    def _believes(self, hand: Hand) -> bool:
        process, lease = hand.process, hand.lease
        if lease.state != "held" or not process.alive or process.over:
            return False
        now = process.host.boottime(self._world.now)
        limit = lease.task.max_runtime
        if limit is not None and now >= lease.since + limit:
            return False
        if now < lease.deadline or process.busy:
            return bool(now < lease.deadline)
        self._world.quiet += 1
        try:
            return bool(now < lease.queue.kept_until(lease))
        finally:
            self._world.quiet -= 1

    # Answers

    def step(self, hand: Hand, name: str, act: Callable[[], Any]) -> str:
        """Take a step with a lease; returns "done", "lost" or "error"."""
        process, world = hand.process, self._world
        held_before = self._truth.holds(hand.id, hand.epoch)
        spoiled = process.spoiled
        so_far = self._truth.count(hand.id)
        process.busy = hand.stepping = True
        hand.tried.add(name)
        try:
            act()
            answer = "done"
        except LeaseLost:
            answer = "lost"
        except StorageError as error:
            answer = "error"
            if process.spoiled == spoiled and not isinstance(error, Busy):
                raise Violation("unexpected error", f"{process} {name} {hand.id}: {error}") from error
        finally:
            process.busy = hand.stepping = False
        if world.tracing:
            world.say(f"{name} {hand.id[-6:]} epoch {hand.epoch}: {answer}")
        if answer == "done" and not held_before and not self._again(hand, name):
            raise Violation(
                "zombie", f"{process} {name} at epoch {hand.epoch} of {hand.id} was accepted after it was lost"
            )
        if answer == "done" and name != "renew" and not self._truth.took(hand.id, name, hand.epoch):
            raise Violation("untrue answer", f"{process} was told that {name} of {hand.id} is done")
        if answer == "lost":
            self._check_lost(hand, name, so_far, unspoiled=process.spoiled == spoiled)
        world.look()
        return answer

    def _again(self, hand: Hand, name: str) -> bool:
        """A step that was repeated because the first try ended in an error, and had been taken."""
        return name != "renew" and self._truth.took(hand.id, name, hand.epoch, hand.process)

    def _check_lost(self, hand: Hand, name: str, since: int, *, unspoiled: bool) -> None:
        took = self._truth.took(hand.id, name, hand.epoch, hand.process, since)
        if took and (unspoiled or (name == "complete" and hand.id not in self._truth.purged)):
            raise Violation("untrue answer", f"{hand.process} was refused {name} of {hand.id}, which took effect")
        now = hand.process.host.boottime(self._world.now)
        if unspoiled and self._truth.holds(hand.id, hand.epoch) and now < hand.lease.deadline:
            raise Violation("untrue answer", f"{hand.process} was refused {name} of {hand.id}, but still holds it")


def attempt(process: Process, act: Callable[[], Any], *expected: type[DibsError]) -> Any:
    """Call the queue; None when it failed with an error that is expected here. Others are violations."""
    spoiled = process.spoiled
    process.busy = True
    try:
        return act()
    except StorageError as error:
        if process.spoiled == spoiled and not isinstance(error, Busy):
            raise Violation("unexpected error", f"{process}: {error}") from error
        return None
    except expected:
        return None
    finally:
        process.busy = False
