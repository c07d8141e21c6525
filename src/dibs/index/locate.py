"""Finding a key among sorted lines without taking them apart: what a lookup costs does not grow with what it skips."""

from dibs.index.usv import END, UNIT

NEAR = 256


def locate(data: bytes, key: bytes, low: int, near: int = NEAR) -> tuple[int, int]:
    """(start, end) of the line with this key and its end mark; where it would stand, twice, when there is none.
    `low`: the start of a line, with no line before it at or after the key. The lines go on to the end of `data`.
    `near`: how far off it is likely to be, in bytes."""
    # Of many keys in order the next is near: one search finds it, from the end of the line before.
    at = data.find(b"\x1e\n%b\x1f" % key, max(low - 2, 0), low + near * 4)
    if at >= 0:
        return at + 2, data.find(END, at + 2) + 2
    low, high = _around(data, key, low, near)
    while low < high:
        start = data.rfind(END, low, (low + high) // 2) + 2
        if start < 2:
            start = low
        if data[start : data.find(UNIT, start)] < key:
            low = data.find(END, start) + 2
        else:
            high = start
    if data.startswith(key + UNIT, low):
        return low, data.find(END, low) + 2
    return low, low


def _around(data: bytes, key: bytes, low: int, step: int) -> tuple[int, int]:
    """Starts of lines with the place between them, looked for in steps that double."""
    size = len(data)
    while low + step < size:
        start = data.find(END, low + step) + 2
        if start < 2 or start >= size:
            break
        if data[start : data.find(UNIT, start)] >= key:
            return low, start
        low, step = start, step * 2
    return low, size
