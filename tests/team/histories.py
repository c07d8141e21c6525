"""What the remote went through, from its own log of every ref: each step allowed, each epoch once, one completion."""

import json
import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from git.clones import SPECS, git
from team.remote import CELLS, Remote

_EPOCH = re.compile(r"^epoch: (\d+)$", re.M)
_STATUS = re.compile(r"^status: (\w+)$", re.M)
_WHO = re.compile(r"^started_by: (.*)$", re.M)
STEPS = {
    ("pending", "in_progress"),
    ("in_progress", "pending"),
    ("in_progress", "completed"),
    ("in_progress", "in_progress"),  # a sign of life, or somebody's note
    ("pending", "pending"),
}


class Standing(NamedTuple):
    status: str
    epoch: int
    who: str


def of_branch(remote: Remote, specs: list[str]) -> tuple[dict[str, int], list[str]]:
    """(the epoch at which each spec was completed, what is wrong)"""
    found: list[str] = []
    tips = remote.tips("refs/heads/main")
    for before, after in pairwise(tips):
        if before.commit != after.before:
            found.append(f"the branch's log has a gap at {after.commit}")
        if git(remote.path, "merge-base", before.commit, after.commit).strip() != before.commit:
            found.append(f"{after.commit} is no fast-forward of {before.commit}")
    names = [f"{tip.commit}:{SPECS}/{spec}.md" for tip in tips for spec in specs]
    texts = iter(remote.texts(names))
    now = {spec: Standing("pending", 0, "") for spec in specs}
    done: dict[str, int] = {}
    for tip in tips:
        for spec in specs:
            text = next(texts)
            after = _standing(text)
            found += [f"{spec} at {tip.commit}: {wrong}" for wrong in _wrong(now[spec], after)]
            if after.status == "completed" and spec not in done:
                done[spec] = after.epoch
            now[spec] = after
    subjects = Counter(git(remote.path, "log", "--format=%s", "main").splitlines())
    found += [
        f"{spec}: {times} commits complete it" for spec in specs if (times := subjects[f"dibs: complete {spec}"]) != 1
    ]
    return done, found + _of_one_file(remote)


def _standing(text: str) -> Standing:
    head = text.split("\n---\n")[0]
    status, epoch, who = _STATUS.search(head), _EPOCH.search(head), _WHO.search(head)
    return Standing(status[1] if status else "none", int(epoch[1]) if epoch else 0, who[1] if who else "")


def _wrong(before: Standing, after: Standing) -> list[str]:
    if before.status == "completed":
        return [] if after == before else [f"completed, and then {after}"]
    if (before.status, after.status) not in STEPS:
        return [f"from {before} to {after}"]
    if after.status == "in_progress" and before.status == "pending":
        return [] if after.epoch > before.epoch else [f"claimed at epoch {after.epoch} after {before.epoch}"]
    if after.epoch != before.epoch or (after.status != "pending" and after.who != before.who):
        return [f"from {before} to {after}"]
    return []


def _of_one_file(remote: Remote) -> list[str]:
    """Every commit of ours has one parent and changes one spec."""
    log = git(remote.path, "log", "--format=%x00%P%x01%s", "--name-only", "--grep=^dibs: ", "-m", "main")
    found = []
    for entry in log.split("\0")[1:]:
        head, *paths = [line for line in entry.splitlines() if line]
        parents, _, subject = head.partition("\1")
        if len(parents.split()) != 1 or paths != [f"{SPECS}/{subject.split()[-1]}.md"]:
            found.append(f"{subject!r} changes {paths}")
    return found


def of_refs(remote: Remote, specs: list[str]) -> tuple[dict[str, int], list[str]]:
    found: list[str] = []
    done: dict[str, int] = {}
    refs = set(git(remote.path, "for-each-ref", "--format=%(refname)", "refs/dibs/").split())
    for spec in specs:
        tips = remote.tips(CELLS + spec)
        records = [json.loads(text.split("\n\n", 1)[1]) for text in remote.texts([tip.commit for tip in tips])]
        epochs = [record["epoch"] for record in records]
        ends = [record["epoch"] for record in records if record["state"] == "completed"]
        if any(before.commit != after.before for before, after in pairwise(tips)):
            found.append(f"{spec}: its log has a gap")
        if epochs != sorted(epochs) or epochs[0] != 1:
            found.append(f"{spec}: its epochs were {epochs}")
        holders = {(record["epoch"], record["holder"]) for record in records if record["state"] == "claimed"}
        if len(holders) != len({epoch for epoch, _ in holders}):
            found.append(f"{spec}: an epoch with two holders in {sorted(holders)}")
        if len(ends) != 1 or records[-1]["state"] != "completed":
            found.append(f"{spec}: it went through {[record['state'] for record in records]}")
        done |= {spec: ends[-1]} if ends else {}
        beside = {ref for ref in refs if ref.startswith(f"refs/dibs/leases/{spec}/")}
        if beside != {f"refs/dibs/leases/{spec}/{epochs[-1]}"}:
            found.append(f"{spec}: at epoch {epochs[-1]} there is {sorted(beside)}")
    if others := [ref for ref in refs if ref.split("/")[3] not in specs]:
        found.append(f"nobody's refs: {others}")
    return done, found
