"""Processes at one remote, in clones of their own and several in one: each step has one winner, nothing is lost."""

import json
import subprocess
from itertools import chain
from pathlib import Path

from children import command, environment
from git.clones import SPECS, Team, git, store_of
from waiting import PATIENCE


def contend(*jobs: tuple[str, Path, int]) -> list[list[int]]:
    """What each won."""
    running = [
        subprocess.Popen(
            command("git.contender", what, str(clone), str(number), str(rounds)),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, (what, clone, rounds) in enumerate(jobs)
    ]
    done = [process.communicate(timeout=PATIENCE) for process in running]
    assert [process.returncode for process in running] == [0] * len(jobs), [err for _, err in done]
    return [json.loads(out) for out, _ in done]


def test_one_creates_each_key(team: Team) -> None:
    clones = [team.clone(name) for name in ("one", "two", "three")]
    won = contend(*(("create", clone, 8) for clone in (*clones, clones[0], clones[1])))
    assert sorted(chain(*won)) == list(range(8))
    assert sum(1 for ref in team.refs() if ref.startswith("refs/dibs/leases/")) == 8


def test_one_takes_each_epoch(team: Team) -> None:
    clones = [team.clone(name) for name in ("one", "two", "three")]
    store_of(clones[0]).create("cell", b'{"epoch":0}')
    won = contend(*(("replace", clone, 9) for clone in (*clones, clones[0])))
    assert sorted(chain(*won)) == list(range(1, 10))
    assert set(team.refs()) == {"refs/dibs/cells/cell", "refs/dibs/leases/cell/9"}


def test_looking_beside_writers_in_one_clone(team: Team) -> None:
    clone, other = team.clone("one"), team.clone("two")
    won = contend(("look", clone, 8), ("look", clone, 8), ("create", other, 10), ("create", clone, 10))
    assert sorted(chain(*won)) == list(range(10))


def test_no_published_change_is_lost(started: Team) -> None:
    clones = [started.clone(name) for name in ("one", "two", "three")]
    (clones[0] / "code.py").write_text("mine\n")
    lost = contend(*(("publish", clone, 3) for clone in (*clones, clones[0])))
    tree = git(started.remote, "ls-tree", "--name-only", "main", f"{SPECS}/").split()
    assert {f"{SPECS}/{number}-{round_}.md" for number in range(4) for round_ in range(3)} <= set(tree)
    assert int(git(started.remote, "rev-list", "--count", "main")) == 1 + 12
    assert int(git(started.remote, "rev-list", "--count", "--merges", "main")) == 0
    assert any(chain(*lost)), "they never met: the test shows nothing"
    assert (clones[0] / "code.py").read_text() == "mine\n"
    for clone in clones:
        changed = [line for line in git(clone, "status", "--porcelain").splitlines() if line != " M code.py"]
        assert changed == []
