"""Reading unusual frontmatter with the YAML parser's events, and nothing of YAML that could hurt.

Only maps, lists and scalars come out, scalars by `scalars.meaning`. Anchors, aliases, tags other than YAML's core
ones, two equal keys, more than one document and deep nesting are refused with their line. Keys are always text.
"""

import re
from collections.abc import Iterator
from typing import Any

from dibs.errors import MissingExtra
from dibs.specs.badspec import BadSpec
from dibs.specs.places import FIRST_LINE, Field, Item, Place
from dibs.specs.scalars import meaning

DEPTH = 32

_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS = {"int": int, "float": float, "bool": bool, "null": type(None)}


def places(text: str) -> list[Field]:
    """The fields of frontmatter lines, with places. BadSpec; MissingExtra without PyYAML."""
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtra(
            "this frontmatter is more than plain `key: value` and needs PyYAML; pip install 'dibs[specs]'"
        ) from None
    try:
        return _Reader(yaml, text).fields()
    except yaml.YAMLError as error:
        raise _bad(error, text) from None


class _Reader:
    def __init__(self, yaml: Any, text: str) -> None:
        self._yaml = yaml
        self._lines = text.split("\n")
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        self._last: Place = (0, 0)

    def fields(self) -> list[Field]:
        found: list[Field] = []
        event = self._next()
        if isinstance(event, self._yaml.StreamEndEvent):
            return found
        top = self._next()
        if isinstance(top, self._yaml.ScalarEvent) and top.value == "" and top.implicit[0]:
            return found
        if not isinstance(top, self._yaml.MappingStartEvent):
            raise _at(top, "the frontmatter is not made of fields; write `key: value` lines")
        if top.flow_style:
            found = [field._replace(after_colon=-1) for field in self._fields(top, 1)]
        else:
            found = list(self._fields(top, 1))
        self._next()
        event = self._next()
        if not isinstance(event, self._yaml.StreamEndEvent):
            raise _at(event, "the frontmatter holds more than one YAML document")
        return found

    def _next(self) -> Any:
        event = next(self._events)
        if isinstance(event, self._yaml.StreamStartEvent):
            return self._next()
        if isinstance(event, self._yaml.AliasEvent):
            raise _at(event, f"the alias *{_short(event.anchor)} is not allowed; write the value itself")
        if getattr(event, "anchor", None):
            raise _at(event, f"the anchor &{_short(event.anchor)} is not allowed")
        return event

    def _fields(self, start: Any, depth: int) -> Iterator[Field]:
        seen: dict[str, int] = {}
        while not isinstance(key := self._next(), self._yaml.MappingEndEvent):
            if not isinstance(key, self._yaml.ScalarEvent):
                raise _at(key, "a key must be text")
            self._checked(key, ("str",))
            if key.value in seen:
                where = FIRST_LINE + seen[key.value]
                raise _at(key, f"the key {_short(key.value)!r} occurs twice; the first is in line {where}")
            seen[key.value] = key.start_mark.line
            yield self._field(key, depth)
        if start.flow_style:
            self._last = _place(key.end_mark)

    def _field(self, key: Any, depth: int) -> Field:
        line, column = _place(key.end_mark)
        after_colon = self._lines[line].find(":", column) + 1 or -1
        event = self._next()
        items: list[Item] | None = None
        if isinstance(event, self._yaml.SequenceStartEvent) and not event.flow_style:
            items = []
        value = self._value(event, depth, items)
        start = _place(event.start_mark)
        field = Field(key.value, value, key.start_mark.line, after_colon, start, max(start, self._last))
        lines = [item.line for item in items or ()]
        if not items or len(set(lines)) < len(lines) or lines[0] == field.line:
            return field
        indent = self._lines[start[0]][: start[1]]
        return field if indent.strip(" ") else field._replace(items=tuple(items), indent=indent)

    def _value(self, event: Any, depth: int, items: list[Item] | None = None) -> Any:
        if depth > DEPTH:
            raise _at(event, f"values are nested deeper than {DEPTH}")
        if isinstance(event, self._yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, self._yaml.MappingStartEvent):
            self._checked(event, ("map",))
            return {field.key: field.value for field in self._fields(event, depth + 1)}
        self._checked(event, ("seq",))
        found = []
        single = True
        while not isinstance(inner := self._next(), self._yaml.SequenceEndEvent):
            value = self._value(inner, depth + 1)
            found.append(value)
            if items is not None:
                single = single and inner.start_mark.line == self._last[0] and isinstance(inner, self._yaml.ScalarEvent)
                items.append(Item(value, inner.start_mark.line))
        if event.flow_style:
            self._last = _place(inner.end_mark)
        if items is not None and not single:
            items.clear()
        return found

    def _scalar(self, event: Any) -> Any:
        self._last = self._trimmed(event)
        tag = self._checked(event, ("str", *_SCALAR_TAGS))
        if tag in _SCALAR_TAGS:
            value = meaning(event.value)
            if type(value) is not _SCALAR_TAGS[tag]:
                raise _at(event, f"{_short(event.value)!r} is not what its tag !!{tag} says")
            return value
        return meaning(event.value) if tag is None and event.implicit[0] else event.value

    def _trimmed(self, event: Any) -> Place:
        """Where a scalar's text ends; the parser counts the blank lines after a block scalar to it."""
        line, column = _place(event.end_mark)
        first = event.start_mark.line
        while line > first and not self._lines[line][:column].strip(" \t"):
            line -= 1
            column = len(self._lines[line])
        return line, len(self._lines[line][:column].rstrip(" \t")) if line > first else column

    def _checked(self, event: Any, allowed: tuple[str, ...]) -> str | None:
        if event.tag is None or event.tag == "!":
            return "str" if event.tag else None
        name: str = event.tag.removeprefix(_CORE)
        if name not in allowed or name == event.tag:
            raise _at(event, f"the tag {_short(event.tag)} is not allowed")
        return name


def _place(mark: Any) -> Place:
    return mark.line, mark.column


def _at(event: Any, reason: str) -> BadSpec:
    return BadSpec(reason, FIRST_LINE + event.start_mark.line)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _bad(error: Any, text: str) -> BadSpec:
    """The parser's own words, but for the mistakes that people make."""
    conflict = re.search(r"^(?:<{7}|>{7})(?: |$)", text, re.MULTILINE)
    if conflict:
        return BadSpec("a merge conflict is not resolved", FIRST_LINE + text.count("\n", 0, conflict.start()))
    problem = getattr(error, "problem", None) or str(error).replace("\n", " ")
    mark = getattr(error, "problem_mark", None)
    if "end of stream" in problem or mark is None:
        mark = getattr(error, "context_mark", None) or mark
    if mark is None:
        return BadSpec(f"not YAML: {problem}")
    line = text.split("\n")[mark.line]
    if re.match(r" *\t", line) or line[mark.column : mark.column + 1] == "\t":
        problem = "a tab stands where only spaces may"
    elif "mapping values" in problem:
        problem += "; put quotes around a text that holds a colon and a blank"
    return BadSpec(f"not YAML: {problem}", FIRST_LINE + mark.line)
