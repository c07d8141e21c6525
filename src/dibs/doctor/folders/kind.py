"""Which file system it is, and what is known of it."""

from collections.abc import Iterator

from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.mounts import Mount


def check(mount: Mount) -> Iterator[Finding]:
    row = mount.row
    known = f"{mount.shown}: {row.why} ({row.how})"
    if row.reach == "many" and not mount.risks:
        yield Finding(check="file system", tried="looked up", happened=known, many=True)
    elif row.reach == "none":
        yield Finding(check="file system", tried="looked up", happened=known, level=Level.BAD, remedy=row.remedy)
    elif row.reach == "one" and not row.shared:
        remedy = row.remedy or "several hosts need a share, a bucket or a database"
        yield Finding(check="file system", tried="looked up", happened=known, level=Level.ONE_HOST, remedy=remedy)
    elif row.reach == "one":
        yield Finding(check="file system", tried="looked up", happened=known, level=Level.ONE_HOST, remedy=row.remedy)
    else:
        yield Finding(check="file system", tried="looked up", happened=known, level=Level.NOTE, remedy=row.remedy)
    if mount.read_only:
        yield Finding(
            check="mount", tried="looked up", happened="it is mounted read-only", level=Level.BAD,
            remedy="remount it writable",
        )  # fmt: skip
