"""Scalars of frontmatter: what a text means.

A plain (unquoted) text is null, a boolean, a decimal number or, otherwise, a string. It is YAML 1.2's core schema
without what would lose somebody's text: dates, `0x1f`, `012`, `1e3`, `yes`, `.inf` and integers past 18 digits stay
strings, so that an id or a time is what the file says.
"""

import json
import re
from math import isfinite
from typing import Any

WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_number = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})(\.[0-9]{1,21}(?:[eE][-+]?[0-9]{1,3})?)?").fullmatch

# In these: words of ordinary characters, joined by blanks, by `:` inside a word, by `#` inside a word.
_FIRST = r"(?:[^ \t\n\-?:,\[\]{}#&*!|>'\"%@`]|-(?=[A-Za-z0-9.]))"
PLAIN = _FIRST + r"[^ \t\n:#]*+(?:(?: ++(?![#\n])|:(?![ \t\n])|#)[^ \t\n:#]*+)*+"
PLAIN_IN_FLOW = (
    _FIRST + r"[^ \t\n:#,\[\]{}?]*+(?:(?: ++(?![#\n,\[\]{}?])|:(?![ \t\n,\[\]{}?])|#)[^ \t\n:#,\[\]{}?]*+)*+"
)
QUOTED = r"""(?:"(?:[^"\\\t\n]++|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))*+"|'[^'\t\n]*+'(?!'))"""


def meaning(text: str) -> Any:
    """What a plain scalar means."""
    if text in WORDS:
        return WORDS[text]
    if text[-1] > "9":  # as most texts; a number ends with a digit
        return text
    found = _number(text)
    if found is None:
        return text
    if found[1] is None:
        return int(text)
    number = float(text)
    return number if isfinite(number) else text


def unquoted(text: str) -> str:
    """What is inside a text that matches QUOTED."""
    inner = text[1:-1]
    if text[0] == '"' and "\\" in inner:
        inner = json.loads(text)
    return inner
