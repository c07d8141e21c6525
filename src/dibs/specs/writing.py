"""How a value is written in frontmatter.

Plain where every reader takes it for the same text, else double-quoted with JSON's escapes only, so that the fast
reading takes whatever is written here.
"""

import json
import re
from typing import Any

from dibs.errors import BadInput
from dibs.specs.scalars import PLAIN, PLAIN_IN_FLOW, meaning

_plain = re.compile(PLAIN + r"\n").fullmatch
_plain_in_flow = re.compile(PLAIN_IN_FLOW + ",").fullmatch
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Strings that YAML 1.1 would not take for strings. Dates it takes for dates; people write those plain all the same.
_TAKEN_ELSEWHERE = re.compile(
    r"(?i:y|n|yes|no|on|off|=|<<|[-+]?\.(?:inf|nan))|(?!\d{4}-\d\d-\d\d)[-+.]*[0-9][0-9_:.a-fA-FxXoO+-]*"
).fullmatch


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
