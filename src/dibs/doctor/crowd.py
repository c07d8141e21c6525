"""How many workers a storage feeds, by how many tasks a second it was seen to sustain."""

SURE = 1000  # of more nobody has tried it: the processes that were raced are a handful


def fed(rate: float, seconds: float) -> str:
    """Workers whose tasks take so long; from half the rate, since the storage has other things to do."""
    many = max(1, int(rate / 2 * seconds))
    return f"about {many:,}" if many <= SURE else f"more than {SURE:,}"
