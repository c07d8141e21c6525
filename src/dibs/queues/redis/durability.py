"""What the server's own settings mean for "no loss": said when they are not good for a queue, once by a process and
those that it starts."""

import os
import warnings

from dibs.queues.redis.address import Address

_SAID = "DIBS_REDIS_WARNED"


class DurabilityWarning(UserWarning):
    """The server may forget what was pushed."""


def worries(info: dict[str, str]) -> list[str]:
    found = []
    if info.get("aof_enabled") == "0":
        found.append("it runs without appendonly, so a crash loses what was pushed since the last snapshot")
    policy = info.get("maxmemory_policy", "")
    if policy.startswith("allkeys-"):
        found.append(f"its maxmemory-policy is {policy}, so it deletes tasks when memory is short; use noeviction")
    return found


def warn(address: Address, info: dict[str, str]) -> None:
    for worry in worries(info):
        mark = f"{address.where} {len(worry)}"
        if mark not in os.environ.get(_SAID, "").split(";"):
            os.environ[_SAID] = (
                f"{os.environ.get(_SAID, '')};{mark}"  # not again in processes that are started from here
            )
            text = f"{worry}; ?warn=off silences this"
            # A file name that is none: the line of code that asked would tell nobody anything.
            warnings.warn_explicit(text, DurabilityWarning, f"Redis at {address.where}", 0)
