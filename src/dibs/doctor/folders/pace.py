"""How many tasks a second the place sustains, and what follows for workers and settings."""

from collections.abc import Iterator

from dibs.doctor.crowd import fed
from dibs.doctor.finding import Finding
from dibs.doctor.folders.ground import Ground

FEW = 50.0  # tasks a second
_TASK_SECONDS = 10.0


def check(ground: Ground) -> Iterator[Finding]:
    seconds = 0.3 if ground.quick else 1.0
    together = ground.crew.all("cycle", seconds=seconds, sync=False)
    rate = sum(done / taken for done, taken in together)
    done, taken = ground.crew.one(0, "cycle", seconds=seconds, sync=True)
    ground.figures |= {"tasks_per_second": round(rate, 1), "pushes_per_second": round(done / taken, 1)}
    yield Finding(
        check="pace",
        tried=f"{ground.crew.size} processes for {seconds:g} s",
        happened=f"{rate:,.0f} tasks/s claimed and completed, {done / taken:,.0f} pushed one by one with sync",
    )


def advice(figures: dict[str, float]) -> list[str]:
    """Lines for people, out of what was measured."""
    rate, pushes = figures.get("tasks_per_second", 0.0), figures.get("pushes_per_second", 0.0)
    if not rate:
        return []
    lines = [
        f"feeds {fed(rate, _TASK_SECONDS)} workers whose tasks take {_TASK_SECONDS:g} s each, "
        f"{fed(rate, 1.0)} with tasks of a second"
    ]
    if pushes < FEW:
        lines.append(
            f"syncing allows {pushes:.0f} single pushes a second: push many at once (--jsonl), or with ?sync=off"
        )
    if rate < FEW:
        lines.append(
            "few files a second: prefer long tasks, few workers with -j each, and ?shards=16 for a small queue"
        )
    lag = max(figures.get("listing_lag_seconds", 0.0), figures.get("looking_up_lag_seconds", 0.0))
    if lag >= 0.5:
        lines.append(f"others see changes up to {lag:.1f} s late: --ttl of {max(20, round(lag * 10))}s or more")
    return lines
