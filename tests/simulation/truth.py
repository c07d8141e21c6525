"""What really happened to each task. The media tell every change at the moment it takes effect; each must be a
step of the life cycle, whatever the code that made it believed."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from dibs.states import LIVE, TERMINAL, WAITING, Cell, State

from .world import Violation, World

Observer = Callable[[str, str, Cell, Cell | None], None]  # id, step, from, to


class Step(NamedTuple):
    name: str
    epoch: int
    process: object
    at: float


class Truth:
    def __init__(self, world: World) -> None:
        self._world = world
        self.cells: dict[str, Cell] = {}
        self.steps: dict[str, list[Step]] = {}
        self.keys: dict[str, str] = {}  # task -> key
        self.after: dict[str, tuple[str, ...]] = {}
        self.priorities: dict[str, list[int]] = {}  # that it ever had; the last is the one it has
        self.purged: dict[str, Cell] = {}
        self.leased: set[tuple[str, int]] = set()
        self.observers: list[Observer] = []

    def change(
        self, task_id: str, before: Cell | None, after: Cell | None, record: Mapping[str, Any] | None = None
    ) -> None:
        """A cell changed on the medium; the task's record is given at push. Raises Violation."""
        known = self.cells.get(task_id)
        if known != before:
            raise Violation("not one cell", f"task {task_id}: {show(before)} -> {show(after)}, but it is {show(known)}")
        step = self._push(task_id, after) if before is None else self._step(task_id, before, after)
        epoch = after.epoch if after is not None else before.epoch if before is not None else 0
        self.steps.setdefault(task_id, []).append(
            Step(step, epoch, self._world.current or self._world.late_for, self._world.now)
        )
        if before is None:
            self._note(task_id, record or {})
        if after is None:
            assert before is not None
            self.purged[task_id] = self.cells.pop(task_id)
        else:
            self.cells[task_id] = after
        if self._world.tracing:
            self._world.say(f"{step.upper()} {task_id[-6:]}: {show(before)} -> {show(after)}")
        if before is not None:
            for observer in self.observers:
                observer(task_id, step, before, after)

    def prioritise(self, task_id: str, priority: int) -> None:
        """The medium has another priority for a task that stands as before. Raises Violation."""
        cell = self.cells.get(task_id)
        if cell is None or cell.state not in WAITING:
            raise Violation("illegal step", f"task {task_id} got priority {priority} while {show(cell)}")
        self.priorities[task_id].append(priority)
        by = self._world.current or self._world.late_for
        self.steps[task_id].append(Step("prioritise", cell.epoch, by, self._world.now))
        if self._world.tracing:
            self._world.say(f"PRIORITISE {task_id[-6:]}: {priority}, {show(cell)}")

    def _note(self, task_id: str, record: Mapping[str, Any]) -> None:
        self.priorities[task_id] = [record.get("priority", 50)]
        if "key" in record:
            self.keys[task_id] = record["key"]
        if "after" in record:
            self.after[task_id] = tuple(record["after"])

    def _push(self, task_id: str, after: Cell | None) -> str:
        if task_id in self.steps:
            raise Violation("pushed twice", f"task {task_id} appeared again, as {show(after)}")
        if after is None or after.state not in (State.READY, State.SCHEDULED, State.BLOCKED) or after[1:4] != (0, 0, 0):
            raise Violation("illegal step", f"task {task_id} was born as {show(after)}")
        return "push"

    def _step(self, task_id: str, before: Cell, after: Cell | None) -> str:
        if after is None:
            if before.state in LIVE:
                raise Violation("lost", f"task {task_id} was removed while {show(before)}")
            return "purge"
        if before.state is State.READY and after.state is State.CLAIMED:
            if (task_id, after.epoch) in self.leased:
                raise Violation("epoch twice", f"task {task_id} was leased at epoch {after.epoch} before")
            self.leased.add((task_id, after.epoch))
        step = step_between(before, after)
        if not step:
            raise Violation("illegal step", f"task {task_id}: {show(before)} -> {show(after)}")
        if step == "promote" and before.due > self._world.now + 0.001:
            early = before.due - self._world.now
            raise Violation("early", f"task {task_id} was made ready {early:.3f} s before it is due")
        return step

    def undo_claim(self, task_id: str, cell: Cell) -> None:
        """It was claimed and given back at once, by a claimer that told nobody: that epoch never was."""
        self.leased.discard((task_id, self.cells[task_id].epoch))
        self.cells[task_id] = cell
        self.steps[task_id].pop()

    # Asking

    def holds(self, task_id: str, epoch: int) -> bool:
        cell = self.cells.get(task_id)
        return cell is not None and cell.state is State.CLAIMED and cell.epoch == epoch

    def took(self, task_id: str, step: str, epoch: int, process: object = None, since: int = 0) -> bool:
        """Did that step happen (by that process, after the first `since` steps)?"""
        return any(
            (taken.name, taken.epoch) == (step, epoch) and process in (None, taken.process)
            for taken in self.steps.get(task_id, ())[since:]
        )

    def count(self, task_id: str) -> int:
        return len(self.steps.get(task_id, ()))

    def known(self, task_id: str) -> bool:
        return task_id in self.steps

    def live(self) -> dict[str, Cell]:
        return {task_id: cell for task_id, cell in self.cells.items() if cell.state in LIVE}

    def unblocked(self, task_id: str) -> bool:
        """Everything it waits for is completed. One that waits for a key is not judged: its task may change."""
        states = [self.cells[ref].state for ref in self.after.get(task_id, ()) if ref in self.cells]
        return len(states) == len(self.after[task_id]) and set(states) == {State.COMPLETED}

    def completions(self, task_id: str) -> int:
        return sum(step.name == "complete" for step in self.steps[task_id])

    def ends(self, task_id: str) -> list[Step]:
        """The steps that ended the task, one after another when it was retried."""
        steps = self.steps[task_id]
        ends = [step for step, later in pairwise(steps) if later.name in ("retry", "purge")]
        if steps[-1].name != "purge" and self.cells[task_id].state in TERMINAL:
            ends.append(steps[-1])
        return [step for step in ends if step.name != "retry"]


def step_between(before: Cell, after: Cell) -> str:
    """The name of the step that leads from one cell to the other; empty if there is none."""
    epochs, tries, deaths = after.epoch - before.epoch, after.attempts - before.attempts, after.deaths - before.deaths
    was, now = before.state, after.state
    if was is State.READY and now is State.CLAIMED:
        return "claim" if (epochs, tries, deaths) == (1, 0, 0) and after.holder else ""
    if was in (State.SCHEDULED, State.BLOCKED) and now in (State.READY, State.SCHEDULED):
        return "promote" if (epochs, tries, deaths) == (0, 0, 0) else ""
    if now is State.CANCELLED and was in LIVE:
        return "cancel" if (epochs, tries, deaths) == (was is State.CLAIMED, 0, 0) else ""
    if was in (State.FAILED, State.CANCELLED) and now is State.READY:
        return "retry" if epochs == 0 and after[2:4] == (0, 0) else ""
    if was is State.CLAIMED and epochs == 0:
        return _end_of_lease(before, after, tries, deaths)
    return ""


def _end_of_lease(before: Cell, after: Cell, tries: int, deaths: int) -> str:
    now = after.state
    if (tries, deaths) == (0, 0):
        if now is State.CLAIMED:
            return "keep"
        if now is State.COMPLETED:
            return "complete" if after.holder == before.holder else ""
        return "release" if now in (State.READY, State.SCHEDULED) else ""
    if (tries, deaths) == (1, 0):
        return "fail" if now in (State.READY, State.SCHEDULED, State.FAILED) else ""
    if (tries, deaths) == (0, 1):
        return "expire" if now in (State.READY, State.FAILED) else ""
    return ""


def show(cell: Cell | None) -> str:
    if cell is None:
        return "nowhere"
    holder = f" by {cell.holder}" if cell.holder else ""
    return f"{cell.state}@{cell.epoch} ({cell.attempts} attempts, {cell.deaths} deaths){holder}"
