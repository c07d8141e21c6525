"""Who may start where: what the doctor found, and what is known of the file system, against who is at work there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dibs
from children import environment
from dibs.cli import doctor as command
from dibs.clock import SYSTEM
from dibs.doctor import Finding, Level, Report, Verdict, note
from dibs.doctor import trust as trusting
from dibs.doctor.folders import locks
from dibs.doctor.folders.kinds import row_of
from dibs.doctor.folders.mounts import Mount
from dibs.doctor.trust import trust
from dibs.host import Host, this_host
from dibs.task import NewTask
from dibs.testing import ManualClock
from dibs.values import replace

FAR = Host(name="far", machine="far", boot="other", space="pid:[far]")


def report(level: Level, *, many: bool = False) -> Report:
    return Report(
        place="x", kind="sometimesfs", findings=[Finding(check="c", tried="t", happened="h", level=level, many=many)]
    )


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend that everything is on this kind of file system."""

    def choose(kind: str, options: str = "rw") -> None:
        mount = Mount(kind, "sometimesfs", "none", "/", options, row_of(kind))
        for module in (trusting, note):
            monkeypatch.setattr(module, "mount_of", lambda _: mount)

    return choose


def asked(folder: Path) -> trusting.Trust:
    return trust(str(folder), this_host(), SYSTEM.wall)


def test_a_local_disk_needs_no_doctor(tmp_path: Path) -> None:
    assert asked(tmp_path) == trusting.Trust()
    assert trust("redis://localhost/0", this_host(), SYSTEM.wall) == trusting.Trust()


def test_a_share_that_the_doctor_has_not_seen_is_worth_a_line(tmp_path: Path, on: Any) -> None:
    on("nfs4")
    assert "dibs doctor" in asked(tmp_path).hint
    note.leave(str(tmp_path), report(Level.GOOD, many=True), SYSTEM)
    assert asked(tmp_path / "queues" / "q") == trusting.Trust()


@pytest.mark.parametrize(
    ("kind", "words"), [("fuse.s3fs", "on two hosts both win"), ("fuse.rclone", "its rename copies, then deletes")]
)
def test_what_is_known_of_a_place_that_no_doctor_has_seen_is_said(
    tmp_path: Path, on: Any, kind: str, words: str
) -> None:
    on(kind)
    hint = asked(tmp_path).hint
    assert words in hint and "use the bucket itself" in hint and "dibs doctor" in hint


def test_specs_get_a_note_too(tmp_path: Path, on: Any) -> None:
    on("nfs4.2")
    url = f"specs:{tmp_path}"
    assert "has not seen this" in trust(url, this_host(), SYSTEM.wall).hint
    assert trust(f"{url}?git=refs", this_host(), SYSTEM.wall) == trusting.Trust()  # there the remote decides
    found = report(Level.GOOD, many=True)
    assert command._leave_note(f"{url}?git=refs", found) is None
    assert command._leave_note(url, found) == f"{tmp_path}/.dibs-doctor.json"
    assert trust(url, this_host(), SYSTEM.wall) == trusting.Trust()


def test_a_note_about_another_file_system_does_not_count(tmp_path: Path, on: Any) -> None:
    on("nfs4")
    other = report(Level.BAD)
    other.kind = "ext4"
    note.leave(str(tmp_path), other, SYSTEM)
    assert note.found(str(tmp_path)) is None


def test_what_the_doctor_found_not_to_be_safe_is_refused(tmp_path: Path, on: Any) -> None:
    on("nfs4")
    note.leave(str(tmp_path), report(Level.BAD), SYSTEM)
    assert "is not safe: c: h" in asked(tmp_path).refusal


def test_a_second_host_is_refused_where_only_one_is_safe(tmp_path: Path, on: Any) -> None:
    on("fuse.s3fs")
    with dibs.open(str(tmp_path / "q"), host=FAR) as far:
        far.push({})
        lease = far.claim(ttl=60)
        assert "far works on it" in asked(tmp_path / "q").refusal
        assert trust(str(tmp_path / "q"), FAR, SYSTEM.wall).refusal == ""
        assert trust(str(tmp_path / "q"), this_host(), lambda: SYSTEM.wall() + 1000).refusal == ""  # silent for long
        on("nfs4.2")
        assert asked(tmp_path / "q").refusal == ""
        on("nfs4.2", "rw,nocto")
        assert "(nocto: " in asked(tmp_path / "q").refusal and "far works on it" in asked(tmp_path / "q").refusal
        note.leave(str(tmp_path), report(Level.GOOD, many=True), SYSTEM)  # by a host whose mount has no such option
        assert "(nocto: " in asked(tmp_path / "q").refusal
        on("nfs4.2", "rw,local_lock=all")
        assert asked(tmp_path / "q").refusal == ""
        assert lease is not None
        lease.complete()


def test_locks_that_do_not_hold_between_hosts_bar_a_second_host_from_what_rests_on_them(
    tmp_path: Path, on: Any
) -> None:
    on("smb3.1.1", "rw,nobrl")
    found = report(Level.GOOD, many=True)
    found.findings.append(locks.judged("8 processes", [[9, 0]], 5, far=True, needed=False))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").touch()
    url = f"dir:{tmp_path}/in?settle=0"
    with dibs.open(url, host=FAR) as far:
        assert far.claim(ttl=60) is not None
        for options in ("rw,nobrl", "rw"):
            on("smb3.1.1", options)
            note.leave(str(tmp_path), found, SYSTEM)
            refusal = trust(url, this_host(), SYSTEM.wall).refusal
            assert "safe on one host only" in refusal and "far works on it" in refusal
            assert trust(str(tmp_path / "q"), this_host(), SYSTEM.wall) == trusting.Trust()


def test_dibs_work_refuses_unless_told_otherwise(tmp_path: Path) -> None:
    dibs.open(str(tmp_path / "q")).push({})
    found = report(Level.BAD)
    found.kind = note.mount_of(str(tmp_path)).shown
    note.leave(str(tmp_path), found, SYSTEM)
    words = [sys.executable, "-m", "dibs", "work", str(tmp_path / "q"), "--until-empty"]
    refused = subprocess.run([*words, "--", "true"], env=environment(), capture_output=True, text=True)
    assert refused.returncode == 1
    assert "not safe" in refused.stderr and "--trust-place" in refused.stderr
    done = subprocess.run([*words, "--trust-place", "--", "true"], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_note_says_what_was_found(tmp_path: Path) -> None:
    path = note.leave(str(tmp_path), report(Level.ONE_HOST), SYSTEM)
    assert path is not None
    assert json.loads(Path(path).read_text())["verdict"] == str(Verdict.ONE)
    assert note.leave(str(tmp_path / "missing" / "q"), report(Level.GOOD), SYSTEM) == path
    Path(path).write_text("{broken")
    assert note.found(str(tmp_path)) is None


def test_a_note_that_cannot_be_read_is_worth_a_line(tmp_path: Path) -> None:
    (tmp_path / ".dibs-doctor.json").write_text("{broken")
    found = asked(tmp_path / "q")
    assert found.refusal == ""
    assert f"{tmp_path}/.dibs-doctor.json cannot be read; `dibs doctor {tmp_path}/q` writes another" in found.hint
    note.leave(str(tmp_path), report(Level.GOOD), SYSTEM)
    assert asked(tmp_path / "q") == trusting.Trust()


def test_a_note_that_cannot_be_left_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "q" / ".dibs-doctor.json").mkdir(parents=True)
    assert note.leave(str(tmp_path / "q"), report(Level.GOOD), SYSTEM) is None
    assert [path.name for path in (tmp_path / "q").iterdir()] == [".dibs-doctor.json"]


@pytest.mark.parametrize("scheme", ["file", "dir", "specs"])
@pytest.mark.parametrize("command", ["work", "claim"])
def test_no_command_claims_on_a_second_host_where_only_one_is_safe(tmp_path: Path, scheme: str, command: str) -> None:
    folder = tmp_path / "q"
    url = {"file": str(folder), "dir": f"dir:{folder}?settle=0", "specs": f"specs:{folder}"}[scheme]
    if scheme == "specs":
        folder.mkdir()
        for name in ("0001-a", "0002-b"):
            (folder / f"{name}.md").write_text(f"---\nid: {name}\nstatus: ready\n---\n")
    if scheme == "dir":
        folder.mkdir()
        for name in ("a.txt", "b.txt"):
            (folder / name).touch()
    with dibs.open(url, host=FAR) as far:
        if scheme == "file":
            far.push_many([NewTask(), NewTask()])
        assert far.claim(ttl=60) is not None
        words = {"work": ["work", url, "--until-empty", "--", "true"], "claim": ["claim", url]}[command]
        refused = dibs_on("fuse.s3fs", *words)
        assert refused.returncode == 1, refused.stderr
        assert "is safe on one host only" in refused.stderr and "far works on it" in refused.stderr
        words.insert(2, "--trust-place")
        assert dibs_on("fuse.s3fs", *words).returncode == 0
        words.remove("--trust-place")
        assert dibs_on("ext4", *words).returncode in (0, 3)


def beaten_by(host: Host, folder: Path, at: float) -> None:
    """A session of `file:`, as another host would leave it."""
    (folder / "workers").mkdir(parents=True, exist_ok=True)
    path = folder / "workers" / "s.json"
    path.write_text(json.dumps({"host": host.name, "machine": host.machine, "boot": host.boot, "ttl": 60}))
    os.utime(path, (at, at))


def test_a_copy_of_this_machine_is_another_host_and_this_one_before_its_last_boot_is_not(
    tmp_path: Path, on: Any
) -> None:
    on("fuse.s3fs")
    here = this_host()
    before = replace(here, boot="another")
    cloned = replace(before, name="pi-2")

    def after_boot(host: Host, *, beat: float) -> str:
        """Asked half a minute after this machine booted."""
        clock = ManualClock()
        clock.advance(30 - clock.boottime())
        beaten_by(host, tmp_path / "q", 1_700_000_000 + beat)
        return trust(str(tmp_path / "q"), here, lambda: 1_700_000_030, clock).refusal

    assert "pi-2 works on it" in after_boot(cloned, beat=-30)  # another name, the same id
    assert after_boot(before, beat=-30) == ""  # this machine itself
    assert f"{here.name} works on it" in after_boot(before, beat=25)  # its disk was copied, name and all
    assert after_boot(replace(here, machine="other"), beat=25) == ""  # a container


@pytest.mark.parametrize("scheme", ["file", "dir"])
def test_a_worker_that_waits_leaves_when_another_host_begins(tmp_path: Path, scheme: str) -> None:
    folder = tmp_path / "q"
    folder.mkdir()
    url = {"file": str(folder), "dir": f"dir:{folder}?settle=0"}[scheme]
    words = [sys.executable, "-m", "doctor.pretend", "fuse.s3fs", "work", url, "--project", "nobody's", "--", "true"]
    with (
        subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True) as waiting,
        dibs.open(url, host=FAR) as far,
    ):
        assert waiting.stderr is not None
        try:
            while "working on" not in waiting.stderr.readline():
                assert waiting.poll() is None
            far.push({}, key="a")
            lease = far.claim(ttl=60)
            assert lease is not None
            _, said = waiting.communicate(timeout=60)
            lease.complete()
        finally:
            waiting.kill()
    assert waiting.returncode == 1
    assert "is safe on one host only" in said and "far works on it" in said and "--trust-place" in said


@pytest.mark.parametrize(("boot", "stays"), [("0", True), ("~", False)])
def test_of_two_that_began_at_once_one_goes_on(tmp_path: Path, on: Any, boot: str, stays: bool) -> None:
    on("fuse.s3fs")
    near = replace(FAR, name="near", machine="near", boot=boot)
    with dibs.open(str(tmp_path / "q"), host=FAR) as far, dibs.open(str(tmp_path / "q"), host=near) as ours:
        far.push_many([NewTask(), NewTask()])
        assert far.claim(ttl=60) and ours.claim(ttl=60)
        assert trust(str(tmp_path / "q"), near, SYSTEM.wall).refusal
        assert (trust(str(tmp_path / "q"), near, SYSTEM.wall, at_work=True).refusal == "") == stays


def test_dibs_claim_refuses_what_is_not_safe_unless_told_otherwise(tmp_path: Path) -> None:
    dibs.open(str(tmp_path / "q")).push({})
    found = report(Level.BAD)
    found.kind = note.mount_of(str(tmp_path)).shown
    note.leave(str(tmp_path), found, SYSTEM)
    words = [sys.executable, "-m", "dibs", "claim", str(tmp_path / "q")]
    refused = subprocess.run(words, env=environment(), capture_output=True, text=True)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "not safe" in refused.stderr and "--trust-place" in refused.stderr
    done = subprocess.run([*words, "--trust-place"], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_single_claim_on_a_plain_disk_loads_no_doctor(tmp_path: Path) -> None:
    dibs.open(str(tmp_path / "q")).push({})
    words = [sys.executable, "-X", "importtime", "-m", "dibs", "claim", str(tmp_path / "q")]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert "dibs.doctor" not in done.stderr


def dibs_on(kind: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "doctor.pretend", kind, *words]
    return subprocess.run(command, env=environment(), capture_output=True, text=True)
