"""The store's clock, by its `Date`, and how fine the times are that it keeps of objects."""

from collections.abc import Iterator
from statistics import median

from dibs.doctor.buckets.ground import Ground
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.times import skewed
from dibs.values import replace

_OBJECTS = 3


def check(ground: Ground) -> Iterator[Finding]:
    read, dates = [], []
    keys = [f"clock/{number}" for number in range(_OBJECTS)]
    for key in keys:
        ground.written(key, "x")
        found = ground.bucket.get(key)
        if found is not None:
            read.append((found.modified, ground.clock.wall()))
        before = ground.clock.wall()
        date = ground.bucket.date(key)
        if date is not None:
            dates.append(date + 0.5 - (before + ground.clock.wall()) / 2)  # it is in whole seconds
    listed = [stamp for key, stamp in ground.bucket.listed("clock").items() if key in keys]
    if not read:
        return
    whole = _whole([stamp for stamp, _ in read])
    words = f"{_shown(whole)} in an answer" + (f", {_shown(_whole(listed))} in a listing" if listed else "")
    yield Finding(check="LastModified", tried=f"{len(read)} objects", happened=words)
    skew = median(dates) if dates else median(stamp - now for stamp, now in read) + (0.5 if whole else 0.0)
    ground.figures["clock_skew_seconds"] = round(skew, 1)
    by = "Date" if dates else "LastModified, as no Date was to be had"
    yield replace(skewed(skew, "store"), tried=f"by {by}")
    words = "dibs does not use it, and its driver cannot send it: servers differ"
    yield Finding(check="conditional delete", tried="not tried", happened=words, level=Level.NOTE)


def _whole(stamps: list[float]) -> bool:
    return all(stamp == int(stamp) for stamp in stamps)


def _shown(whole: bool) -> str:
    return "whole seconds" if whole else "parts of seconds"
