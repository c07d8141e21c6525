"""How many tasks a second the place sustains, and what follows for workers and settings."""

from collections.abc import Callable, Iterator

from dibs.doctor.crew import NoAnswer
from dibs.doctor.crowd import fed
from dibs.doctor.finding import Finding, Level, said
from dibs.doctor.folders.ground import Ground
from dibs.errors import StorageError

FEW = 50.0  # tasks a second
_TASK_SECONDS = 10.0
_SETTINGS = {"dir": "?settle=0"}  # a file that was just pushed is a task


def by_queue(scheme: str) -> Callable[[Ground], Iterator[Finding]]:
    """With a queue of this backend in the doctor's own folder."""

    def check(ground: Ground) -> Iterator[Finding]:
        seconds, url = _seconds(ground), f"{scheme}:{ground.sub('queue')}{_SETTINGS.get(scheme, '')}"
        try:
            rate = sum(done / taken for done, taken in ground.crew.all("work", url=url, seconds=seconds))
        except NoAnswer:
            raise
        except StorageError as error:  # what the place is like was tried before
            words, remedy = said(error)
            happened = f"not measured: {words}"
            yield Finding(check="pace", tried="begun", happened=happened, level=Level.WARNING, remedy=remedy)
            return
        ground.figures["tasks_per_second"] = round(rate, 1)
        happened = f"{rate:,.0f} tasks/s pushed, claimed and completed by {scheme}:"
        yield Finding(check="pace", tried=_tried(ground, seconds), happened=happened)

    return check


def check(ground: Ground) -> Iterator[Finding]:
    """Of `file:`, by what its files go through: hosts that share the place have a processor each."""
    seconds = _seconds(ground)
    together = ground.crew.all("cycle", seconds=seconds, sync=False)
    rate = sum(done / taken for done, taken in together)
    done, taken = ground.crew.one(0, "cycle", seconds=seconds, sync=True)
    ground.figures |= {"tasks_per_second": round(rate, 1), "pushes_per_second": round(done / taken, 1)}
    yield Finding(
        check="pace",
        tried=_tried(ground, seconds),
        happened=f"files of {rate:,.0f} tasks/s claimed and completed, of {done / taken:,.0f} pushed singly with sync",
    )


def _seconds(ground: Ground) -> float:
    return 0.3 if ground.quick else 1.0


def _tried(ground: Ground, seconds: float) -> str:
    return f"{ground.crew.size} processes for {seconds:g} s"


def advice(figures: dict[str, float]) -> list[str]:
    """Lines for people, out of what was measured."""
    rate, pushes = figures.get("tasks_per_second", 0.0), figures.get("pushes_per_second")  # pushes: of file: alone
    if not rate:
        return []
    lines = [
        f"feeds {fed(rate, _TASK_SECONDS)} workers whose tasks take {_TASK_SECONDS:g} s each, "
        f"{fed(rate, 1.0)} with tasks of a second"
    ]
    if pushes is not None and pushes < FEW:
        lines.append(
            f"syncing allows {pushes:.0f} single pushes a second: push many at once (--jsonl), or with ?sync=off"
        )
    if rate < FEW:
        shards = "" if pushes is None else ", and ?shards=16 for a small queue"
        lines.append(f"few tasks a second: prefer long tasks, few workers with -j each{shards}")
    lag = max(figures.get("listing_lag_seconds", 0.0), figures.get("looking_up_lag_seconds", 0.0))
    if lag >= 0.5:
        lines.append(f"others see changes up to {lag:.1f} s late: --ttl of {max(20, round(lag * 10))}s or more")
    return lines
