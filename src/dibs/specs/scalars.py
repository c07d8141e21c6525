"""Scalars of frontmatter: what a text means, and how a value is written.

A plain (unquoted) text is null, a boolean, a decimal number or, otherwise, a string. It is YAML 1.2's core schema
without what would lose somebody's text: dates, `0x1f`, `012`, `1e3`, `yes`, `.inf` and numbers past 18 digits stay
strings, so that an id or a time is what the file says. What is written is plain where every reader takes it for the
same string, and double-quoted otherwise; double-quoted texts use JSON's escapes only.
"""

import json
import re
from typing import Any

from dibs.errors import BadInput

WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_number = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})(\.[0-9]{1,17}(?:[eE][-+]?[0-9]{1,3})?)?").fullmatch

# In these: words of ordinary characters, joined by blanks, by `:` inside a word, by `#` inside a word.
_FIRST = r"(?:[^ \t\n\-?:,\[\]{}#&*!|>'\"%@`]|-(?=[A-Za-z0-9.]))"
PLAIN = _FIRST + r"[^ \t\n:#]*+(?:(?: ++(?![#\n])|:(?![ \t\n])|#)[^ \t\n:#]*+)*+"
PLAIN_IN_FLOW = (
    _FIRST + r"[^ \t\n:#,\[\]{}?]*+(?:(?: ++(?![#\n,\[\]{}?])|:(?![ \t\n,\[\]{}?])|#)[^ \t\n:#,\[\]{}?]*+)*+"
)
QUOTED = r"""(?:"(?:[^"\\\t\n]++|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))*+"|'[^'\t\n]*+'(?!'))"""

_plain = re.compile(PLAIN + r"\n").fullmatch
_plain_in_flow = re.compile(PLAIN_IN_FLOW + ",").fullmatch
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Strings that YAML 1.1 would not take for strings. Dates it takes for dates; people write those plain all the same.
_TAKEN_ELSEWHERE = re.compile(
    r"(?i:y|n|yes|no|on|off|=|<<|[-+]?\.(?:inf|nan))|(?!\d{4}-\d\d-\d\d)[-+.]*[0-9][0-9_:.a-fA-FxXoO+-]*"
).fullmatch


def meaning(text: str) -> Any:
    """What a plain scalar means."""
    if text in WORDS:
        return WORDS[text]
    if text[-1] > "9":  # as most texts; a number ends with a digit
        return text
    found = _number(text)
    if found is None:
        return text
    return int(text) if found[1] is None else float(text)


def unquoted(text: str) -> str:
    """What is inside a text that matches QUOTED."""
    inner = text[1:-1]
    if text[0] == '"' and "\\" in inner:
        inner = json.loads(text)
    return inner


def written(value: Any, *, in_flow: bool = False) -> str:
    """One line of YAML that reads back as `value`. BadInput for a value that frontmatter cannot hold."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        text = str(value) if abs(value) < 10**18 else ""
    elif isinstance(value, float):
        text = repr(value)
        if "." not in text:
            text = text.replace("e", ".0e")
    elif isinstance(value, str):
        return _string(value, in_flow)
    elif isinstance(value, list):
        return "[" + ", ".join(_item(item) for item in value) + "]"
    else:
        raise BadInput(f"{value!r} cannot stand in frontmatter: use text, a number, true, false or a list of those")
    if repr(meaning(text)) != repr(value):
        raise BadInput(f"the number {value!r} cannot stand in frontmatter: too large, too long or not a number")
    return text


def _item(value: Any) -> str:
    if isinstance(value, list):
        raise BadInput(f"{value!r} cannot stand in a list of frontmatter: use text, numbers, true or false")
    return written(value, in_flow=True)


def _string(value: str, in_flow: bool) -> str:
    if _SURROGATE.search(value):
        raise BadInput(f"the text {value!r} cannot be written as UTF-8")
    fits = _plain_in_flow(value + ",") if in_flow else _plain(value + "\n")
    plain = fits and value.isprintable() and not _TAKEN_ELSEWHERE(value) and isinstance(meaning(value), str)
    if plain:
        return value
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
