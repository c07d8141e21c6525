"""Does a sync reach the disk, as far as that can be seen, and how long does it take?"""

import os
from collections.abc import Iterator
from statistics import median

from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.ground import Ground
from dibs.doctor.folders.mounts import Mount
from dibs.doctor.folders.room import MORE, is_full

SLOW_SECONDS = 0.02
TOO_FAST_SECONDS = 0.00003


def check(ground: Ground, mount: Mount) -> Iterator[Finding]:
    folder = ground.sub("sync")
    count = 6 if ground.quick else 20
    taken, refused = [], ""
    for number in range(count):
        descriptor = os.open(f"{folder}/{number}", os.O_CREAT | os.O_WRONLY, 0o666)
        try:
            os.write(descriptor, b"x" * 200)
            before = ground.clock.boottime()
            os.fsync(descriptor)
            taken.append(ground.clock.boottime() - before)
        except OSError as error:
            refused = error.strerror or str(error)
        finally:
            os.close(descriptor)
    if refused:
        words = f"fsync is refused ({refused}): a push cannot be made durable"
        full = is_full(refused)
        remedy = MORE if full else "use another place"
        tried = f"{count} files"
        yield Finding(check="sync", tried=tried, happened=words, level=Level.BAD, remedy=remedy, passing=full)
        return
    ground.figures["sync_seconds"] = round(median(taken), 6)
    yield _judged(f"{count} files", median(taken), max(taken), mount)
    yield _folder(folder)


def _judged(tried: str, usual: float, worst: float, mount: Mount) -> Finding:
    shown = f"{usual * 1000:.2f} ms, at most {worst * 1000:.1f} ms"
    if mount.row.memory:
        words = f"{shown}: it is in memory, gone with the machine"
        remedy = "good for queues that can be filled again; ?sync=off says so"
        return Finding(check="sync", tried=tried, happened=words, level=Level.WARNING, remedy=remedy)
    if usual < TOO_FAST_SECONDS:
        words = f"{shown}: faster than a disk; a power cut may lose what was pushed"
        remedy = "fine where the machine cannot lose power; else look for sync=disabled, nobarrier or eatmydata"
        return Finding(check="sync", tried=tried, happened=words, level=Level.WARNING, remedy=remedy)
    if mount.sd_card and usual <= SLOW_SECONDS:
        words = f"{shown}: an SD card or the like, which wears out, and stalls when many files are written"
        remedy = "good for small queues; an SSD lasts"
        return Finding(check="sync", tried=tried, happened=words, level=Level.WARNING, remedy=remedy)
    if usual > SLOW_SECONDS:
        what = "an SD card" if mount.sd_card else "a slow disk, an SD card or a far server"
        remedy = "push many at once (push_many, --jsonl), or ?sync=off for what can be pushed again; an SSD helps most"
        return Finding(check="sync", tried=tried, happened=f"{shown}: {what}", level=Level.WARNING, remedy=remedy)
    return Finding(check="sync", tried=tried, happened=shown)


def _folder(folder: str) -> Finding:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        words = f"not offered ({error.strerror}); the server orders it itself"
        return Finding(check="sync of folders", tried="once", happened=words, level=Level.NOTE)
    finally:
        os.close(descriptor)
    return Finding(check="sync of folders", tried="once", happened="offered")
