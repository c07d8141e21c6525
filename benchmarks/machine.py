"""Where the figures come from: processor, kernel, Python, and the file system under the queues."""

import os
import platform
import sqlite3


def file_system(folder: str) -> str:
    """Its type, from the mount that holds the folder."""
    path = os.path.realpath(folder)
    best, kind = "", "?"
    with open("/proc/mounts", encoding="utf-8", errors="replace") as file:
        for line in file:
            point, fstype = line.split()[1:3]
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):
                best, kind = point, fstype
    return kind


def in_memory(folder: str) -> bool:
    return file_system(folder) in ("tmpfs", "ramfs")


def describe(folder: str) -> dict[str, str]:
    return {
        "processors": str(len(os.sched_getaffinity(0))),
        "processor": _processor(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "file system": file_system(folder),
        "load before the run": f"{os.getloadavg()[0]:.2f}",
    }


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
