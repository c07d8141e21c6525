"""What a lease's token says: under which name and epoch it is held, and who renews it."""

from dibs.errors import BadInput
from dibs.queues.lmdb.layout import binary


class Held:
    __slots__ = ("cell", "epoch", "holder", "kept", "task", "vouched")

    def __init__(
        self, task: bytes, epoch: int, holder: bytes, cell: bytes | None = None, vouched: bool = False
    ) -> None:
        self.task = task
        self.epoch = epoch
        self.holder = holder
        self.cell = cell  # as it was claimed: while it is still that, nothing else has to be compared
        self.vouched = vouched  # the worker's record names the guard
        self.kept = False  # somebody else renews it: only follow


def handle_of(held: Held) -> str:
    return f"{held.epoch}:{held.holder.decode()}:{held.task.hex()}"


def parse_handle(handle: str) -> Held:
    epoch, _, rest = handle.partition(":")
    holder, _, task_id = rest.rpartition(":")
    if not epoch.isdecimal():
        raise BadInput(f"{handle[:80]!r} is no handle of a lease")
    return Held(binary(task_id), int(epoch), holder.encode())
