"""A folder of specs read quickly: most fields of frontmatter stand alike in many files, and each is parsed once.

The frontmatter is cut into fields at lines that begin at the margin; a field that the quick reader takes by itself
means the same anywhere. Everything else, and all that is wrong, is left to `fields.values_of`: `read` then says None.
The values come out as JSON, put together from the fields' own.
"""

import re
from json import JSONEncoder
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

from dibs.errors import BadInput
from dibs.specs import fences, quick
from dibs.specs.fields import READINGS, title_of
from dibs.specs.nodes import Hot, hot
from dibs.specs.scalars import meaning

REMEMBERED = 4096  # fields; what is in every other file is met early
_Field = tuple[str, Any, str, bool]  # name (empty for a comment), value, both as JSON, whether dibs knows it
_COMMENT: _Field = ("", None, "", True)
_OF_ONE = frozenset({"depends_on", "members", "started_at", "completed_at", "not_before", "error"})  # seldom met again
_ORDINARY = bytes([10, *range(32, 127)])
_encode = JSONEncoder(separators=(",", ":")).encode
_fields = re.compile(r"[^ \n-][^\n]*\n(?:(?:[ -][^\n]*)?\n)*").findall
_WORD = r"[A-Za-z0-9](?:[A-Za-z0-9_.@/+:-]*[A-Za-z0-9_])?"
_simple = re.compile(rf"([a-z_]+):(?: ({_WORD})\n|\n((?:  - {_WORD}\n)+))").fullmatch


class Repeats:
    """Remembers the fields it has met. One for a reading of a folder."""

    def __init__(self) -> None:
        self._known: dict[str, _Field] = {}

    def read(self, data: bytes) -> tuple[Hot, str] | None:
        """What to keep of one file: its part of the columns, and `values_of` it as JSON."""
        stop = data.find(b"\n---\n", 3, fences.LIMIT) + 1
        if not stop or not data.startswith(b"---\n"):
            return None
        front = data[4:stop]
        if front.translate(None, _ORDINARY):
            return None
        text = front.decode("ascii")
        parts = _fields(text)
        if len("".join(parts)) != len(text):
            return None
        recall = self._known.get
        values: dict[str, Any] = {}
        known: list[str] = []
        more: list[str] = []
        count = 0
        for part in parts:
            field = recall(part) or self._learn(part)
            if field is None:
                return None
            name, value, json, is_known = field
            if name:
                count += 1
                values[name] = value
                if not is_known:
                    more.append(json)
                elif value is not None:
                    known.append(json)
        if len(values) < count:
            return None
        if more:
            known.append(f'"more":{{{",".join(more)}}}')
        if title := title_of(data, stop + 4):
            known.append(f'"title":{_quoted(title)}')
        return hot(values), f"{{{','.join(known)}}}"

    def _learn(self, part: str) -> _Field | None:
        field = _field_of(part)
        if field is not None and field[0] not in _OF_ONE and len(self._known) < REMEMBERED:
            self._known[part] = field
        return field


def _field_of(part: str) -> _Field | None:
    if simple := _simple(part):
        name, word, items = simple.groups()
        value: Any = meaning(word) if word else [meaning(item[4:]) for item in items[:-1].split("\n")]
    else:
        fields = quick.fields(part)
        if not fields:
            return None if fields is None else _COMMENT
        ((name, value),) = fields.items()
    reading = READINGS.get(name)
    if reading is not None and value is not None:
        try:
            value = reading(value)
        except BadInput:
            return None
    return name, value, f"{_quoted(name)}:{_json(value)}", reading is not None


def _json(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if type(value) is tuple:
        return f"[{','.join(map(_quoted, value))}]"
    return _encode(value)
