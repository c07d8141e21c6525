"""Conditional writes whose lost answers are settled: the same bytes again, then a look at what is there.

The bytes carry a fresh nonce, so finding them means that this very write took effect, also when
it arrived late or the medium repeated it behind our back and so refused it.
"""

from dibs.stores.store import Changed, Exists, Store, Unsure

TRIES = 4


def create(store: Store, key: str, data: bytes) -> str:
    """Create-if-absent. Raises Exists, or Unsure when no answer could be had at all."""
    unsure = False
    for left in reversed(range(TRIES)):
        try:
            return store.create(key, data)
        except Exists:
            if not unsure:
                raise
            return _found(store, key, data, Exists(key))
        except Unsure:
            unsure = True
            if not left:
                raise
    raise AssertionError("unreachable")


def replace(store: Store, key: str, data: bytes, version: str) -> str:
    """Compare-and-set. Raises Changed, or Unsure when no answer could be had at all."""
    unsure = False
    for left in reversed(range(TRIES)):
        try:
            return store.replace(key, data, version)
        except Changed:
            if not unsure:
                raise
            return _found(store, key, data, Changed(key))
        except Unsure:
            unsure = True
            if not left:
                raise
    raise AssertionError("unreachable")


def _found(store: Store, key: str, data: bytes, refused: Exception) -> str:
    entry = store.get(key)
    if entry is not None and entry.data == data:
        return entry.version
    raise refused
