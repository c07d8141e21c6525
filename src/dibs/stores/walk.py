"""Keys in order out of nested folders, for stores that keep folders."""

from collections.abc import Callable, Iterator

Entries = Callable[[str], list[str]]  # folder ("" or "a/b/") -> its sorted names, those of folders ending in "/"


def walk(entries: Entries, prefix: str, start_after: str = "") -> Iterator[str]:
    """Keys that begin with `prefix` and sort after `start_after`; one folder is read at a time."""
    folder = prefix[: prefix.rfind("/") + 1]
    return _below(entries, folder, prefix, start_after)


def _below(entries: Entries, folder: str, prefix: str, start_after: str) -> Iterator[str]:
    for name in entries(folder):
        key = folder + name
        if not key.startswith(prefix):
            continue
        if name.endswith("/"):
            if key > start_after or start_after.startswith(key):
                yield from _below(entries, key, prefix, start_after)
        elif key > start_after:
            yield key
