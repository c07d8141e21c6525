"""What is known of file systems: the rows of docs/filesystems.md. `how` says where the knowledge comes from."""

from dibs.values import dataclass

LOCAL = "a local disk"
MEASURED = "measured"
DOCUMENTED = "from its documentation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`reach`: for whom a queue there is safe: "many" hosts, "one", "none", or "" when it is not known for many."""

    name: str
    types: tuple[str, ...]  # as the kernel names them, with fuse's own kind: fuse.sshfs
    reach: str
    why: str
    how: str
    remedy: str = ""
    memory: bool = False
    shared: bool = False  # several hosts can have it mounted at once


_TO_S3 = "use the bucket itself, s3://BUCKET/queues/NAME: there one wins"
_NO_JOURNAL = "a local disk without hard links, stamps of 2 s, and no journal: a power cut can damage it"
ROWS = (
    Row(name="ext4", types=("ext2", "ext3", "ext4"), reach="one", why=LOCAL, how=MEASURED),
    Row(name="XFS", types=("xfs",), reach="one", why=LOCAL, how=MEASURED),
    Row(name="btrfs", types=("btrfs",), reach="one", why=LOCAL, how=MEASURED),
    Row(name="F2FS", types=("f2fs",), reach="one", why=LOCAL, how=MEASURED),
    Row(name="ZFS, bcachefs", types=("zfs", "bcachefs"), reach="one", why=LOCAL, how=DOCUMENTED),
    Row(name="APFS, HFS+, UFS", types=("apfs", "hfs", "hfsplus", "ufs"), reach="one", why=LOCAL, how=DOCUMENTED),
    Row(name="tmpfs", types=("tmpfs", "ramfs"), reach="one", why="in memory", how=MEASURED, memory=True),
    Row(name="overlay", types=("overlay",), reach="one", why="a container's own layer, gone with it", how=MEASURED,
        remedy="mount a volume into the container for what must stay"),
    Row(name="FAT", types=("vfat", "msdos"), reach="one", how=MEASURED, why=_NO_JOURNAL, remedy="format it as ext4"),
    Row(name="exFAT", types=("exfat",), reach="one", how=DOCUMENTED, why=_NO_JOURNAL, remedy="format it as ext4"),
    Row(name="NTFS", types=("ntfs", "ntfs3", "fuseblk"), reach="one", why=LOCAL, how=DOCUMENTED),
    Row(name="NFS 4.2", types=("nfs4.2",), reach="many", why="one winner over two mounts", shared=True,
        how=f"{MEASURED}: 4.2 between two clients, default options"),
    Row(name="NFS 4.0, NFS 4.1", types=("nfs4", "nfs4.0", "nfs4.1"), reach="", shared=True, how=DOCUMENTED,
        why="said to be as 4.2; not tried", remedy="mount it with vers=4.2, or try it with --hosts 2"),
    Row(name="NFS 3", types=("nfs", "nfs3"), reach="", shared=True, how=DOCUMENTED,
        why="its create and rename are right, but answers that got lost are repeated, and locks need a daemon apart",
        remedy="mount it with vers=4.2"),
    Row(name="NFS 2", types=("nfs2", "nfs2.0"), reach="one", shared=True, how=DOCUMENTED,
        why="it has no exclusive create", remedy="mount it with vers=4.2"),
    Row(name="SMB 3.1.1", types=("smb3.1.1",), reach="many", shared=True,
        how=f"{MEASURED}: 3.1.1 (Samba) over two mounts with cache=none",
        why="one winner over two mounts; specs: may fail for a moment, as a file that is open cannot be replaced",
        remedy="on a Samba server set oplocks = no"),
    Row(name="SMB 1, SMB 2, SMB 3.0", reach="", shared=True, how=DOCUMENTED,
        types=("cifs", "smbfs", "smb1.0", "smb2.0", "smb2.1", "smb3", "smb3.0", "smb3.02"),
        why="only 3.1.1 was tried", remedy="mount it with vers=3.1.1"),
    Row(name="sshfs", types=("fuse.sshfs",), reach="one", shared=True, how=MEASURED,
        why="creating has one winner over two mounts, but locks are each host's own",
        remedy="use NFS or SMB, or a daemon (dibs serve) beside the disk"),
    Row(name="S3 through FUSE", reach="one", shared=True, how=MEASURED, remedy=_TO_S3,
        types=("fuse.s3fs", "fuse.goofys", "fuse.geesefs", "fuse.mountpoint-s3", "fuse.gcsfuse",
               "fuse.blobfuse", "fuse.blobfuse2"),
        why="on two hosts both win nearly every time"),
    Row(name="rclone mount", types=("fuse.rclone",), reach="none", shared=True, how=MEASURED, remedy=_TO_S3,
        why="its rename copies, then deletes: a worker that is killed in between leaves its task at both names"),
    Row(name="synchronised folders", reach="one", shared=True, how=DOCUMENTED, remedy="use a bucket or a real share",
        types=("fuse.google-drive-ocamlfuse", "fuse.onedriver", "fuse.dropbox", "fuse.encfs"),
        why="hosts get each other's changes after the fact, so both win"),
    Row(name="CephFS, GlusterFS, Lustre, GPFS", types=("ceph", "fuse.glusterfs", "lustre", "gpfs", "beegfs"), reach="",
        shared=True, how=DOCUMENTED, why="said to be as a local disk; not tried"),
    Row(name="virtual machine shares", types=("9p", "virtiofs", "vboxsf", "fuse.vmhgfs-fuse", "drvfs"), reach="",
        shared=True, how=DOCUMENTED, why="caching is set by the machine's host; not tried"),
)  # fmt: skip
UNKNOWN = Row(name="unknown", types=(), reach="", why="nothing is known of it here", how="not tried", shared=True)
_BY_TYPE = {kind: row for row in ROWS for kind in row.types}


def row_of(kind: str) -> Row:
    return _BY_TYPE.get(kind, UNKNOWN)
