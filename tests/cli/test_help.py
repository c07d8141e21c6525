"""Help, the overview and the generated reference."""

from pathlib import Path

import pytest

from dibs.cli.commands import COMMANDS, GROUPS
from dibs.cli.reference import reference

from .conftest import Run

DOCUMENT = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(dibs: Run, command: str) -> None:
    result = dibs(command, "--help")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"Usage: dibs {command} ")
    assert "\nExamples:\n" in result.out
    assert f"  dibs {command}" in result.out
    assert "--json" in result.out
    assert max(map(len, result.out.splitlines())) <= 110
    assert dibs("help", command).out == result.out
    assert dibs(command, "-h").out == result.out


def test_the_overview_lists_every_command_in_its_group(dibs: Run) -> None:
    out = dibs("--help").out
    for group, commands in GROUPS.items():
        block = out.partition(f"{group}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in block.splitlines()] == list(commands)
    assert "Examples:" in out
    assert dibs("-h").out == dibs("help").out == out


def test_nothing_at_all_shows_the_overview_on_stderr(dibs: Run) -> None:
    result = dibs()
    assert (result.code, result.out) == (2, "")
    assert result.err == dibs("--help").out


def test_version(dibs: Run) -> None:
    from dibs import __version__

    assert dibs("--version").out == f"dibs {__version__}\n"
    assert dibs("-V").code == 0


def test_the_reference_is_up_to_date() -> None:
    assert DOCUMENT.read_text() == reference(), "run: python -m dibs.cli.reference > docs/cli.md"
