"""dibs: a work queue made of plain files.

    import dibs

    q = dibs.open("queues/scrape")
    q.push({"url": "https://example.com"}, key="example.com", priority="high")
    for lease in q.claims():
        with lease:                      # renewed while held; completed on exit, failed on exception
            scrape(lease.task.payload)

Names are loaded on first use, so that `import dibs` costs next to nothing.
"""

TYPE_CHECKING = False  # to load typing takes longer than all the rest here
if TYPE_CHECKING:
    from dibs.errors import BadInput, DibsError, LeaseLost, Refused, StorageError, TaskNotFound
    from dibs.functions import Functions, function
    from dibs.index.index import Index
    from dibs.queues import open_queue as open
    from dibs.queues.held import Lease
    from dibs.queues.queue import Queue
    from dibs.task import NewTask, Task

__version__ = "0.1.0"

__all__ = [
    "BadInput",
    "DibsError",
    "Functions",
    "Index",
    "Lease",
    "LeaseLost",
    "NewTask",
    "Queue",
    "Refused",
    "StorageError",
    "Task",
    "TaskNotFound",
    "function",
    "open",
]

_HOMES = {
    "BadInput": "dibs.errors:BadInput",
    "DibsError": "dibs.errors:DibsError",
    "Functions": "dibs.functions:Functions",
    "Index": "dibs.index.index:Index",
    "Lease": "dibs.queues.held:Lease",
    "LeaseLost": "dibs.errors:LeaseLost",
    "NewTask": "dibs.task:NewTask",
    "Queue": "dibs.queues.queue:Queue",
    "Refused": "dibs.errors:Refused",
    "StorageError": "dibs.errors:StorageError",
    "Task": "dibs.task:Task",
    "TaskNotFound": "dibs.errors:TaskNotFound",
    "function": "dibs.functions:function",
    "open": "dibs.queues:open_queue",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dibs' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = home.split(":")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value
