"""The `dibs` command: nothing but parsing and printing.

What starts most often must start fast: a command loads its own module and nothing of the others, and
leaves without the interpreter's tidying up. See `commands` for the table, `exits` for the codes.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any, NoReturn

# They start processes and threads of their own, and leave by the interpreter's usual way out.
LONG_RUNNING = (["work"], ["demo"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. With `argv` the exit code is returned; as the program, it also leaves the process."""
    words = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    code = _guarded(words)
    if argv is None and words[:1] not in LONG_RUNNING:
        _leave(code)
    return code


def _guarded(words: list[str]) -> int:
    """Run, and turn whatever is raised into a line on stderr and a code."""
    try:
        code = _dispatch(words)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _unread()
    except Exception as error:
        import os

        from dibs.cli.exits import code_of, lines_of

        if os.environ.get("DIBS_DEBUG"):
            raise
        if sys.stderr is not None:
            sys.stderr.write("\n".join(lines_of(error)) + "\n")
            sys.stderr.flush()
        return code_of(error)


def _dispatch(words: list[str]) -> int:
    first = words[0] if words else ""
    if first in ("--version", "-V"):
        from dibs import __version__

        print(f"dibs {__version__}")
        return 0
    if first in ("", "-h", "--help", "help"):
        return _help(words[1:], asked=bool(first))
    from dibs.cli.commands import COMMANDS

    if first not in COMMANDS:
        _unknown(first)
    return _run(first, words[1:])


def _run(command: str, words: list[str]) -> int:
    import gc

    from dibs.cli.commands import QUICK

    gc.disable()  # nothing that loads is garbage; a command that is over at once never needs it back
    module = load(command)
    args: Any = None
    if command in QUICK:
        from dibs.cli.quick import QuickParser

        quick = QuickParser()
        module.configure(quick, command)
        args = quick.parse(words)
    if args is None:
        parser = parser_of(command, module)
        own = words[: words.index("--")] if "--" in words else words
        if "-h" in own or "--help" in own:
            sys.stdout.write(parser.format_help())
            return 0
        args = parser.read(words)
    if command not in QUICK:
        gc.freeze()
        gc.enable()
    code: int = module.run(args, command)
    return code


def load(command: str) -> ModuleType:
    from importlib import import_module

    from dibs.cli.commands import COMMANDS

    return import_module(COMMANDS[command][0])


def parser_of(command: str, module: ModuleType) -> Any:
    from dibs.cli.commands import COMMANDS
    from dibs.cli.parser import Parser

    parser = Parser(command, COMMANDS[command][1])
    module.configure(parser, command)
    return parser


def _help(words: list[str], *, asked: bool) -> int:
    from dibs.cli.commands import COMMANDS

    if words and words[0] in COMMANDS:
        return _run(words[0], ["--help"])
    from dibs.cli.overview import overview

    print(overview(), end="", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


def _unknown(word: str) -> NoReturn:
    from difflib import get_close_matches

    from dibs.cli.commands import COMMANDS
    from dibs.cli.exits import USAGE, CommandError

    close = get_close_matches(word, COMMANDS, n=1)
    what = "option" if word.startswith("-") else "command"
    raise CommandError(f"{word!r} is no {what}", f"dibs {close[0]}" if close else "dibs --help", USAGE)


def _unread() -> int:
    """Nobody reads stdout any more: say nothing, and keep the interpreter from trying again."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 141


def _leave(code: int) -> NoReturn:
    """The process has nothing left to tidy: everything is closed, written and flushed."""
    import os

    os._exit(code)
