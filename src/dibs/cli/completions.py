"""Completion scripts for bash, zsh and fish, made from the arguments of every command."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from dibs.cli import load, parser_of
from dibs.cli.commands import COMMANDS
from dibs.cli.parser import value_name

_QUEUES = "dibs config --names 2>/dev/null"
_FILES = ("FILE",)


def script(shell: str) -> str:
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for command in COMMANDS:
        yield command, parser_of(command, load(command))


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    return [action for action in shown if action.option_strings]


def _takes_queue(parser: argparse.ArgumentParser) -> bool:
    return any(action.dest == "queue" and not action.option_strings for action in parser._actions)


def _choices(parser: argparse.ArgumentParser) -> list[str]:
    """The words that may stand as the first argument, when they are known."""
    first = next((action for action in parser._actions if not action.option_strings), None)
    return [str(choice) for choice in first.choices] if first is not None and first.choices is not None else []


def _bash() -> str:
    cases = []
    values = []
    for command, parser in parsers():
        names = " ".join(name for action in _options(parser) for name in action.option_strings)
        words = " ".join(_choices(parser)) or (f"$({_QUEUES})" if _takes_queue(parser) else "")
        cases.append(f'    {command}) options="{names}"; words="{words}" ;;')
        for action in _options(parser):
            pattern = "|".join(f"{command}:{name}" for name in action.option_strings)
            if action.choices is not None:
                chosen = " ".join(map(str, action.choices))
                values.append(f'    {pattern}) COMPREPLY=($(compgen -W "{chosen}" -- "$word")); return ;;')
            elif value_name(action) in _FILES:
                values.append(f'    {pattern}) COMPREPLY=($(compgen -f -- "$word")); return ;;')
            elif value_name(action):
                values.append(f"    {pattern}) COMPREPLY=(); return ;;")
    return _BASH.format(commands=" ".join(COMMANDS), cases="\n".join(cases), values="\n".join(dict.fromkeys(values)))


def _zsh() -> str:
    described = "\n".join(f"    {_quoted(f'{name}:{summary}')}" for name, (_, summary) in COMMANDS.items())
    cases = []
    for command, parser in parsers():
        lines = [
            f"    {_quoted(_zsh_option(name, action))}" for action in _options(parser) for name in action.option_strings
        ]
        words = _choices(parser)
        lines.append(f"    {_quoted(f'1:word:({chr(32).join(words)})' if words else '1:queue:_dibs_queues')}")
        lines.append("    '*:file:_files'")
        cases.append(f"  {command}) _arguments \\\n" + " \\\n".join(lines) + " ;;")
    return _ZSH.format(commands=described, cases="\n".join(cases), queues=_QUEUES)


def _zsh_option(name: str, action: argparse.Action) -> str:
    text = (action.help or "").replace("[", "(").replace("]", ")").replace(":", " -")
    many = "*" if isinstance(action, argparse._AppendAction) else ""
    value = value_name(action)
    if not value:
        return f"{many}{name}[{text}]"
    if action.choices is not None:
        return f"{many}{name}[{text}]:value:({' '.join(map(str, action.choices))})"
    return f"{many}{name}[{text}]:{value.lower()}:{'_files' if value in _FILES else ''}"


def _fish() -> str:
    lines = ["# dibs completions for fish", "complete -c dibs -f"]
    for name, (_, summary) in COMMANDS.items():
        lines.append(f"complete -c dibs -n __fish_use_subcommand -a {name} -d {_quoted(summary)}")
    for command, parser in parsers():
        seen = f"-n '__fish_seen_subcommand_from {command}'"
        if words := _choices(parser):
            lines.append(f"complete -c dibs {seen} -a {_quoted(' '.join(words))}")
        elif _takes_queue(parser):
            lines.append(f"complete -c dibs {seen} -a '({_QUEUES})'")
        for action in _options(parser):
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in action.option_strings
            )
            value = value_name(action)
            kind = "" if not value else " -r -F" if value in _FILES else " -x"
            chosen = f" -a {_quoted(' '.join(map(str, action.choices)))}" if action.choices is not None else ""
            lines.append(f"complete -c dibs {seen} {names}{kind}{chosen} -d {_quoted(action.help or '')}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_BASH = """\
# dibs completions for bash
_dibs() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}"
  local options="" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands} --help --version" -- "$word"))
    return
  fi
  case "$command:$before" in
{values}
  esac
  case "$command" in
{cases}
  esac
  if [ "${{word:0:1}}" = "-" ]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _dibs dibs
"""

_ZSH = """\
#compdef dibs
# dibs completions for zsh
_dibs_queues() {{
  local -a names
  names=(${{(f)"$({queues})"}})
  _alternative 'queues:queue:compadd -a names' 'files:file:_files'
}}
_dibs() {{
  local -a commands
  commands=(
{commands}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{cases}
  esac
}}
if [ "$funcstack[1]" = "_dibs" ]; then _dibs "$@"; else compdef _dibs dibs; fi
"""
