"""Broken ways to change a priority, see `broken`."""

from typing import Any

from dibs import states
from dibs.facets import facet_of
from dibs.queues.files.steering import Steering
from dibs.queues.stored.body import Known
from dibs.queues.stored.steps import Steps
from dibs.task import Task
from dibs.values import replace

from .files_backend import FilesBackend
from .stored_backend import StoredBackend


def _copy_then_delete(self: Steering, locate: Any, read: Any, priority: int) -> Task:
    found = locate()
    cell, task = states.prioritise(found.cell), read(found)
    fs, layout = self._parts.fs, self._parts.layout
    target = layout.path(task.id, facet_of(task)._replace(priority=priority).code, cell)
    if target != found.path:
        self._parts.cells.make_folder(target.rpartition("/")[0])
        fs.write(target, fs.read(found.path))
        fs.unlink(found.path)
    return replace(task, priority=priority)


class CopyThenDelete(FilesBackend):
    """Another priority is another file, written beside the first, which is then deleted."""

    backend = "files-order"

    patches = ((Steering, "prioritise", _copy_then_delete),)


def _prioritise_held(self: Steps, known: Known, priority: int, register: Any) -> Known:
    return self._cells.move(known, known.seen.record, known.body.prioritised(priority))


class PrioritisedWhileHeld(StoredBackend):
    """The priority of any task is changed, whoever holds it."""

    backend = "stored"

    patches = ((Steps, "prioritise", _prioritise_held),)
