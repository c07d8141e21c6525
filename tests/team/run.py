"""A team at work: a bare remote, clones with a worker each, kills, failures and users who edit.

    python -m team.run --mode push|refs [--specs N] [--clones N] [--kills N] [--seed N] [--folder F]

Prints a report as JSON. What went wrong is in "problems", which must be empty; the other numbers say how hard it was.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from children import command, environment
from git.clones import SPECS, git
from team import histories
from team.journals import Journals
from team.remote import Remote, fill
from team.user import User

TTL_SECONDS = 5.0
STALE_SECONDS = 8.0
END_SECONDS = 180.0


class Run:
    def __init__(self, folder: Path, args: argparse.Namespace) -> None:
        self.folder = folder
        self.mode: str = args.mode
        self.rng = random.Random(args.seed)
        self.limit = time.monotonic() + args.seconds
        self.most_kills = args.kills if args.kills is not None else args.specs // 3
        self.remote = Remote(folder)
        first = folder / "first"
        git(folder, "clone", "-q", str(self.remote.path), "first")
        self.specs = fill(first, args.specs, args.clones, self.rng)
        git(first, "add", "-A")
        git(first, "commit", "-q", "-m", "start")
        git(first, "push", "-q", "-u", "origin", "main")
        self.users = [self._user(number) for number in range(args.clones)]
        self.journals = folder / "journals"
        self.journals.mkdir()
        self.workers: dict[int, subprocess.Popen[bytes]] = {}
        self.names: dict[int, str] = {}  # of their journals
        self.started = 0
        self.kills: Counter[str] = Counter()
        self.killed: set[str] = set()
        self.silent: int | None = None
        self.stopped: int | None = None

    def _user(self, number: int) -> User:
        git(self.folder, "clone", "-q", str(self.remote.path), f"c{number}")
        rng = random.Random(self.rng.random())
        return User(self.folder / f"c{number}", number, self.mode, self.specs, rng)

    # Workers

    def start(self, number: int) -> None:
        self.started += 1
        name = f"c{number}-{self.started}"
        url = f"specs:{self.folder}/c{number}/{SPECS}?git={self.mode}&stale={STALE_SECONDS:g}&max_deaths=1000&backoff=0"
        seed, journal = str(self.rng.getrandbits(32)), str(self.journals / f"{name}.jsonl")
        args = [url, journal, seed, str(TTL_SECONDS), self._stop, f"c{number}"]
        with (self.folder / f"{name}.err").open("wb") as err:
            self.workers[number] = subprocess.Popen(
                command("team.worker", *args), env=environment(), stdout=err, stderr=err, start_new_session=True
            )
        self.names[number] = name

    @property
    def _stop(self) -> str:
        return str(self.folder / "stop")

    def kill(self, number: int) -> str:
        """The worker alone, or all that it started and did not set apart. The name of its journal."""
        worker = self.workers.pop(number)
        name = self.names[number]
        if worker.poll() is None:
            whole = self.rng.random() < 0.5
            os.killpg(worker.pid, signal.SIGKILL) if whole else worker.kill()
            self.kills["group" if whole else "process"] += 1
            self.killed.add(name)
            worker.wait()
        return name

    def _at_work(self, name: str) -> bool:
        """As far as its journal says."""
        path = self.journals / f"{name}.jsonl"
        lines = path.read_bytes().splitlines() if path.exists() else []
        return bool(lines) and json.loads(lines[-1])["what"] in ("claimed", "holds")

    def harm(self) -> None:
        able = [number for number in self.workers if number != self.stopped]
        at_work = [number for number in able if self._at_work(self.names[number])]
        if self.silent is None and at_work:
            self.silence(self.rng.choice(at_work))
        elif self.stopped is None and at_work:
            self.stop(self.rng.choice(at_work))
        elif self.kills.total() < self.most_kills and self.rng.random() < 0.3:
            number = self.rng.choice(at_work if at_work and self.rng.random() < 0.7 else able)
            self.kill(number)
            self.start(number)

    def silence(self, number: int) -> None:
        """A clone that is never heard of again."""
        if self._at_work(self.kill(number)):
            self.silent = number
        else:
            self.start(number)

    def stop(self, number: int) -> None:
        """A worker that wakes up when all is over, and still believes to be at work."""
        os.kill(self.workers[number].pid, signal.SIGSTOP)
        if self._at_work(self.names[number]):
            self.stopped = number
        else:
            os.kill(self.workers[number].pid, signal.SIGCONT)

    def _broke(self) -> list[str]:
        """Workers that ended by themselves."""
        return [
            f"{self.names[number]} broke: {(self.folder / f'{self.names[number]}.err').read_text()[-2000:]}"
            for number, worker in self.workers.items()
            if worker.poll() not in (None, 0)
        ]

    # The course of it

    def play(self) -> dict[str, object]:
        begun = time.monotonic()
        for number in range(len(self.users)):
            self.start(number)
        self.remote.fail_by_chance(True)
        left = len(self.specs)
        while left and time.monotonic() < self.limit and not self._broke():
            time.sleep(0.05 + 0.2 * self.rng.random())
            self.harm()
            user = self.rng.choice(self.users)
            user.share_specs() if self.mode == "refs" and self.rng.random() < 0.5 else user.act()
            left = len(self.specs) - len(self.remote.completed(self.mode))
        self.remote.fail_by_chance(False)
        problems = self._broke()
        Path(self._stop).touch()
        if self.stopped is not None:
            os.kill(self.workers[self.stopped].pid, signal.SIGCONT)
        problems += self._wait()
        for number in range(len(self.users)):  # what a killed one left undone in its clone the next one does
            self.start(number)
        problems += self._wait()
        took = time.monotonic() - begun
        return {"problems": [*problems, *self.judge()], "seconds": round(took, 1), **self._hardness()}

    def _wait(self) -> list[str]:
        end = time.monotonic() + END_SECONDS
        for number, worker in list(self.workers.items()):
            try:
                worker.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.kill(number)
                return [f"the worker of c{number} does not end"]
        found = self._broke()
        self.workers.clear()
        return found

    def judge(self) -> list[str]:
        left = set(self.specs) - self.remote.completed(self.mode)
        if left:
            return [f"not completed: {sorted(left)}"]
        look = histories.of_branch if self.mode == "push" else histories.of_refs
        done, found = look(self.remote, self.specs)
        found += Journals(self.journals).problems(done, self.killed)
        git(self.remote.path, "fsck", "--no-dangling")
        here = self._completed_in() if self.mode == "refs" else {}
        for user in self.users:
            found += user.problems(here.get(user.number, set()))
            found += [f"left locked: {path}" for path in user.clone.glob(".dibs/.locks/*.pid")]
        return found + self._untold(here)

    def _completed_in(self) -> dict[int, set[str]]:
        clones = {(user.clone / ".dibs/.locks/clone").read_text(): user.number for user in self.users}
        found: dict[int, set[str]] = {}
        for spec, cell in self.remote.cells().items():
            found.setdefault(clones[cell["data"]["clone"]], set()).add(spec)
        return found

    def _untold(self, here: dict[int, set[str]]) -> list[str]:
        return [
            f"c{number} completed {spec}, and its file there does not say so"
            for number, specs in here.items()
            for spec in specs
            if "\nstatus: completed\n" not in (self.folder / f"c{number}" / SPECS / f"{spec}.md").read_text()
        ]

    def _hardness(self) -> dict[str, object]:
        journals = Journals(self.journals)
        users: Counter[str] = Counter()
        for user in self.users:
            users.update(user.done)
        errors = Counter(str(line["error"])[:100] for line in journals.lines if line["what"] in ("trouble", "unsure"))
        return {
            "kills": dict(self.kills),
            "taken over by another clone": journals.taken_over(),
            "highest epoch": max((line["epoch"] for line in journals.of("claimed")), default=0),
            "journals": dict(journals.counted()),
            "users": dict(users),
            "errors": dict(errors.most_common(8)),
        }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.team", description=__doc__)
    parser.add_argument("--mode", choices=["push", "refs"], required=True)
    parser.add_argument("--specs", type=int, default=60)
    parser.add_argument("--clones", type=int, default=6)
    parser.add_argument("--kills", type=int, help="at most; default: one for three specs")
    parser.add_argument("--seconds", type=float, default=3600.0, help="longest time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="default: a new one, removed if all is well")
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="dibs-team-"))
    settings = folder / "gitconfig"
    settings.write_text("[init]\n\tdefaultBranch = main\n[core]\n\tfsync = none\n")
    os.environ |= {"GIT_CONFIG_GLOBAL": str(settings), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    run = Run(folder, args)
    try:
        report = run.play()
    finally:
        for number in list(run.workers):
            run.kill(number)
    print(json.dumps({"mode": args.mode, "specs": args.specs, "seed": args.seed, **report}, indent=1))
    if report["problems"]:
        print(f"all of it is in {folder}", file=sys.stderr)
    elif args.folder is None:
        shutil.rmtree(folder)
    return bool(report["problems"])


if __name__ == "__main__":
    sys.exit(main())
