"""Names of specs: an id is the file's name without `.md`.

A new id is the day, the title and 40 random bits, so two people who add the same title on the same day
in two clones do not meet. An id never leads out of its folder and never passes for an option.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dibs.clock import iso
from dibs.errors import BadInput, TaskNotFound

if TYPE_CHECKING:
    from random import Random

SUFFIX = ".md"
MAX_ID_BYTES = 200  # room for what a lock or a temporary file adds to it
SLUG_CHARACTERS = 48
SLUG_BYTES = 96
SHOWN = 10
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: read aloud, typed again


def new_id(title: str, now: float, rng: "Random | None" = None) -> str:
    """An id for a spec added at `now`, such as 2026-11-16-fix-login-4f2a81kd."""
    if rng is None:
        from random import SystemRandom  # only for what is added

        rng = SystemRandom()
    return f"{iso(now)[:10]}-{slug(title)}-{''.join(rng.choices(_DIGITS, k=8))}"


def slug(title: str) -> str:
    """The title in lower-case letters and digits joined by `-`: accents go, other scripts stay."""
    import unicodedata  # seldom needed

    words = "".join(_plain(char) for char in unicodedata.normalize("NFC", title).lower()).split()
    taken = ""
    for word in words:
        longer = f"{taken}-{word}" if taken else word
        if len(longer) > SLUG_CHARACTERS or len(longer.encode()) > SLUG_BYTES:
            break
        taken = longer
    if not taken and words:
        taken = words[0][:SLUG_CHARACTERS].encode()[:SLUG_BYTES].decode(errors="ignore")
    return taken or "spec"


def _plain(char: str) -> str:
    """What stands for one character: ASCII if it is a form of that, else itself if a letter or digit, else a blank."""
    if char.isascii():
        return char if char.isalnum() else "" if char == "'" else " "
    if char == "ß":
        return "ss"
    import unicodedata

    base = unicodedata.normalize("NFKD", char)
    if base[0].isascii():
        return "".join(part for part in base if part.isascii() and part.isalnum()).lower() or " "
    return char if char.isalnum() or unicodedata.category(char)[0] == "M" else " "


def fault_of(id: str) -> str | None:  # noqa: A002
    """What keeps `id` from being a spec's id, or None."""
    if not id:
        return "is empty"
    if id[0] in ".-":
        return f"begins with {id[0]!r}"
    if "/" in id or "\\" in id:
        return "holds a slash"
    if not id.isprintable():
        return "holds a character that does not print"
    if id != id.strip():
        return "begins or ends with a blank"
    if len(id) > MAX_ID_BYTES or (not id.isascii() and len(id.encode()) > MAX_ID_BYTES):
        return f"has more than {MAX_ID_BYTES} bytes"
    return None


def checked_id(id: str) -> str:  # noqa: A002
    """BadInput when it cannot be a spec's id."""
    if fault := fault_of(id):
        raise BadInput(f"spec id {id[:80]!r} {fault}; use a file's name without {SUFFIX}")
    return id


def without_suffix(ref: str) -> str:
    return ref[: -len(SUFFIX)] if ref.endswith(SUFFIX) else ref


def resolve(ref: str, ids: Iterable[str]) -> str:
    """The id that `ref` means: exactly, else the only one that begins with it, else the only one that holds it.
    BadInput lists the matches when there are several; TaskNotFound when there is none."""
    wanted = without_suffix(ref)
    checked_id(wanted)
    known = ids if isinstance(ids, list | tuple | set | frozenset | dict) else list(ids)
    if wanted in known:
        return wanted
    matches = [one for one in known if one.startswith(wanted)] or [one for one in known if wanted in one]
    if not matches:
        raise TaskNotFound(f"no spec is called {ref!r}; `dibs specs list` shows those there are")
    if len(matches) == 1:
        return matches[0]
    shown = ", ".join(sorted(matches)[:SHOWN])
    more = f" and {len(matches) - SHOWN} more" if len(matches) > SHOWN else ""
    raise BadInput(f"spec {ref!r} could be any of {len(matches)}: {shown}{more}; give more of the id")
