"""Workers of two machines on one folder, killed and stopped, and the machines too. Run as a script, as root:

    python -m filesystems.hosts_chaos FORM FOLDER[:FOLDER2] LOGS SEED TASKS      the second: where "far" has it mounted

FORM is file (all tasks are pushed beforehand), keys (both hosts push the same few keys meanwhile) or dir (a folder of
files).
Prints "go" when they begin; whoever started it may make the storage fail for a while. Ends when all tasks are
completed, or after a time; then prints JSON.
"""

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import dibs
from crash.chaos import lines
from dibs.states import LIVE
from dibs.task import NewTask
from filesystems.hosts_judge import judged
from filesystems.hosts_roles import LOTS, url_of
from filesystems.pack import HOSTS, pack

MOST_SECONDS = float(os.environ.get("DIBS_CHAOS_SECONDS", "240"))
WORKERS = os.environ.get("DIBS_CHAOS_WORKERS", "work,command").split(",")  # of each host
QUIET_LOOKS = 3


def fill(form: str, mount: str, logs: Path, tasks: int) -> None:
    with (logs / "push").open("w") as log:
        if form == "dir":
            os.mkdir(f"{mount}/in")
            for number in range(tasks):
                Path(f"{mount}/in/{number:05}.txt").write_text(f"{number}\n")
                log.write(f"pushed {number:05}.txt\n")
        with dibs.open(url_of(form, mount)) as queue:
            if form == "file":
                many = [NewTask(payload=n, max_attempts=LOTS, max_deaths=LOTS) for n in range(tasks)]
                for task in queue.push_many(many):
                    log.write(f"pushed {task.id}\n")


def main(form: str, folder: str, log_folder: str, seed: str, tasks: str) -> None:
    near, _, far = folder.partition(":")
    urls, logs = {"near": url_of(form, near), "far": url_of(form, far or near)}, Path(log_folder)
    fill(form, near, logs, int(tasks))
    with pack(logs.with_name(f"{logs.name}-machines"), seed) as running:
        print("go", flush=True)
        for name in HOSTS:
            roles = [*WORKERS, "produce"] if form == "keys" else WORKERS
            for number, role in enumerate(roles):
                own = f"{role}-{name}-{number}"
                running.keep(name, own, "filesystems.hosts_roles", role, urls[name], log_folder, own)
        pushing = form == "keys"
        written, quiet, until = -1, 0, time.monotonic() + MOST_SECONDS
        with dibs.open(urls["near"]) as queue:
            while time.monotonic() < until:
                time.sleep(0.15)
                if pushing and Counter(line[0] for line in lines(logs))["pushed"] >= int(tasks):
                    running.drop("produce")
                    pushing = False
                before, written = written, sum(log.stat().st_size for log in logs.iterdir())
                quiet = quiet + 1 if written == before else 0
                try:  # looking at a share costs much: only when they seem to have nothing to do
                    if not pushing and quiet >= QUIET_LOOKS and not any(queue.stats().states[one] for one in LIVE):
                        break
                except dibs.StorageError:
                    continue
                running.harm()
    print(json.dumps({**running.report, **judged(form, urls["near"], logs)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
