"""Options of a mount that make a share another thing than what was measured: caches that are not asked anew, locks that
stay on this host."""

from collections.abc import Iterator

from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.mounts import Mount


def check(mount: Mount, *, needed: bool) -> Iterator[Finding]:
    """`needed`: the queue rests on locks."""
    for risk in mount.risks:
        level = Level.ONE_HOST if needed or not risk.locks else Level.WARNING
        yield Finding(
            check="mount options",
            tried="looked up",
            happened=f"{risk.option}: {risk.why}",
            level=level,
            remedy=f"mount it without {risk.option}",
            locks=Level.ONE_HOST if risk.locks else None,
        )
