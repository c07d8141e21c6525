"""dibs specs claim, renew, complete, fail, release, claimed: as real processes, from the outside."""

import json
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cli.conftest import PROGRAM, Run, environment
from cli.conftest import dibs as dibs  # the fixture
from dibs.specs.frontmatter import read
from dibs.states import State
from specs.spec_folder import PENDING, Folder
from waiting import PATIENCE, until


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def fields(folder: Folder, name: str) -> dict[str, object]:
    return read(folder.path(name).read_bytes())


def test_claim_renew_and_complete_by_short_ids(dibs: Run, folder: Folder) -> None:
    folder.add("2026-11-16-fix-login-aaaa")
    claimed = dibs("specs", "claim", "fix-login", "--ttl", "1h", "--json").json
    assert (claimed["id"], claimed["epoch"], claimed["outcome"]) == ("2026-11-16-fix-login-aaaa", 1, "claimed")
    assert claimed["path"] == str(folder.path("2026-11-16-fix-login-aaaa"))
    (shown,) = dibs("specs", "claimed", "--json").lines
    assert (shown["id"], shown["epoch"], shown["pid"], shown["ttl"]) == (claimed["id"], 1, None, 3600.0)
    shown_at, claimed_at = (datetime.fromisoformat(one["expires_at"]) for one in (shown, claimed))
    assert abs(shown_at - claimed_at) < timedelta(seconds=1)  # the wall clock was asked twice
    renewed = dibs("specs", "renew", "2026-11-16", "--json").json
    assert renewed["outcome"] == "renewed" and renewed["expires_at"] > claimed["expires_at"]
    completed = dibs("specs", "complete", "aaaa", "--result", '{"n": 1}', "--json")
    assert completed.json == {"id": claimed["id"], "epoch": 1, "outcome": "completed"}
    assert folder.open().detail(claimed["id"]).result == {"n": 1}
    assert dibs("specs", "claimed").out == "nothing is claimed\n"


def test_an_id_that_is_not_clear_changes_nothing(dibs: Run, folder: Folder) -> None:
    folder.add("fix-login")
    folder.add("fix-logout")
    for action in ("claim", "renew", "complete", "fail", "release"):
        result = dibs("specs", action, "fix")
        assert result.code == 2, result
        assert "fix-login, fix-logout" in result.err
    assert dibs("specs", "complete", "nowhere").code == 1
    assert dibs("specs", "complete", "../fix-login").code == 2
    assert dibs("specs", "complete").code == 2
    assert folder.path("fix-login").read_text() == folder.path("fix-logout").read_text() == PENDING


def test_claim_takes_the_best_that_fits(dibs: Run, folder: Folder) -> None:
    folder.add("low", "---\npriority: low\nproject: p\nlabels: [a, b]\n---\n")
    folder.add("high", "---\npriority: high\n---\n")
    folder.add("not-ready", "---\npriority: critical\ndepends_on: low\nproject: p\n---\n")
    assert dibs("specs", "claim", "--label", "a", "--label", "c").code == 3
    assert dibs("specs", "claim", "--project", "p", "--label", "a", "--json").json["id"] == "low"
    assert dibs("specs", "claim", "--json").json["id"] == "high"
    nothing = dibs("specs", "claim")
    assert (nothing.code, nothing.out) == (3, "")
    assert dibs("specs", "claim", "not-ready").code == 1
    assert "waits for low" in dibs("specs", "claim", "not-ready").err


def test_what_somebody_holds_is_refused(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    assert dibs("specs", "claim", "a", env={"LOGNAME": "ann"}).code == 0
    held = folder.path("a").read_bytes()
    for action in ("claim", "renew", "complete", "fail", "release"):
        result = dibs("specs", action, "a", env={"LOGNAME": "bob"})
        assert result.code == 1, result
        assert "held by" in result.err
    assert folder.path("a").read_bytes() == held
    assert dibs("specs", "release", "a", env={"LOGNAME": "ann"}).code == 0
    assert folder.path("a").read_text() == PENDING


def test_what_a_worker_runs_is_not_ended_beside_it(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    lease = queue.claim(ttl=600)
    assert lease is not None
    queue.keep(lease)
    try:
        until(lambda: folder.record("a")["lease"]["guard"], "the heart")
        result = dibs("specs", "complete", "a")
        assert (result.code, "held by" in result.err) == (1, True), result
        lease.complete()
    finally:
        queue.unkeep(lease)


def test_an_epoch_says_which_claim_is_meant(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    assert dibs("specs", "claim", "a", "--json").json["epoch"] == 1
    assert dibs("specs", "release", "a", "--epoch", "1").code == 0
    assert dibs("specs", "claim", "a", "--json").json["epoch"] == 2
    for action in ("renew", "complete", "fail", "release"):
        result = dibs("specs", action, "a", "--epoch", "1")
        assert result.code == 4, result
        assert "epoch 2" in result.err
    assert dibs("specs", "complete", "a", "--epoch", "2", env={"LOGNAME": "bob"}).code == 0
    assert dibs("specs", "complete", "a", "--epoch", "2").code == 4
    assert dibs("specs", "complete", "a", "--epoch", "two").code == 2


def test_fail_counts_and_ends(dibs: Run, folder: Folder) -> None:
    folder.add("a", "---\nstatus: pending\nmax_attempts: 2\nbackoff: 0\n---\n")
    assert dibs("specs", "claim", "a").code == 0
    assert dibs("specs", "fail", "a", "--error", "no\nluck").code == 0
    assert (fields(folder, "a")["status"], fields(folder, "a")["error"]) == ("pending", "no luck")
    assert dibs("specs", "fail", "a", "--error", "again", "--json").json["epoch"] == 2
    assert (fields(folder, "a")["status"], fields(folder, "a")["attempts"]) == ("failed", 2)
    folder.add("b")
    assert dibs("specs", "fail", "b", "--no-retry").code == 0
    assert fields(folder, "b")["status"] == "failed"


def test_complete_without_a_claim_is_both_in_one(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    folder.add("b", "---\ndepends_on: a\n---\n")
    assert dibs("specs", "complete", "b").code == 1
    assert dibs("specs", "complete", "a", "b", "--json").lines == [
        {"id": "a", "epoch": 1, "outcome": "completed"},
        {"id": "b", "epoch": 1, "outcome": "completed"},
    ]
    again = dibs("specs", "complete", "a")
    assert (again.code, "completed" in again.err) == (1, True)


def test_in_progress_by_hand_is_freed_by_release(dibs: Run, folder: Folder) -> None:
    folder.add("a", "---\nstatus: in_progress\nstarted_by: ann\n---\n# Title\n")
    assert dibs("specs", "claim").code == 3
    why = dibs("specs", "why", "a").out
    assert "by ann" in why and "dibs specs release a" in why
    assert dibs("specs", "complete", "a").code == 1
    assert dibs("specs", "claimed", "--json").lines[0]["worker"] == "ann"
    assert dibs("specs", "release", "a").code == 0
    assert folder.path("a").read_text() == PENDING
    assert dibs("specs", "claim", "a").code == 0


def test_of_several_who_claim_the_same_at_once_one_gets_it(folder: Folder) -> None:
    folder.add("a")
    command = [PROGRAM, "specs", "claim", "a"]
    quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
    started = [
        subprocess.Popen(command, cwd=folder.root, env=environment(), stdout=quiet, stderr=pipe) for _ in range(4)
    ]
    said = [(process.communicate(timeout=PATIENCE)[1], process.returncode) for process in started]
    assert sorted(code for _, code in said) == [0, 1, 1, 1]
    assert sum(b"held by" in words for words, _ in said) == 3
    assert folder.open().get("a").epoch == 1


def test_a_claim_for_a_process_ends_with_it(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    process = subprocess.Popen(["sleep", "60"])
    try:
        assert dibs("specs", "claim", "a", "--pid", str(process.pid)).code == 0
        assert folder.record("a")["pid"] == process.pid
        assert dibs("specs", "claim").code == 3
    finally:
        process.kill()
        process.wait()
    assert dibs("specs", "claim", "--json").json["epoch"] == 2
    assert dibs("specs", "claim", "--pid", str(process.pid)).code == 2


def test_a_claim_ends_with_its_ttl(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    assert dibs("specs", "claim", "a", "--ttl", "0.5s").code == 0
    lease = folder.open().claim(wait=60)
    assert lease is not None and lease.epoch == 2
    assert dibs("specs", "complete", "a", "--epoch", "1").code == 4


def test_the_folder_is_found_from_below_named_or_set(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    below = folder.root / "deep" / "er"
    below.mkdir(parents=True)
    assert dibs("specs", "claim", "a", cwd=below).code == 0
    assert dibs("specs", "release", "a", "--folder", str(folder.specs)).code == 0
    other = Folder(folder.root, "docs/tasks")
    other.add("b")
    assert dibs("specs", "claim", "--folder", "docs/tasks", "--json").json["id"] == "b"
    assert (other.specs / ".locks" / "b.pid").exists()
    (folder.root / "dibs.toml").write_text('queue = "specs:docs/tasks?stale=60"\n')
    (shown,) = dibs("specs", "claimed", "--json").lines
    assert shown["id"] == "b"


@pytest.mark.parametrize("way", ["refs", "push"])
def test_a_remote_that_is_away_does_not_keep_anybody_from_looking(dibs: Run, folder: Folder, way: str) -> None:
    folder.add("a")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "specs"], ["remote", "add", "origin", "absent.git"]):
        names = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", "-C", str(folder.root), *names, *words], check=True)
    (folder.root / "dibs.toml").write_text(f'queue = "specs:.dibs/specs?git={way}"\n')
    listed = dibs("specs", "list", "--json")
    assert (listed.code, listed.json["id"]) == (0, "a")
    assert "without the claims of others" in listed.err
    assert dibs("specs", "list", "--git", way).code == 1, "who asks for the remote wants it"


def test_looking_makes_nothing(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    for action in (["claimed"], ["list"], ["why", "a"], ["show", "a"]):
        assert dibs("specs", *action).code == 0
    assert sorted(path.name for path in folder.specs.parent.iterdir()) == ["specs"]
    assert dibs("specs", "claim", "--folder", "nowhere").code == 2


def test_the_other_commands_take_specs_like_any_queue(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    url = "specs:.dibs/specs"
    claimed = dibs("claim", url, "--json").json
    assert (claimed["id"], claimed["epoch"]) == ("a", 1)
    assert claimed["payload"]["path"] == str(folder.path("a"))
    assert dibs("complete", url, "a", "--epoch", "1").code == 0
    assert json.loads(dibs("stats", url, "--json").out)["states"]["completed"] == 1
    pushed = dibs("push", url, '{"title": "New one", "body": "text"}', "--priority", "high", "--json")
    assert pushed.code == 0, pushed
    assert folder.path(pushed.json["id"]).read_text() == (
        "---\nstatus: pending\npriority: high\n---\n# New one\n\ntext\n"
    )
    assert dibs("cancel", url, pushed.json["id"]).code == 0
    assert folder.open().get(pushed.json["id"]).state is State.CANCELLED
