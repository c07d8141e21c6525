"""Which file systems are taken for local."""

from pathlib import Path

import pytest

from dibs.mounts import is_local

TABLE = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
tmpfs /home/me/quick\\040one tmpfs rw 0 0
//server/share /mnt/share cifs rw 0 0
bucket /mnt/bucket fuse.s3fs rw 0 0
/dev/sdb1 /mnt/stick fuseblk rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("/var/queue", True),
        ("/home/me/queue", False),
        ("/home/me/quick one/queue", True),
        ("/homeless", True),
        ("/mnt/share", False),
        ("/mnt/bucket/q", False),
        ("/mnt/stick/q", True),
    ],
)
def test_the_nearest_mount_says(tmp_path: Path, path: str, local: bool) -> None:
    table = tmp_path / "mounts"
    table.write_text(TABLE)
    assert is_local(path, str(table)) is local


def test_without_a_table_a_folder_is_local(tmp_path: Path) -> None:
    assert is_local("/x", str(tmp_path / "none"))
