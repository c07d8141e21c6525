"""What Redis, or the way to it, refused: one line each, and never a password.

redis-py's own words are passed on only where the server said them about a command; they may quote an address otherwise.
"""

import re

from redis import exceptions as driver

from dibs.errors import DibsError, StorageError
from dibs.queues.redis.address import Address

#: The connection is of no more use, or the server is not ready: another try may succeed.
PASSING = (
    driver.AskError,
    driver.BusyLoadingError,
    driver.ConnectionError,
    driver.ReadOnlyError,
    driver.TimeoutError,
    OSError,
)
_PASSING_CODES = ("MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "UNBLOCKED", "LOADING", "READONLY")
_CODE = re.compile(r"(?:^|: -?)([A-Z]{3,}) ")  # at the start, or, from inside a script of Redis 6, after its place
_NO_ENTRY = (driver.AuthenticationError, driver.AuthorizationError, driver.AuthenticationWrongNumberOfArgsError)


def passing(error: BaseException) -> bool:
    if isinstance(error, _NO_ENTRY):
        return False
    return isinstance(error, PASSING) or _code(str(error)) in _PASSING_CODES


def moved_to(error: BaseException) -> tuple[str, int] | None:
    """The node of a cluster that has the queue, if that is what the server says; no host: the same."""
    if not isinstance(error, driver.MovedError):
        return None
    return error.host, error.port


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
    if isinstance(error, driver.AskError):
        return StorageError(
            f"Redis at {where} is just moving this queue to another node of its cluster; try again later"
        )
    if "SSL" in said or "certificate" in said:
        return StorageError(
            f"no TLS with Redis at {where}: {said}; rediss:// wants a server that speaks it, "
            f"ca=FILE names who vouches for it, cert=FILE and key=FILE who you are"
        )
    if isinstance(error, PASSING):
        if sent:
            return StorageError(
                f"Redis at {where} did not answer; what was asked may have been done: look, then repeat"
            )
        over = " over TLS; does it speak that" if address.tls else ""
        return StorageError(f"Redis cannot be reached at {where}{over}; is it running, and the address right?")
    return StorageError(f"Redis at {where} refused: {said}")


def _code(said: str) -> str:
    found = _CODE.search(said)
    return found[1] if found else ""
