"""Which file system a folder is on, out of the kernel's list; and the matrix in the documentation says the same."""

import re
from pathlib import Path

import pytest

from dibs.doctor import Level
from dibs.doctor.folders import kind, options, syncing
from dibs.doctor.folders.kinds import ROWS, UNKNOWN
from dibs.doctor.folders.mounts import mount_of

LIST = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
31 22 0:40 / /mnt/my\\040share rw - nfs4 pi:/srv rw,vers=4.2,rsize=1048576
32 22 0:41 / /mnt/old rw - nfs pi:/srv rw,vers=3,nolock
33 22 0:42 / /mnt/smb rw - cifs //pi/share rw,vers=3.1.1,cache=strict
34 22 0:43 / /mnt/smb2 rw - cifs //pi/share rw,vers=2.1
35 22 0:44 / /mnt/ssh rw - fuse.sshfs pi: rw
36 22 179:2 / /mnt/card rw - ext4 /dev/mmcblk0p2 rw
37 22 0:45 / /mnt/card ro - tmpfs none rw
38 22 0:46 / /mnt/odd rw - newfs none rw
39 22 0:47 / /mnt/s3 rw - fuse mountpoint-s3 rw
42 22 0:50 / /mnt/rclone rw - fuse.rclone :s3:bucket rw
40 22 0:48 / /mnt/blob rw - fuse blobfuse2 rw
43 22 0:51 / /mnt/nfs41 rw - nfs4 pi:/srv rw,vers=4.1,local_lock=none
44 22 0:52 / /mnt/smb30 rw - cifs //pi/share rw,vers=3.0,cache=strict,actimeo=1
41 22 0:49 / /mnt/mac rw - hfsplus /dev/sdb2 rw
"""


@pytest.mark.parametrize(
    ("path", "shown", "row", "reach"),
    [
        ("/", "ext4", "ext4", "one"),
        ("/mnt/my share/queues/q", "NFS 4.2", "NFS 4.2", "many"),
        ("/mnt/nfs41/q", "NFS 4.1", "NFS 4.0, NFS 4.1", ""),
        ("/mnt/smb30/q", "SMB 3.0", "SMB 1, SMB 2, SMB 3.0", ""),
        ("/mnt/old/q", "NFS 3", "NFS 3", ""),
        ("/mnt/smb/q", "SMB 3.1.1", "SMB 3.1.1", "many"),
        ("/mnt/smb2/q", "SMB 2.1", "SMB 1, SMB 2, SMB 3.0", ""),
        ("/mnt/ssh/q", "fuse.sshfs", "sshfs", "one"),
        ("/mnt/sshx", "ext4", "ext4", "one"),
        ("/mnt/card/q", "tmpfs", "tmpfs", "one"),
        ("/mnt/odd/q", "newfs", "unknown", ""),
        ("/mnt/s3/q", "fuse.mountpoint-s3", "S3 through FUSE", "one"),
        ("/mnt/rclone/q", "fuse.rclone", "rclone mount", "none"),
        ("/mnt/blob/q", "fuse.blobfuse2", "S3 through FUSE", "one"),
        ("/mnt/mac/q", "hfsplus", "APFS, HFS+, UFS", "one"),
    ],
)
def test_it_is_recognised(path: str, shown: str, row: str, reach: str) -> None:
    mount = mount_of(path, LIST)
    assert (mount.shown, mount.row.name, mount.row.reach) == (shown, row, reach)


def test_what_the_kernel_does_not_say_is_unknown() -> None:
    assert mount_of("/x", "").row is UNKNOWN
    assert mount_of("/x", "nonsense\n").row is UNKNOWN


def test_a_card_and_a_mount_that_cannot_be_written_are_seen() -> None:
    assert mount_of("/mnt/card/q", "36 22 179:2 / /mnt/card rw - ext4 /dev/mmcblk0p2 rw").sd_card
    assert mount_of("/mnt/card/q", "36 22 179:2 / / rw - ext4 /dev/root rw").sd_card
    assert not mount_of("/mnt/card/q", "36 22 254:2 / / rw - ext4 /dev/root rw").sd_card
    assert mount_of("/mnt/card/q", LIST).read_only


@pytest.mark.parametrize(("seconds", "said"), [(0.002, "wears out"), (0.05, "an SD card")])
def test_a_card_is_warned_of_whether_it_syncs_slowly_or_not(seconds: float, said: str) -> None:
    card = mount_of("/mnt/card/q", "36 22 179:2 / /mnt/card rw - ext4 /dev/mmcblk0p2 rw")
    found = syncing._judged("6 files", seconds, seconds, card)
    assert found.level is Level.WARNING and said in found.happened


NFS, SMB = "nfs4 pi:/srv rw,vers=4.2,local_lock=none", "cifs //pi/s rw,vers=3.1.1,actimeo=1,closetimeo=1"


@pytest.mark.parametrize(
    ("mount", "option", "level", "plain"),
    [
        (f"{NFS},nocto", "nocto", Level.ONE_HOST, Level.ONE_HOST),
        (f"{NFS},acregmin=600,acregmax=600", "acregmin=600", Level.ONE_HOST, Level.ONE_HOST),
        (f"{NFS.replace('none', 'flock')}", "local_lock=flock", Level.ONE_HOST, Level.WARNING),
        (f"{NFS.replace('none', 'all')}", "local_lock=all", Level.ONE_HOST, Level.WARNING),
        ("nfs pi:/srv rw,vers=3,nolock", "nolock", Level.ONE_HOST, Level.WARNING),
        (f"{SMB},cache=strict,nobrl", "nobrl", Level.ONE_HOST, Level.WARNING),
        (f"{SMB},cache=loose", "cache=loose", Level.ONE_HOST, Level.ONE_HOST),
    ],
)
def test_a_mount_with_options_that_were_not_measured_is_not_for_many(
    mount: str, option: str, level: Level, plain: Level
) -> None:
    found = mount_of("/mnt/x", f"31 22 0:40 / /mnt/x rw - {mount}\n")
    assert [one.option for one in found.risks][:1] == [option]
    assert not any(one.many for one in kind.check(found))
    for needed, wanted in ((True, level), (False, plain)):
        first = next(options.check(found, needed=needed))
        assert (first.check, first.level) == ("mount options", wanted)
        assert first.happened.startswith(f"{option}: ") and option.partition("=")[0] in first.remedy
        assert first.locks is (Level.ONE_HOST if plain is Level.WARNING else None)


@pytest.mark.parametrize(
    "mount", [f"{NFS},lookupcache=none,acregmax=30", f"{SMB},cache=strict", "ext4 /dev/vda rw,nocto"]
)
def test_a_mount_as_it_was_measured_has_no_risks(mount: str) -> None:
    found = mount_of("/mnt/x", f"31 22 0:40 / /mnt/x rw - {mount}\n")
    assert found.risks == () and list(options.check(found, needed=True)) == []


def test_the_matrix_in_the_documentation_is_the_one_in_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "filesystems.md").read_text(encoding="utf-8")
    shown = re.findall(
        r"^\| ([^|]+?) \| (many hosts|one host|nobody|not known for many) \| (.+?) \| (.+?) \|$", page, re.MULTILINE
    )
    reach = {"many": "many hosts", "one": "one host", "none": "nobody", "": "not known for many"}
    assert [row[:2] for row in shown] == [(row.name, reach[row.reach]) for row in ROWS]
    for (_, _, _, how), row in zip(shown, ROWS, strict=True):
        assert how.startswith(row.how)
