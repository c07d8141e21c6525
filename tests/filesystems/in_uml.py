"""Inside the User-Mode Linux, where something is mounted twice: the doctor, queues and an index over both mounts.

    python -m filesystems.in_uml KIND WORK TASKS FORM…

Leaves the reports in WORK: doctor.json, and FORM.json for each form of queue, and for "index".
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from children import command
from doctor.broken import doctor
from filesystems.doctors import together
from filesystems.uml import SHARES

CHAOS = {"DIBS_CHAOS_TTL": "8", "DIBS_CHAOS_SECONDS": "120"}  # what one host sees of another can be some seconds old


def main(kind: str, work: str, tasks: str, *forms: str) -> None:
    folder, one, two = Path(work), Path(work, "vol/one"), Path(work, "vol/two")
    start = time.monotonic()
    _, report = together(one, two, folder / "machines") if kind in SHARES else doctor(str(one), "--quick")
    (folder / "doctor.json").write_text(json.dumps(report))
    print(f"doctor: {time.monotonic() - start:.0f} s", flush=True)
    for form in forms:
        start = time.monotonic()
        logs = folder / f"logs-{form}"
        logs.mkdir()
        script = command("filesystems.hosts_chaos", form, f"{one}:{two}", str(logs), "1", tasks)
        if form == "index":  # a second for each ten tasks
            script = command("filesystems.index_chaos", f"{one}:{two}", str(logs), "1", str(int(tasks) // 10))
        done = subprocess.run(script, env={**os.environ, **CHAOS}, stdout=subprocess.PIPE, text=True)
        if not done.returncode:
            (folder / f"{form}.json").write_text(done.stdout.splitlines()[-1])
        print(f"{form}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
