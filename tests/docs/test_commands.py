"""Commands, options and make targets that the documentation shows exist."""

import re
from functools import cache

import pytest
from tests.docs.pages import ROOT, Page, pages

from dibs.cli import load, parser_of
from dibs.cli.commands import GROUPS

COMMANDS = {command for commands in GROUPS.values() for command in commands}
_CALL = re.compile(r"(?<![\w./-])dibs ((?:[^\n|;&#`]|\|\|)*)")
_MAKE = re.compile(r"(?:^|[\s`])make ([a-z][a-z-]*)")


@cache
def options_of(command: str) -> set[str]:
    return set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", parser_of(command, load(command)).format_help()))


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_commands_and_their_options_exist(page: Page) -> None:
    for call in _CALL.findall(page.code):
        command, *words = call.split(" -- ")[0].split()
        if command.startswith("-") or command in ("COMMAND", "X") or not command[0].isalpha():
            continue
        if re.fullmatch(r"\d+\.\d+\.\d+\S*", command):
            continue
        assert command in COMMANDS, f"{page.name} shows `dibs {call.strip()}`: there is no command {command}"
        for word in words:
            option = word.partition("=")[0]
            if re.fullmatch(r"--?[a-z][a-z-]*", option):
                assert option in options_of(command), f"{page.name} shows `dibs {call.strip()}`: no option {option}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_make_targets_exist(page: Page) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for target in _MAKE.findall(page.code):
        assert target in targets, f"{page.name} shows `make {target}`, which the Makefile does not have"


def test_the_readme_shows_the_two_commands() -> None:
    readme = Page(ROOT / "README.md", (ROOT / "README.md").read_text())
    assert {"demo", "test"} <= set(_MAKE.findall(readme.code))
