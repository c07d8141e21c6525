"""The documentation, taken apart: pages, their code blocks, headings and links."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HIDDEN = re.compile(r"^<!-- run: (.*) -->$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, or a `run` comment (language "hidden"): a command that readers need not see."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Page:
    path: Path
    text: str

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def blocks(self) -> list[Block]:
        found = [Block(m[1], m[2], self._line(m)) for m in _FENCE.finditer(self.text)]
        found += [Block("hidden", m[1], self._line(m)) for m in _HIDDEN.finditer(self.text)]
        return sorted(found, key=lambda block: block.line)

    @property
    def prose(self) -> str:
        return _FENCE.sub("", self.text)

    @property
    def links(self) -> list[str]:
        return _LINK.findall(re.sub(r"`[^`\n]*`", "", self.prose))

    @property
    def anchors(self) -> set[str]:
        return {_anchor(title) for title in _HEADING.findall(self.prose)}

    @property
    def code(self) -> str:
        """Everything that is shown as code, a piece a line."""
        inline = re.findall(r"`([^`\n]+)`", self.prose)
        return "\n".join([*inline, *(block.text for block in self.blocks if block.language != "python")])

    def _line(self, match: re.Match[str]) -> int:
        return self.text.count("\n", 0, match.start()) + 1


def pages() -> list[Page]:
    paths = (*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")))
    return [Page(path, path.read_text(encoding="utf-8")) for path in paths]


def _anchor(title: str) -> str:
    """As code forges make it."""
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return kept.replace(" ", "-")
