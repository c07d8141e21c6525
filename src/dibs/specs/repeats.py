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
_Field = tuple[str, Any, str, str]  # name (empty for a comment), value, and both as JSON: known to dibs, or not
_COMMENT: _Field = ("", None, "", "")
_OF_ONE = frozenset({"depends_on", "members", "started_at", "completed_at", "not_before", "error"})  # seldom met again
_encode = JSONEncoder(separators=(",", ":")).encode
_fields = re.compile(r"\n(?![ -])").split
_WORD = r"[A-Za-z0-9](?:[A-Za-z0-9_.@/+:-]*[A-Za-z0-9_])?"
_simple = re.compile(rf"([a-z_]+):(?: ({_WORD})|((?:\n  - {_WORD})+))").fullmatch
# Text in any reading: the `-` inside keeps it from being a number or a word such as null. A reference holds no dot.
_reference = re.compile(r"(depends_on|members):((?:\n  - [A-Za-z0-9]{1,50}-[A-Za-z0-9_-]{1,100})+)").fullmatch
_time = re.compile(r"(started_at|completed_at): ([0-9]{4}-[0-9][0-9]-[0-9T:.+-]*Z)").fullmatch


class Repeats:
    """Remembers the fields it has met. One for a reading of a folder."""

    def __init__(self) -> None:
        self._known: dict[str, _Field] = {"": _COMMENT}

    def read(self, data: bytes) -> tuple[Hot, str] | None:
        """What to keep of one file: its part of the columns, and `values_of` it as JSON."""
        stop = data.find(b"\n---\n", 3, fences.LIMIT)
        if stop < 0 or data[:4] != b"---\n":
            return None
        front = data[4:stop]
        if not front.isascii():
            return None
        parts = _fields(front.decode("ascii"))
        found = list(map(self._known.get, parts))
        place = 0
        for _ in range(found.count(None)):
            place = found.index(None, place)
            found[place] = field = self._learn(parts[place])
            if field is None:
                return None
        names, all_values, known, more = zip(*found, strict=True)
        values = dict(zip(names, all_values, strict=True))
        if len(values) < len(names) and len(values) < len(names) - names.count("") + ("" in values):
            return None  # a field occurs twice
        json = ",".join(filter(None, known))
        if others := ",".join(filter(None, more)):
            json += f',"more":{{{others}}}'
        if title := title_of(data, stop + 5):
            json += f',"title":{_quoted(title)}'
        return hot(values), f"{{{json.removeprefix(',')}}}"

    def _learn(self, part: str) -> _Field | None:
        if at := _time(part):
            return at[1], at[2], f'"{at[1]}":"{at[2]}"', ""
        if refs := _reference(part):
            ids = tuple(dict.fromkeys(refs[2][5:].split("\n  - ")))
            quoted = '","'.join(ids)
            return refs[1], ids, f'"{refs[1]}":["{quoted}"]', ""
        field = _field_of(part)
        if field is not None and field[0] not in _OF_ONE and len(self._known) < REMEMBERED:
            self._known[part] = field
        return field


def _field_of(part: str) -> _Field | None:
    if simple := _simple(part):
        name, word, items = simple.groups()
        value: Any = meaning(word) if word else [meaning(item) for item in items[5:].split("\n  - ")]
    elif not part.replace("\n", "").isprintable():
        return None
    else:
        fields = quick.fields(f"{part}\n")
        if not fields:
            return None if fields is None else _COMMENT
        ((name, value),) = fields.items()
    reading = READINGS.get(name)
    if reading is not None and value is not None:
        try:
            value = reading(value)
        except BadInput:
            return None
    json = f"{_quoted(name)}:{_json(value)}"
    if reading is None:
        return name, value, "", json
    return name, value, "" if value is None else json, ""


def _json(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if type(value) is tuple:
        return f"[{','.join(map(_quoted, value))}]"
    return _encode(value)
