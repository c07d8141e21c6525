"""Which processes are of one machine: they share its caches, so what they see of each other tells nothing of hosts."""

from typing import Any

from dibs.host import Host


def identity(host: Host) -> dict[str, str]:
    """For a record that another host reads."""
    return {"host": host.name, "machine": host.machine, "boot": host.boot}


def machines(records: list[dict[str, Any]], host: Host) -> int:
    """How many, with this one. Told apart by their kernels: ids of machines are copied with their disks."""
    return len({kernel_of(host.boot), *(kernel_of(record["boot"]) for record in records if record.get("boot"))})


def kernel_of(boot: str) -> str:
    return boot.partition("/")[0]


def other_machine(record: dict[str, Any], host: Host, *, since_boot: bool) -> bool:
    """Of a worker, whose beat was seen `since_boot` of this machine or before. Before that a machine was the same one,
    with its name and id, which are copied with its disk; since then nobody of another boot has been here."""
    if kernel_of(record["boot"]) == kernel_of(host.boot):
        return False
    return bool(since_boot or record["machine"] != host.machine or record["host"] != host.name)
