"""What a lease's token says: under which name and epoch it is held, and who renews it."""


class Held:
    __slots__ = ("epoch", "holder", "kept", "nonce", "vouched")

    def __init__(self, holder: str, epoch: int, nonce: str, *, vouched: bool = False) -> None:
        self.holder = holder
        self.epoch = epoch
        self.nonce = nonce  # ours alone, also among those who hold it under the same name
        self.vouched = vouched  # the worker's record names the guard
        self.kept = False  # somebody else renews it: only follow

    @property
    def lease(self) -> str:
        """As a claimed cell has it after its state."""
        return f"epoch={self.epoch} holder={self.holder}"


def handle_of(task_id: str, held: Held) -> str:
    return f"{held.epoch}:{held.holder}:{task_id}"


def parse_handle(handle: str) -> tuple[str, str, str]:
    """Task, epoch, holder."""
    epoch, _, rest = handle.partition(":")
    holder, _, task_id = rest.rpartition(":")
    return task_id, epoch, holder
