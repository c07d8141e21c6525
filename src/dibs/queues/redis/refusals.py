"""What Redis, or the way to it, refused: one line each, and never a password.

redis-py's own words are passed on only where the server said them about a command; they may quote an address otherwise.
"""

import re

from redis import exceptions as driver

from dibs.errors import DibsError, StorageError
from dibs.queues.redis.address import Address

#: The connection is of no more use, or the server is not ready: another try may succeed.
PASSING = (driver.ConnectionError, driver.TimeoutError, driver.BusyLoadingError, driver.ReadOnlyError, OSError)
_PASSING_CODES = ("MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "UNBLOCKED", "LOADING", "READONLY")
_CODE = re.compile(r"(?:^|: -?)([A-Z]{3,}) ")  # at the start, or, from inside a script of Redis 6, after its place
_NO_ENTRY = (driver.AuthenticationError, driver.AuthorizationError, driver.AuthenticationWrongNumberOfArgsError)


def passing(error: BaseException) -> bool:
    if isinstance(error, _NO_ENTRY):
        return False
    return isinstance(error, PASSING) or _code(str(error)) in _PASSING_CODES


def refusal(error: BaseException, address: Address, *, sent: bool) -> DibsError:
    """The error of dibs that says it. `sent`: what was asked may have taken effect."""
    where, said = address.where, " ".join(str(error).split())
    code = _code(said)
    if isinstance(error, _NO_ENTRY) or code in ("NOAUTH", "WRONGPASS") or "password" in said:
        given = "does not accept this user and password" if address.password else "wants a password"
        return StorageError(f"Redis at {where} {given}; write redis://USER:PASSWORD@HOST/DB, or see its ACL")
    if isinstance(error, driver.NoPermissionError) or code == "NOPERM":
        return StorageError(f"Redis at {where} gives this user no permission: {said}; see its ACL")
    if isinstance(error, driver.ReadOnlyError) or code == "READONLY":
        return StorageError(f"Redis at {where} is a read-only replica; use the address of the primary")
    if isinstance(error, driver.BusyLoadingError):
        return StorageError(f"Redis at {where} is still loading its data; try again later")
    if code == "OOM" or isinstance(error, driver.OutOfMemoryError):
        return StorageError(
            f"Redis at {where} is out of memory (maxmemory); purge, or give it more; nothing was changed"
        )
    if code == "MISCONF":
        return StorageError(f"Redis at {where} cannot write to its disk and takes no writes; see its log")
    if code == "MOVED" or isinstance(error, driver.MovedError):
        return StorageError(f"Redis at {where} is a cluster and another node has this queue; use that one ({said})")
    if isinstance(error, PASSING):
        if sent:
            return StorageError(
                f"Redis at {where} did not answer; what was asked may have been done: look, then repeat"
            )
        return StorageError(f"Redis cannot be reached at {where}; is it running, and the address right?")
    return StorageError(f"Redis at {where} refused: {said}")


def _code(said: str) -> str:
    found = _CODE.search(said)
    return found[1] if found else ""
