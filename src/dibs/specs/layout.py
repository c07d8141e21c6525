"""The lines of a file's frontmatter and the field that each belongs to: what is changed, line by line.

A change touches the lines of its field only; all other lines, the fences and the body keep their bytes. Lines hold
their own line ends; new lines get that of the opening fence. Whether the result still reads as it should is for the
caller to check.
"""

from typing import Any

from dibs.specs import fences, quick, yamlish
from dibs.specs.badspec import BadSpec
from dibs.specs.lines import text_of
from dibs.specs.places import FIRST_LINE, Field
from dibs.specs.writing import written


class Layout:
    """BadSpec and MissingExtra as `frontmatter.read`."""

    def __init__(self, data: bytes) -> None:
        found = fences.find(data)
        if found is None:
            start = len(fences.BOM) if data.startswith(fences.BOM) else 0
            self._end = b"\r\n" if data[: data.find(b"\n") + 1].endswith(b"\r\n") else b"\n"
            self._bare: bytes | None = data[:start]
            self._open, self._close = self._bare + b"---" + self._end, b"---" + self._end
            self.body = data[start:]
            content = b""
        else:
            start, stop, body = found
            self._bare = None
            self._open, self._close, self.body = data[:start], data[stop:body], data[body:]
            self._end = b"\r\n" if self._open.endswith(b"\r\n") else b"\n"
            content = data[start:stop]
        text = text_of(content)
        places = quick.places(text)
        self._fields = {field.key: field for field in (yamlish.places(text) if places is None else places)}
        self._lines: list[bytes] = content.splitlines(keepends=True)

    @property
    def values(self) -> dict[str, Any]:
        return {key: field.value for key, field in self._fields.items()}

    @property
    def between(self) -> list[bytes]:
        """The lines that belong to no field."""
        taken = {number for field in self._fields.values() for number in range(field.line, field.stop[0] + 1)}
        return [line for number, line in enumerate(self._lines) if number not in taken]

    def lines(self, key: str) -> list[bytes]:
        """The field's lines with their line ends; none when there is no such field."""
        field = self._fields.get(key)
        return [] if field is None else self._lines[field.line : field.stop[0] + 1]

    def with_value(self, key: str, value: Any) -> list[bytes]:
        """The lines that the field would have with this value. BadInput for a value that cannot be written."""
        field = self._fields.get(key)
        if field is None:
            return [f"{self._indent()}{written(key)}: {written(value)}".encode() + self._end]
        if field.after_colon < 0:
            raise BadSpec(
                f"the field {key!r} has a form that cannot be changed; write it as `{key}: value`", _line(field)
            )
        own = [line.decode() for line in self.lines(key)]
        first = own[0]
        if field.items and isinstance(value, list) and value:
            return [line.encode() for line in (first, *self._item_lines(field, value))]
        new = written(value)
        if field.start[0] > field.line:  # the value begins below its key: it moves up, behind the colon
            line = first[: field.after_colon] + " " + new + first[field.after_colon :]
            return [line.encode()]
        if field.start == field.stop:
            new = " " + new
        rest = own[-1][field.stop[1] :]
        return [(first[: field.start[1]] + new + rest).encode()]

    def put(self, changes: dict[str, list[bytes]], *, fenced: bool = False) -> bytes:
        """All before the body, with these fields' lines instead; no lines: without the field. New fields come last.

        A file that has no frontmatter and gets no field gets none, unless `fenced`.
        """
        lines: list[list[bytes]] = [[line] for line in self._lines]
        added = []
        for key, new in changes.items():
            field = self._fields.get(key)
            if field is None:
                added += new
                continue
            for number in range(field.line, field.stop[0] + 1):
                lines[number] = []
            lines[field.line] = new
        if self._bare is not None and not added and not fenced:
            return self._bare
        return b"".join([self._open, *(line for group in lines for line in group), *added, self._close])

    def ended(self, changes: dict[str, list[bytes]]) -> dict[str, list[bytes]]:
        """The same changes; lines that are not this file's own get its line ends."""
        return {
            key: new if new == self.lines(key) else [line.rstrip(b"\r\n") + self._end for line in new]
            for key, new in changes.items()
        }

    def _item_lines(self, field: Field, value: list[Any]) -> list[str]:
        """Items that were there keep their line, with its quotes and comment."""
        old = {repr(item.value): self._lines[item.line].decode() for item in field.items or ()}
        end = self._end.decode()
        return [old.get(repr(item)) or f"{field.indent}- {written(item)}{end}" for item in value]

    def _indent(self) -> str:
        for field in self._fields.values():
            line = self._lines[field.line].decode()
            return line[: len(line) - len(line.lstrip(" "))]
        return ""


def _line(field: Field) -> int:
    return FIRST_LINE + field.line
