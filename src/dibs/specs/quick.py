"""The fast reading of ordinary frontmatter, by regular expressions.

Takes `key: scalar`, `key: [a, b]` and `key:` with `- item` lines, comments and blank lines, and says None to
everything else, errors too: the YAML parser then decides. It never takes a text that the parser reads otherwise.

Most lines of a folder of specs (`status: pending`) are the same in many files, so what a line means is remembered;
a line's meaning depends on nothing but its text.
"""

import re
from bisect import bisect_right
from functools import cache
from typing import Any

from dibs.specs.places import Field, Item, Place
from dibs.specs.scalars import PLAIN, PLAIN_IN_FLOW, QUOTED, meaning, unquoted

REMEMBERED = 4096  # lines, of at most LONGEST characters
LONGEST = 120

_KEY = r"[A-Za-z_][A-Za-z0-9_-]{0,99}+"
_EMPTY = r"(?: *+(?:#[^\n]*+)?\n)*+"
_END = r"(?: ++#[^\n]*+| *+)\n"
_SCALAR = rf"(?:{PLAIN}|{QUOTED})"
_IN_LIST = rf"(?:{QUOTED}|{PLAIN_IN_FLOW})"
_FLOW = rf"\[ *+(?:{_IN_LIST} *+(?:, *+{_IN_LIST} *+)*+)?+\]"
_VALUE = rf"(?:{_SCALAR}|{_FLOW})"
_LINE = rf"({_KEY}) *+:(?: ++({_VALUE}))?+{_END}|( *+)- ++({_SCALAR}){_END}|{_EMPTY}"
_BLOCK = rf"{_EMPTY}( *+)- ++{_SCALAR}{_END}(?:{_EMPTY}\4- ++{_SCALAR}{_END})*+"
_ITEM_TEXT = rf"^ *+- ++({_SCALAR})"
_FIELD = rf"({_KEY}) *+:(?: ++({_VALUE}){_END}|{_END}({_BLOCK})?+)|(?: *+(?:#[^\n]*+)?\n)++|([^\n]++)"

_FULL, _LIST, _OPEN, _ITEM, _NOTHING = range(5)
_Line = tuple[int, str, Any]  # what it is, its key (an item: what stands before its `-`), its value
_lines: dict[str, _Line] = {}


@cache
def _pattern(text: str) -> "re.Pattern[str]":
    return re.compile(text, re.MULTILINE)


def fields(text: str) -> dict[str, Any] | None:
    """The fields of frontmatter lines that end in \\n each; None when they are not all of the ordinary kind."""
    found: dict[str, Any] = {}
    count = 0
    items: list[Any] | None = None
    owner = indent = ""
    for line in text[:-1].split("\n"):
        known = _lines.get(line) or _line(line)
        if known is None:
            return None
        kind, name, value = known
        if kind == _FULL:
            found[name] = value
            owner = ""
            count += 1
        elif kind == _ITEM:
            if items is not None and owner and name == indent:
                items.append(value)
            elif items is None and owner:
                found[owner] = items = [value]
                indent = name
            else:
                return None
        elif kind == _LIST:
            found[name] = value.copy()
            owner = ""
            count += 1
        elif kind == _OPEN:
            found[name] = items = None
            owner = name
            count += 1
    return found if len(found) == count else None


def _line(line: str) -> _Line | None:
    match = _pattern(_LINE).fullmatch(line + "\n")
    if match is None:
        return None
    key, value, indent, item = match.groups()
    if item:
        known: _Line = _ITEM, indent, _scalar(item)
    elif not key:
        known = _NOTHING, "", None
    elif not value:
        known = _OPEN, key, None
    elif value[0] == "[":
        known = _LIST, key, _list(value)
    else:
        known = _FULL, key, _scalar(value)
    if len(line) <= LONGEST:
        if len(_lines) >= REMEMBERED:
            _lines.clear()
        _lines[line] = known
    return known


def places(text: str) -> list[Field] | None:
    """The same as `fields`, with places."""
    found = []
    start_of = [0, *(at.end() for at in re.finditer("\n", text))]

    def place(offset: int) -> Place:
        line = bisect_right(start_of, offset) - 1
        return line, offset - start_of[line]

    for match in _pattern(_FIELD).finditer(text):
        key, text_of_value, block, indent, other = match.groups()
        if other:
            return None
        if not key:
            continue
        line, _ = place(match.start(1))
        colon = text.index(":", match.end(1)) + 1
        _, after_colon = place(colon)
        if block:
            spans = [item.span(1) for item in _pattern(_ITEM_TEXT).finditer(text, match.start(3), match.end(3))]
            items = tuple(Item(_scalar(text[start:stop]), place(start)[0]) for start, stop in spans)
            values = [item.value for item in items]
            where = place(match.end(4)), place(spans[-1][1])
            found.append(Field(key, values, line, after_colon, *where, items, indent))
        elif text_of_value:
            value = _list(text_of_value) if text_of_value[0] == "[" else _scalar(text_of_value)
            found.append(Field(key, value, line, after_colon, place(match.start(2)), place(match.end(2))))
        else:
            found.append(Field(key, None, line, after_colon, place(colon), place(colon)))
    return found if len({field.key for field in found}) == len(found) else None


def _list(flow: str) -> list[Any]:
    return [_scalar(item) for item in _pattern(_IN_LIST).findall(flow, 1)]


def _scalar(text: str) -> Any:
    return unquoted(text) if text[0] in "\"'" else meaning(text)
