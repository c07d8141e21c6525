"""The tokens of a daemon, in a file that only its owner can read: the first line is the token, one after `read ` may
only look. Made at the first start; never printed."""

import os
import secrets
from hmac import compare_digest

from dibs.errors import BadInput, StorageError
from dibs.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    full: tuple[str, ...]
    read: tuple[str, ...] = ()

    def allows(self, token: str) -> str | None:
        """ "write", "read", or None. Takes as long for a token that is nearly right."""
        given = token.encode(errors="replace")
        writes = [compare_digest(known.encode(), given) for known in self.full]
        reads = [compare_digest(known.encode(), given) for known in self.read]
        return "write" if any(writes) else "read" if any(reads) else None


def load(path: str) -> Tokens:
    """Read the file, or make it."""
    try:
        _make(path)
    except FileExistsError:
        pass
    except OSError as error:
        raise StorageError(f"cannot make the token file {path}: {error.strerror}; name another with --token") from None
    try:
        with open(path, encoding="ascii") as file:
            mode = os.fstat(file.fileno()).st_mode
            lines = [line.strip() for line in file if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"cannot read the token file {path}: {error}; remove it to have it made again") from None
    if mode & 0o077:
        raise BadInput(f"the token file {path} can be read by others; chmod 600 it, or remove it to have it made again")
    full = tuple(line for line in lines if not line.startswith("read "))
    if not full or any(len(line) < 16 for line in full):
        raise BadInput(f"the token file {path} has no token of 16 characters; remove it to have it made again")
    return Tokens(full=full, read=tuple(line.removeprefix("read ").strip() for line in lines if line not in full))


def _make(path: str) -> None:
    """Whole or not at all: another daemon may start at the same moment."""
    if os.path.exists(path):
        raise FileExistsError(path)
    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
    scratch = f"{path}.{os.getpid()}.{secrets.token_hex(4)}"
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{secrets.token_urlsafe(32)}\nread {secrets.token_urlsafe(32)}\n")
        os.link(scratch, path)
    finally:
        os.unlink(scratch)
