"""The quick parser says the same as argparse, or leaves it to argparse."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.cli import load, parser_of
from dibs.cli.commands import QUICK
from dibs.cli.exits import CommandError
from dibs.cli.quick import QuickParser

WORDS = [
    "q", "id", "3", "0", "-1", "-", "--", "", "5m", "forever", "soon", "high", "x y", "é", "-x", "--nosuch",
    "--epoch", "--epoch=2", "--epoch=", "--ttl", "--ttl=5m", "--limit", "--wait", "--json", "--json=1", "--label",
    "--label=a", "--result", "--result={}", "--delay=1h", "--error", "--no-retry", "--pid", "--max-priority=low",
    "--ep", "-h", "--help",
]  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(sorted(QUICK)), st.lists(st.sampled_from(WORDS), max_size=6))
def test_quick_agrees_with_argparse(command: str, words: list[str]) -> None:
    module = load(command)
    quick = QuickParser()
    module.configure(quick, command)  # type: ignore[attr-defined]
    found = quick.parse(words)
    if found is None:
        return
    try:
        parsed = parser_of(command, module).read(words)
    except CommandError as error:
        raise AssertionError(f"argparse refuses {words}: {error}") from None
    assert vars(found) == vars(parsed)


def test_quick_leaves_mistakes_to_argparse() -> None:
    for command, line in {
        "claim": "--json=1 / -h / --help / --lim 3 / --limit / --limit 0 / --ttl -5 / q extra / --nosuch / -- q",
        "complete": "q / q id / q id --epoch / q id --epoch 0 / id --epoch 1 / q id x --epoch 1",
    }.items():
        for words in line.split(" / "):
            quick = QuickParser()
            load(command).configure(quick, command)
            assert quick.parse(words.split()) is None, words


def test_quick_takes_the_usual_words() -> None:
    def parsed(command: str, *words: str) -> object:
        quick = QuickParser()
        load(command).configure(quick, command)  # type: ignore[attr-defined]
        return quick.parse(words)

    assert parsed(
        "claim",
        "q",
        "--ttl",
        "5m",
        "--limit=3",
        "--label",
        "a",
        "--label",
        "b",
        "--pid",
        str(os.getpid()),
        "--wait",
        "forever",
    )
    assert parsed("claim")
    assert parsed("complete", "q", "id", "--epoch", "1", "--result", "{}", "--json")
    assert parsed("fail", "q", "id", "--epoch", "1", "--error", "it broke", "--no-retry")
    assert parsed("complete", "q", "id") is None
    assert parsed("claim", "--help") is None
