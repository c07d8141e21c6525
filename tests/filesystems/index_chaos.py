"""An index that two machines share, written, compacted and read by both, killed and stopped. Run as a script, as root:

    python -m filesystems.index_chaos ONE:TWO LOGS SEED SECONDS      where each of the two has the share mounted

Prints JSON; where no index can be kept, why. With LEASE, the seconds for which the server keeps a silent client's
locks, one of the hosts is also cut off for longer than that.
"""

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import dibs
from crash.chaos import lines
from filesystems.index_late import late
from filesystems.index_roles import Notes, opened, replay, write
from filesystems.pack import HOSTS, pack

START = ("write", "read", "compact", "compact")
CUT = 2 * float(os.environ.get("LEASE") or 0)
BAD = ["wrong in the end", "back", "gap", "late", "findings", "broke", "ended by themselves"]
_LEFT_BY_KILLS = ("lock", "manifest")  # by a compactor that had written its shard: the next one sets them right


def judged(urls: dict[str, str], logs: Path) -> dict[str, Any]:
    notes, wrong = Notes(logs), []
    with opened(urls["far"]) as index:
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
        with opened(url) as index:
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
        opened(urls["near"]).close()
    except dibs.DibsError as error:
        print(json.dumps({"refused": str(error)}))
        return
    with pack(logs.with_name(f"{logs.name}-machines"), seed) as running:
        for name in HOSTS:
            for number, role in enumerate(START):
                own = f"{role}-{name}-{number}"
                running.keep(name, own, "filesystems.index_roles", role, urls[name], log_folder, name, own)
        until = time.monotonic() + float(seconds)
        while time.monotonic() < until:
            time.sleep(0.15)
            running.harm()
    report = {**running.report, **judged(urls, logs)}
    report["late"] = late({name: f"{mount}/late" for name, mount in mounts.items()}, CUT)
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
