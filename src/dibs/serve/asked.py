"""What a request may say, and the check that it says nothing else. BadInput names the field."""

from functools import cache
from typing import Any, NamedTuple

from dibs.errors import BadInput


class Field(NamedTuple):
    name: str
    kind: str  # a key of KINDS
    what: str
    required: bool = False


# kind -> (JSON schema, how a person calls it)
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "text": ({"type": "string"}, "a text"),
    "number": ({"type": "number"}, "a number"),
    "whole": ({"type": "integer"}, "a whole number"),
    "flag": ({"type": "boolean"}, "true or false"),
    "any": ({}, "JSON"),
    "texts": ({"type": "array", "items": {"type": "string"}}, "a list of texts"),
    "object": ({"type": "object"}, "an object"),
    "objects": ({"type": "array", "items": {"type": "object"}}, "a list of objects"),
    "priority": ({"type": ["integer", "string"]}, "a number, or low, normal, high or critical"),
}
_TYPES: dict[str, Any] = {
    "text": str, "number": (int, float), "whole": int, "object": dict, "priority": (int, str),
}  # fmt: skip


def checked(fields: tuple[Field, ...], given: Any, where: str = "the body") -> dict[str, Any]:
    """The fields of a JSON object; null is as good as absent, but for a payload or result."""
    if not isinstance(given, dict):
        raise BadInput(f"{where} is not a JSON object; send one")
    known, required = _by_name(fields)
    found: dict[str, Any] = {}
    for name, value in given.items():
        field = known.get(name)
        if field is None:
            raise BadInput(f"{where} has {name!r}, which is not known; known: {', '.join(known) or 'nothing'}")
        if value is None and field.kind != "any":
            continue
        if not _fits(field.kind, value):
            raise BadInput(f"{name} {_short(value)} is not acceptable; give {KINDS[field.kind][1]}")
        found[name] = value
    for field in required:
        if field.name not in found:
            raise BadInput(f"{where} has no {field.name!r}; give {KINDS[field.kind][1]}")
    return found


@cache
def _by_name(fields: tuple[Field, ...]) -> tuple[dict[str, Field], tuple[Field, ...]]:
    return {field.name: field for field in fields}, tuple(field for field in fields if field.required)


def checked_query(fields: tuple[Field, ...], given: dict[str, list[str]]) -> dict[str, Any]:
    """The same for what stands in the URL, where everything is text and a list is a name several times."""
    known, required = _by_name(fields)
    if not given and not required:
        return {}
    values: dict[str, Any] = {}
    for name, texts in given.items():
        field = known.get(name)
        if field is None:
            raise BadInput(f"setting {name!r} is not known here; known: {', '.join(known) or 'none'}")
        if field.kind == "texts":
            values[name] = texts
        elif len(texts) > 1:
            raise BadInput(f"setting {name!r} is given {len(texts)} times; give it once")
        else:
            values[name] = _read(field, texts[0])
    return checked(fields, values, "the URL")


def _read(field: Field, text: str) -> Any:
    try:
        if field.kind == "whole":
            return int(text)
        return float(text) if field.kind == "number" else text
    except ValueError:
        raise BadInput(f"{field.name} {text[:40]!r} is not acceptable; give {KINDS[field.kind][1]}") from None


def _fits(kind: str, value: Any) -> bool:
    if kind == "any":
        return True
    if isinstance(value, bool):
        return kind == "flag"
    if kind in ("texts", "objects"):
        one = str if kind == "texts" else dict
        return isinstance(value, list) and all(isinstance(item, one) for item in value)
    return kind in _TYPES and isinstance(value, _TYPES[kind])


def _short(value: Any) -> str:
    try:
        return repr(value)[:60]
    except ValueError:  # a number of thousands of digits
        return "that long"
