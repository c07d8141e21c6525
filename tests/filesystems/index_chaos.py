"""An index that two "hosts" share, written, compacted and read by both, killed and stopped. Run as a script:

    python -m filesystems.index_chaos ONE:TWO LOGS SEED SECONDS      where each of the two has the share mounted

Prints JSON; where no index can be kept, why. With LEASE, the seconds for which the server keeps a silent client's
locks, one of the hosts is also cut off for longer than that.
"""

import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import dibs
from crash.chaos import lines
from filesystems.hosts_chaos import Pack
from filesystems.hosts_roles import HOSTS, Log
from filesystems.index_late import late
from filesystems.index_roles import ROLES, Notes, open_as, replay, write

START = ("write", "read", "compact", "compact")
CUT = 2 * float(os.environ.get("LEASE") or 0)
BAD = ["wrong in the end", "back", "gap", "late", "findings", "broke"]
_LEFT_BY_KILLS = ("lock", "manifest")  # by a compactor that had written its shard: the next one sets them right


class IndexPack(Pack):
    def start(self, role: str, name: str) -> None:
        self._started += 1
        pid = os.fork()
        if not pid:
            try:
                file = os.open(self._logs / f"{self._started}-{name}-{role}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
                run(role, self._urls[name], self._logs, name, lambda line: os.write(file, line.encode() + b"\n"))
            finally:
                os._exit(1)
        self._running[pid] = (role, name)


def run(role: str, url: str, logs: Path, name: str, log: Log) -> None:
    try:
        with open_as(url, name) as index:
            for word in ROLES[role](index, Notes(logs), name):
                log(word)
    except Exception as error:
        log(f"broke {type(error).__name__}: {error}".replace("\n", " "))


def judged(urls: dict[str, str], logs: Path) -> dict[str, Any]:
    notes, wrong = Notes(logs), []
    with open_as(urls["far"], "far") as index:
        for name in HOSTS:
            write(index, notes, name)
        index.compact()
        if left := index.waiting():
            wrong.append(f"not merged: {left}")
        findings = [found for found in index.verify() if found.kind not in _LEFT_BY_KILLS]
        index.repair()
        findings += index.verify()
    wanted = replay(notes)
    for name, url in urls.items():
        with open_as(url, name) as index:
            found = {str(record["key"]): int(record["n"] or 0) for record in index.scan()}
            got = {key: int((index.get(key) or {}).get("n") or 0) for key in wanted}
        if found != wanted or got != wanted:
            wrong.append(f"{name}: {sorted({*found.items(), *got.items()} ^ set(wanted.items()))}")
    said = Counter(line[0] for line in lines(logs))
    told = {
        word: [" ".join(rest) for first, *rest in lines(logs) if first == word] for word in ("back", "gap", "broke")
    }
    return {
        "completed": sum(notes.get(name) for name in HOSTS),
        **{word: said[word] for word in ("read", "merged", "changed")},
        "wrong in the end": wrong,
        "findings": [f"{found.kind} {found.path}: {found.text}" for found in findings],
        **told,
    }


def main(folder: str, log_folder: str, seed: str, seconds: str) -> None:
    logs, mounts = Path(log_folder), dict(zip(HOSTS, folder.split(":"), strict=True))
    urls = {name: f"{mount}/index" for name, mount in mounts.items()}
    try:
        open_as(urls["near"], "near").close()
    except dibs.DibsError as error:
        print(json.dumps({"refused": str(error)}))
        return
    pack = IndexPack(urls, logs, random.Random(int(seed)))
    for name in HOSTS:
        for role in START:
            pack.start(role, name)
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until:
        time.sleep(0.15)
        pack.harm()
    pack.end(*ROLES)
    report = {"kills": pack.kills, "stops": pack.stops, **judged(urls, logs)}
    report["late"] = late({name: f"{mount}/late" for name, mount in mounts.items()}, CUT)
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
