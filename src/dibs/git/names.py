"""Keys as names of refs: one-to-one, and nothing that git or a file system could trip over.

ASCII letters and digits, `_`, `-` and single dots stay, all else is %XX of its UTF-8 bytes: two spellings of one
accented letter, which some file systems take for the same, stay two names. A long name goes on in a folder below; `%-`
on both sides of that slash says so and stands in no whole name, so one name is never a folder of another.
"""

import re

PART_CHARACTERS = 200
_JOINT = "%-/%-"
_CODE = re.compile(r"%([0-9A-F]{2})")


def quote(key: str) -> str:
    whole = "".join(_quoted(key, at) for at in range(len(key)))
    parts = [whole[at : at + PART_CHARACTERS] for at in range(0, len(whole), PART_CHARACTERS)]
    return _JOINT.join(parts)


def unquote(name: str) -> str | None:
    """The key, or None when `quote` never made this name."""
    whole = name.replace(_JOINT, "")
    try:
        key = b"".join(_bytes(whole)).decode()
    except UnicodeDecodeError:
        return None
    return key if key and quote(key) == name else None


def _quoted(key: str, at: int) -> str:
    char = key[at]
    if (char.isascii() and char.isalnum()) or char in "_-":
        return char
    if char == "." and _kept(key[at - 1 : at]) and _kept(key[at + 1 : at + 2]) and key[at:] != ".lock":
        return char
    return "".join(f"%{byte:02X}" for byte in char.encode())


def _kept(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _bytes(whole: str) -> list[bytes]:
    parts = _CODE.split(whole)
    return [bytes.fromhex(part) if number % 2 else part.encode(errors="replace") for number, part in enumerate(parts)]
