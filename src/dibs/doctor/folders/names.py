"""Which names a folder takes: dibs's own are lower-case ASCII, below 140 characters; `dir:` and `specs:` have yours."""

import os
from collections.abc import Iterator
from contextlib import suppress

from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.ground import Ground

OURS = f"{'0' * 32}.999999999.999999999.999999999.9999-{'0' * 12}.{'s' * 48}"
_NAMES = {
    "ours": OURS,
    "long": "n" * 255,
    "Ünïcödé": "Ünïcödé-字",
    "colon": "a:b",
    "space and quote": "a 'b\"",
    "trailing dot": "a.",
}
_LISTED_SECONDS = 4.0


def check(ground: Ground) -> Iterator[Finding]:
    folder = ground.sub("names")
    refused = _refused(folder, ground)
    if "ours" in refused:
        words = f"a name of dibs ({len(OURS)} characters) is not taken as it is: no queue can be here"
        remedy = "use another place"
        yield Finding(check="names", tried="the longest of dibs", happened=words, level=Level.BAD, remedy=remedy)
        return
    faults = [f"not taken as they are: {', '.join(refused)}"] if refused else []
    faults += ["upper and lower case are one"] if _folds(folder, ground) else []
    tried = f"{len(_NAMES) + 1} kinds"
    if faults:
        happened = f"{'; '.join(faults)}. dibs's own names are not affected, files of dir: and specs: may be"
        yield Finding(check="names", tried=tried, happened=happened, level=Level.NOTE)
    else:
        yield Finding(check="names", tried=tried, happened="all kept as they are")


def _refused(folder: str, ground: Ground) -> list[str]:
    written = {}
    for what, name in _NAMES.items():
        with suppress(OSError, UnicodeError):
            ground.write(f"{folder}/{name}")
            written[what] = name
    until = ground.clock.boottime() + _LISTED_SECONDS
    while True:  # a listing may lag: that is another check's business
        listed = os.listdir(folder)
        missing = [what for what in _NAMES if written.get(what) not in listed]
        if not any(what in written for what in missing) or ground.clock.boottime() > until:
            return missing
        ground.clock.sleep(0.05)


def _folds(folder: str, ground: Ground) -> bool:
    ground.write(f"{folder}/case")
    return os.path.exists(f"{folder}/CASE")
