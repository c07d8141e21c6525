"""A parser for the plain use of a command, in a fraction of the time that argparse takes to load.

Shell scripts call claim and complete once a task, so these start without argparse. `QuickParser` takes the
same `add_argument` calls as far as those commands use them. It never reports anything: for help, for a
mistake and for whatever it does not know, `parse` returns None and argparse has the word.
"""

from __future__ import annotations

from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


class QuickParser:
    description = epilog = usage = ""

    def __init__(self) -> None:
        self._options: dict[str, _Argument] = {}
        self._positionals: list[_Argument] = []
        self._all: list[_Argument] = []

    def add_argument(self, *names: str, **options: Any) -> None:
        argument = _Argument(names, options)
        self._all.append(argument)
        if not names[0].startswith("-"):
            self._positionals.append(argument)
        for name in names:
            self._options[name] = argument

    def parse(self, argv: Sequence[str]) -> SimpleNamespace | None:
        """The same values as argparse, or None when argparse should look at it."""
        values = {argument.dest: argument.default for argument in self._all}
        free: list[str] = []
        given = set()
        words = iter(argv)
        for word in words:
            if not word.startswith("-"):
                free.append(word)
                continue
            name, equals, value = word.partition("=")
            argument = self._options.get(name)
            if argument is None or not name.startswith("--") or (argument.flag and equals):
                return None
            if not argument.flag and not equals:
                value = next(words, "-")
                if value.startswith("-"):
                    return None
            if not argument.put(values, value):
                return None
            given.add(argument.dest)
        for argument, word in zip(self._positionals, free, strict=False):
            if not argument.put(values, word):
                return None
        needed = [argument for argument in self._positionals[len(free) :] if argument.nargs != "?"]
        missing = any(argument.required and argument.dest not in given for argument in self._all)
        if needed or missing or len(free) > len(self._positionals):
            return None
        return SimpleNamespace(**values, help=False)


class _Argument:
    __slots__ = ("action", "choices", "default", "dest", "flag", "nargs", "required", "type")

    def __init__(self, names: Sequence[str], options: dict[str, Any]) -> None:
        self.dest: str = options.get("dest") or names[0].lstrip("-").replace("-", "_")
        self.action: str = options.get("action", "store")
        self.flag = self.action == "store_true"
        self.default: Any = options.get("default", False if self.flag else None)
        self.type: Callable[[str], Any] = options.get("type", str)
        self.choices: Sequence[Any] | None = options.get("choices")
        self.nargs: str | None = options.get("nargs")
        self.required: bool = options.get("required", False)

    def put(self, values: dict[str, Any], text: str) -> bool:
        """Read `text` into `values`; False when it is not acceptable, or this class knows no such argument."""
        if self.flag:
            values[self.dest] = True
            return True
        try:
            value = self.type(text)
        except Exception:
            return False
        if self.choices is not None and value not in self.choices:
            return False
        if self.action == "append":
            values[self.dest] = [*(values[self.dest] or ()), value]
        elif self.action == "store" and self.nargs in (None, "?"):
            values[self.dest] = value
        else:
            return False
        return True
