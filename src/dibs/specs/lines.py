"""Bytes of frontmatter as text with \\n line ends, or the line that cannot be text."""

import re

from dibs.specs.badspec import BadSpec
from dibs.specs.places import FIRST_LINE

_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def text_of(lines: bytes) -> str:
    """BadSpec for what is not UTF-8, for control characters, and for a carriage return that ends no line."""
    try:
        text = lines.decode()
    except UnicodeDecodeError as error:
        line = FIRST_LINE + lines.count(b"\n", 0, error.start)
        raise BadSpec(f"the byte 0x{lines[error.start]:02x} is not UTF-8; save the file as UTF-8", line) from None
    text = text.replace("\r\n", "\n")
    found = _FORBIDDEN.search(text)
    if found:
        line = FIRST_LINE + text.count("\n", 0, found.start())
        raise BadSpec(f"the character U+{ord(found[0]):04X} is not allowed in frontmatter", line)
    return text
