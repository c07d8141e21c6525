"""A user of one clone, who edits, stages, commits, pulls and pushes while workers are at it, and knows what he did.

Three kinds: a tidy one commits all he does and rebases; a messy one has staged and unstaged work lying about and
merges; one with autostash has unstaged work and rebases over it. What git refuses him he leaves for later.
"""

import random
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from git.clones import SPECS, git

UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "index.lock", "HEAD.lock")
KINDS = ("tidy", "messy", "autostash")


class User:
    def __init__(self, clone: Path, number: int, mode: str, specs: list[str], rng: random.Random) -> None:
        self.clone = clone
        self.number = number
        self.kind = KINDS[number % len(KINDS)]
        self.rng = rng
        self.mode = mode
        self.specs = specs
        self.why = ""
        self.done: dict[str, int] = defaultdict(int)
        self.files: dict[str, str] = {}  # by path: what the working tree must hold
        self.index: dict[str, str] = {}  # what must be staged
        self.untracked: set[str] = set()
        self.commits: list[str] = []
        self.notes: dict[str, list[str]] = defaultdict(list)  # by spec: on this user's line in it
        self._turn = 0
        (clone / self._name("stashed")).write_text("stash me\n")
        git(clone, "stash", "push", "-q", "--", self._name("stashed"))
        self.stash = self._stash()

    def act(self) -> None:
        acts = {
            "tidy": [self.add_file, self.commit, self.pull, self.push, self.share_note],
            "messy": [self.add_file, self.draft, self.stage, self.commit, self.pull, self.note],
            "autostash": [self.add_file, self.draft, self.commit, self.pull, self.push, self.note],
        }[self.kind]
        act = self.rng.choice(acts)
        act()
        self.done[act.__name__] += 1

    # Edits that stay in the clone

    def add_file(self) -> None:
        path = f"src/new-{self._token()}.txt"
        self._write(path, self._token())
        self.untracked.add(path)

    def draft(self) -> None:
        self._write(self._name("draft"), f"draft {self._token()}\n")

    def stage(self) -> None:
        path = self._name("staged")
        self._write(path, f"staged {self._token()}\n")
        if self._git("add", "--", path):
            self.index[path] = self.files[path]
        if self.rng.random() < 0.5:
            self._write(path, f"edited again {self._token()}\n")

    def note(self) -> str:
        """A line in the body of a spec, saved as an editor does: not over what has changed since it was read."""
        spec = self.rng.choice(self.specs)
        path, token, mine = self.clone / SPECS / f"{spec}.md", self._token(), f"notes of c{self.number}:"
        saved = path.with_name("saving~")
        while True:
            text = path.read_text()
            lines = text.split("\n")
            at = [number for number, line in enumerate(lines) if line.startswith(mine)]
            if not at:  # git is just writing it
                continue
            lines[at[0]] += f" {token}"
            saved.write_text("\n".join(lines))
            if path.read_text() == text:
                saved.rename(path)
                break
        self.notes[spec].append(token)
        return f"{SPECS}/{path.name}"

    # Commits

    def commit(self) -> None:
        path, token = self._name("own"), self._token()
        self._write(path, self.files.get(path, "own\n") + f"{token}\n")
        if self._git("commit", "-q", "-m", token, "--", path):
            self.commits.append(token)

    def share_note(self) -> None:
        path = self.note()
        token = self._token()
        if self._git("commit", "-q", "-m", token, "--", path):
            self.commits.append(token)
            self.pull()
            self.push()

    def share_specs(self) -> None:
        """With claims as refs: what was completed here goes to the others when its user commits it."""
        changed = git(self.clone, "diff", "--name-only", "--", SPECS).split()
        token = self._token()
        if changed and self._git("commit", "-q", "-m", token, "--", *changed):
            self.commits.append(token)
        self._unstaged(self.pull)
        self.push()

    def _unstaged(self, act: Callable[[], None]) -> None:
        """git merges nothing while something is staged: it is taken out and put back."""
        staged = [path for path in self.index if git(self.clone, "diff", "--cached", "--name-only", "--", path)]
        if staged:
            git(self.clone, "reset", "-q", "--", *staged)
        act()
        for path in staged:
            blob = git(self.clone, "hash-object", "-w", "--stdin", input=self.index[path]).strip()
            git(self.clone, "update-index", "--cacheinfo", f"100644,{blob},{path}")

    def pull(self) -> None:
        rebase = {"tidy": ["--rebase"], "autostash": ["--rebase", "--autostash"]}
        # git itself throws away what somebody writes in the working tree while it rebases. With refs, workers do.
        how = rebase.get(self.kind) if self.mode == "push" else None
        if self._git("pull", "-q", *(how or ["--no-rebase", "--no-edit"])):
            return
        for name, way_out in (("MERGE_HEAD", "merge"), ("rebase-merge", "rebase"), ("rebase-apply", "rebase")):
            if (self.clone / ".git" / name).exists():
                self.done[f"{way_out} given up"] += 1
                git(self.clone, way_out, "--abort")

    def push(self) -> None:
        self._git("push", "-q")

    # In the end

    def problems(self, completed_here: set[str]) -> list[str]:
        found = [f"{name} is there" for name in UNDER_WAY if (self.clone / ".git" / name).exists()]
        found += [f"{path} is there" for path in self.clone.rglob("*.lock") if path.parent.name != "dibs"]
        if git(self.clone, "symbolic-ref", "HEAD").strip() != "refs/heads/main":
            found.append("not on its branch")
        for path, text in self.files.items():
            if not (self.clone / path).exists() or (self.clone / path).read_text() != text:
                found.append(f"{path} is not as the user left it")
        for path, text in self.index.items():
            if git(self.clone, "show", f":{path}") != text:
                found.append(f"what was staged of {path} is not as the user left it")
        subjects = git(self.clone, "log", "--format=%s").splitlines()
        found += [f"commit {token} is there {subjects.count(token)} times" for token in self.commits
                  if subjects.count(token) != 1]  # fmt: skip
        if self._stash() != self.stash:
            found.append("the stash is not as the user left it")
        for spec, tokens in self.notes.items():
            text = (self.clone / SPECS / f"{spec}.md").read_text()
            found += [f"the note {token} in {spec} is lost" for token in tokens if text.split().count(token) != 1]
        found += self._not_mine(completed_here)
        return [f"c{self.number} ({self.kind}): {one}" for one in found]

    def _not_mine(self, completed_here: set[str]) -> list[str]:
        """What git shows as changed though neither the user nor, with refs, a completion here did it."""
        mine = {*self.files, *self.untracked, *(f"{SPECS}/{spec}.md" for spec in {*self.notes, *completed_here})}
        listed = git(self.clone, "status", "--porcelain", "-z", "--untracked-files=all").split("\0")[:-1]
        strange = [line for line in listed if line[3:] not in mine]
        staged = [line for line in listed if line[0] not in " ?" and line[3:] not in self.index]
        ignored = git(self.clone, "status", "--porcelain", "-z", "--ignored").split("\0")[:-1]
        strange += [line for line in ignored if line[:2] == "!!" and line[3:] != ".dibs/.locks/"]
        if self.mode == "push":  # nothing of ours may stand in the working tree alone
            for spec in (line[3:] for line in listed if line[3:].startswith(SPECS)):
                diff = git(self.clone, "diff", "HEAD", "--unified=0", "--", spec).splitlines()[4:]
                strange += [f"{spec}: {line}" for line in diff if line[:1] in "+-" and line[1:9] != "notes of"]
        return [f"git status shows {line}" for line in dict.fromkeys([*strange, *staged])]

    def _git(self, *args: str) -> bool:
        """False when git refused. When dibs was just writing the index, the user tries again, as anybody would."""
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
        for _ in range(20):
            done = subprocess.run(["git", *who, *args], cwd=self.clone, capture_output=True, text=True)
            if done.returncode == 0:
                return True
            if "index.lock" not in done.stderr or (self.clone / ".git" / "rebase-merge").exists():
                break
            self.done["met a lock"] += 1
        self.done[f"{args[0]} refused"] += 1
        self.why = done.stderr
        return False

    def _stash(self) -> str:
        return git(self.clone, "stash", "list", "--format=%H") + git(self.clone, "stash", "show", "-p")

    def _write(self, path: str, text: str) -> None:
        (self.clone / path).write_text(text)
        self.files[path] = text

    def _name(self, kind: str) -> str:
        return f"src/{kind}-{self.number}.txt"

    def _token(self) -> str:
        self._turn += 1
        return f"c{self.number}t{self._turn}"
