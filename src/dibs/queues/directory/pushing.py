"""Push to a `dir:` queue: a new file with the payload's JSON, named by the key."""

from dibs.errors import BadInput, Refused, Unsupported
from dibs.queues.directory.frontier import Frontier
from dibs.queues.directory.names import id_of, is_ignored, is_path
from dibs.queues.lockfiles.placing import place
from dibs.stores.refusal import refusals
from dibs.task import Task, encode

_DEFAULTS = Task(id="")
_PER_TASK = (
    "priority", "project", "labels", "after", "not_before", "max_attempts", "max_deaths", "max_runtime", "backoff",
    "max_backoff",
)  # fmt: skip


def check(task: Task) -> str:
    """The path below the folder at which the task's file is to be. Unsupported or BadInput say why not."""
    for field in _PER_TASK:
        if getattr(task, field) != getattr(_DEFAULTS, field):
            raise Unsupported(
                f"a folder's tasks have no {field} of their own; use a file: queue, or settings in the URL"
            )
    if task.key is None:
        return f"{task.id}.json"
    if not is_path(task.key) or any(is_ignored(part) for part in task.key.split("/")):
        raise BadInput(
            f"key {task.key!r} is not acceptable here; use the path of a file below the folder: no '..', "
            "nothing hidden, not ending in ~, .tmp or .part"
        )
    if id_of(task.key) != task.key:
        raise BadInput(f"key {task.key!r} is not acceptable here; leave out the % or write it %25")
    return task.key


def add(frontier: Frontier, task: Task, name: str, mtime: float) -> bool:
    """Durably; False when there is such a file already. Its time says that nobody writes to it any more."""
    path = f"{frontier.root}/{name}"
    with refusals(path):
        return place(path, encode(task.payload), durable=True, mtime=mtime)


def same_content(frontier: Frontier, task: Task, name: str) -> bool:
    path = f"{frontier.root}/{name}"
    with refusals(path), open(path, "rb") as file:
        return file.read() == encode(task.payload)


def taken(name: str) -> Refused:
    return Refused(
        f"cannot push {name!r} again: it is completed, and its file is not to be changed; "
        "remove its witness to run it again, or use another key"
    )
