"""The parser of one command: argparse, with help laid out here and errors in the style of the rest.

The layout is our own because argparse changes its own between Python versions, and because the
command line reference and the completion scripts are made from the same arguments.
"""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from dibs.cli.exits import USAGE, CommandError

WIDTH = 100
_LEFT = 26


class Parser(argparse.ArgumentParser):
    """A command sets `description` and `epilog` (its examples), and adds arguments. One that takes a command line of
    somebody else after -- sets `rest` to the name under which it wants it."""

    rest: str | None = None

    def __init__(self, command: str, summary: str) -> None:
        super().__init__(prog=f"dibs {command}", add_help=False, allow_abbrev=False, formatter_class=_Fixed)
        self.summary = summary
        self.arguments: list[argparse.Action] = []
        self.add_argument("-h", "--help", action="store_true", help="show this and leave")

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        action = super().add_argument(*names, **options)
        self.arguments.append(action)
        return action

    def read(self, words: list[str]) -> argparse.Namespace:
        """Parse; options may stand between the positional arguments. What follows -- is the `rest`, if there is one."""
        self.usage = self.usage or ""  # argparse lays out its own at each start if there is none
        if self.rest is None:
            return self.parse_intermixed_args(words)
        end = words.index("--") if "--" in words else len(words)
        args = self.parse_intermixed_args(words[:end])
        setattr(args, self.rest, words[end + 1 :])
        return args

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{self.prog.removeprefix('dibs ')}: {message}", f"{self.prog} --help", USAGE)

    def format_help(self) -> str:
        shown = [action for action in self.arguments if action.help != argparse.SUPPRESS]
        options = sorted((action for action in shown if action.option_strings), key=_at_the_end)
        positionals = [action for action in shown if not action.option_strings]
        required = [_left(action) for action in options if action.required]
        usage = [self.prog, *map(_placeholder, positionals), *required, "[OPTIONS]"]
        parts = ["Usage: " + (self.usage or " ".join(usage)), "\n".join(_paragraphs(self.description or self.summary))]
        if positionals:
            parts.append("\n".join(["Arguments:", *(line for action in positionals for line in _row(action))]))
        parts.append("\n".join(["Options:", *(line for action in options for line in _row(action))]))
        if self.epilog:
            parts.append(self.epilog.strip("\n"))
        return "\n\n".join(parts) + "\n"


class _Fixed(argparse.HelpFormatter):
    """Asked for by argparse to check arguments; a fixed width keeps it from looking at the terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=WIDTH)


def value_name(action: argparse.Action) -> str:
    """What stands for the value of an argument, or nothing for a flag."""
    if action.option_strings and action.nargs == 0:
        return ""
    if action.choices is not None and action.metavar is None:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def _at_the_end(action: argparse.Action) -> int:
    """What every command has comes last."""
    return ("queue_type", "json", "help").index(action.dest) + 1 if action.dest in ("queue_type", "json", "help") else 0


def _placeholder(action: argparse.Action) -> str:
    name = value_name(action)
    many = f"{name}…" if action.nargs in ("*", "+", argparse.REMAINDER) else name
    return f"[{many}]" if action.nargs in ("?", "*", argparse.REMAINDER) else many


def _left(action: argparse.Action) -> str:
    if not action.option_strings:
        return value_name(action)
    names = ", ".join(action.option_strings)
    return f"{names} {value_name(action)}".rstrip()


def _row(action: argparse.Action) -> list[str]:
    from textwrap import wrap

    left = _left(action)
    help_lines = wrap(action.help or "", WIDTH - _LEFT - 2) or [""]
    if len(left) > _LEFT - 2:
        return [f"  {left}", *(" " * (_LEFT + 2) + line for line in help_lines)]
    return [f"  {left:<{_LEFT}}{help_lines[0]}", *(" " * (_LEFT + 2) + line for line in help_lines[1:])]


def _paragraphs(text: str) -> list[str]:
    """Wrapped, but for lines that are indented: those are kept as they are."""
    from textwrap import wrap

    lines: list[str] = []
    for line in text.strip("\n").split("\n"):
        lines += [line] if line.startswith(" ") or not line else wrap(line, WIDTH)
    return lines
