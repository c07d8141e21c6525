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


def other_machine(record: dict[str, Any], host: Host) -> bool:
    """Of a worker: before its last boot a machine was the same one."""
    return bool(record["machine"] != host.machine and kernel_of(record["boot"]) != kernel_of(host.boot))
