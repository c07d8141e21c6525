"""What somebody asks for: words and `field:value`, all of which must be met unless it says OR or NOT. Pure.

A query is read here and written out for the index with every AND and bracket in place, so that it means the same
however it is written. An address or path (`https://…`) is a word, whatever stands before its colon; else what stands
there must be a field that is known, so that a typing mistake cannot go unseen.
"""

import re
from typing import NamedTuple

from dibs.errors import BadInput
from dibs.specs.statuses import Status
from dibs.states import State
from dibs.task import PRIORITIES

FIELDS = ("id", "key", "title", "text", "project", "label", "state", "status", "ready", "type", "priority")
VALUES = {"state": tuple(map(str, State)), "status": tuple(map(str, Status)), "ready": ("true", "false")}
SORTS = ("relevance", "priority", "newest", "oldest")
DEFAULT_LIMIT, MOST = 50, 1000
MOST_CHARACTERS = 2000
MOST_BRACKETS = 20
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PART = re.compile(
    rf"(?P<bracket>[()])|(?P<minus>-(?=\S))|(?:(?P<field>[A-Za-z_]\w*):)?"
    rf"(?P<value>{_QUOTED}|[\[{{][^\]}}]*[\]}}]|[^\s()\"]+)|(?P<space>\s+)|(?P<other>.)"
)
_RANGE = re.compile(r"([\[{])\s*(\S+)\s+TO\s+(\S+)\s*([\]}])")
_PLAIN = re.compile(r"\w+(?:[.@-]\w+)*")


class Asked(NamedTuple):
    query: str
    sort: str = "relevance"
    limit: int = DEFAULT_LIMIT


def asked(query: str, sort: str | None = None, limit: int | None = None) -> Asked:
    """BadInput says what cannot be asked."""
    chosen, most = sort or "relevance", DEFAULT_LIMIT if limit is None else limit
    if chosen not in SORTS:
        raise BadInput(f"sort {chosen[:40]!r} is not known; use one of {', '.join(SORTS)}")
    if not 1 <= most <= MOST:
        raise BadInput(f"limit {most} is not acceptable; use 1 to {MOST}")
    if len(query) > MOST_CHARACTERS:
        raise BadInput(f"the query has {len(query)} characters; use at most {MOST_CHARACTERS}")
    written(query)
    return Asked(query, chosen, most)


def written(query: str) -> str:
    """The query as the index reads it."""
    return _Reading(query).all()


class _Reading:
    """By descent: alternatives of what must be met together, of what may be negated."""

    def __init__(self, query: str) -> None:
        self._parts = [found for found in _PART.finditer(query) if not found["space"]]
        self._next = 0
        self._depth = 0

    def all(self) -> str:
        if not self._parts:
            return "*"
        found = self._either()
        if self._peek() is not None:
            raise BadInput("the query cannot be read: there is a `)` too many")
        return found

    def _peek(self) -> str | None:
        return self._parts[self._next][0] if self._next < len(self._parts) else None

    def _either(self) -> str:
        found = [self._together()]
        while self._peek() == "OR":
            self._next += 1
            found.append(self._together())
        return found[0] if len(found) == 1 else f"({' OR '.join(found)})"

    def _together(self) -> str:
        found = [self._one()]
        while (word := self._peek()) not in (None, ")", "OR"):
            self._next += word == "AND"
            found.append(self._one())
        return found[0] if len(found) == 1 else f"({' AND '.join(found)})"

    def _one(self) -> str:
        word = self._peek()
        if word is None or word in (")", "OR", "AND"):
            raise BadInput(
                f"the query cannot be read: something is missing {f'before `{word}`' if word else 'at its end'}"
            )
        part = self._parts[self._next]
        self._next += 1
        if word == "NOT" or part["minus"]:
            return f"(+* -{self._one()})"
        if word == "(":
            return self._bracket()
        if part["other"] or part["value"] is None:
            raise BadInput(f"the query cannot be read at {word!r}; put it into quotes that are closed")
        return _term(part["field"], part["value"], word)

    def _bracket(self) -> str:
        self._depth += 1
        if self._depth > MOST_BRACKETS:
            raise BadInput(f"the query has more than {MOST_BRACKETS} brackets in each other; use fewer")
        found = self._either()
        if self._peek() != ")":
            raise BadInput("the query cannot be read: a `(` is not closed")
        self._next += 1
        self._depth -= 1
        return found


def _term(field: str | None, value: str, word: str) -> str:
    if field is None and word[:-1] in FIELDS and word[-1] == ":":
        raise BadInput(f"{word} has no value; write {word}VALUE, without a space")
    if field is None or value[0] in "/\\":
        return "*" if word == "*" else _quoted(word)
    if field not in FIELDS:
        raise BadInput(f'field {field[:40]!r} is not known; use one of {", ".join(FIELDS)}, or "…" around a text')
    if field == "priority":
        return f"priority:{_priority(value)}"
    known = VALUES.get(field)
    if known and value.strip('"') not in known:
        raise BadInput(f"{field}:{value[:40]} is not known; use one of {', '.join(known)}")
    return f"{field}:{_quoted(value)}"


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value) and value not in ("AND", "OR", "NOT", "IN", "TO"):
        return value
    bare = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    return '"' + bare.replace('\\"', '"').replace("\\", "\\\\").replace('"', '\\"') + '"'


def _priority(value: str) -> str:
    """A number or a name, also after < or >, or a range of them."""
    limits = _RANGE.fullmatch(value)
    if limits is not None:
        low, high = (end if end == "*" else _number(end) for end in limits.group(2, 3))
        return f"{limits[1]}{low} TO {high}{limits[4]}"
    name = value.lstrip("<>=")
    sign = value[: len(value) - len(name)]
    if sign not in ("", "<", ">", "<=", ">="):
        raise BadInput(f"priority:{value[:40]} cannot be read; write priority:>=100")
    return sign + _number(name)


def _number(name: str) -> str:
    found = str(PRIORITIES.get(name, name))
    if not (found.isascii() and found.isdigit() and len(found) < 10):
        raise BadInput(f"priority {name[:40]!r} is neither a number nor one of {', '.join(PRIORITIES)}")
    return found
