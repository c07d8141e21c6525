"""Dependencies drawn: a tree for the terminal, mermaid and DOT for documents.

Every text of a spec is escaped for where it goes: nothing in an id or a title steers a terminal or a renderer.
"""

from collections.abc import Callable, Iterable, Iterator

from dibs.specs.graph import MISSING, UNREADABLE, Graph
from dibs.specs.statuses import Status

DEEPEST = 40  # levels of a tree; what lies below is counted
MARKS: dict[str, str] = {
    Status.PENDING: "○",
    Status.BLOCKED: "◌",
    Status.IN_PROGRESS: "●",
    Status.PAUSED: "‖",
    Status.COMPLETED: "✓",
    Status.FAILED: "✗",
    Status.NEEDS_ATTENTION: "!",
    Status.CANCELLED: "–",
    MISSING: "?",
    UNREADABLE: "?",
}
Titles = Callable[[int], str]


def tree(graph: Graph, roots: Iterable[int] | None = None, title: Titles = lambda place: "") -> Iterator[str]:
    """Lines: each root with what it waits for below it. Without roots: all that nothing else waits for, and one of
    each circle. What was drawn once is named again, but not drawn again."""
    drawn: set[int] = set()
    for root in tops(graph) if roots is None else roots:
        yield from _branch(graph, root, title, drawn)


def _branch(graph: Graph, root: int, title: Titles, drawn: set[int]) -> Iterator[str]:
    ids = graph.nodes.ids
    stack: list[tuple[str, str, str]] = [(ids[root], "", "")]  # id, what stands before it, and before its children
    while stack:
        ref, before, below = stack.pop()
        place = graph.places.get(ref)
        standing = graph.standing(ref)
        line = f"{before}{MARKS[standing]} {printable(ref)}"
        if place is None:
            yield f"{line}  ({'missing' if standing == MISSING else 'archived'})"
            continue
        text = printable(title(place))
        line += f"  {text}" if text and text != ref else ""
        refs = graph.nodes.waits[place]
        if refs and place in drawn:
            yield f"{line}  (see above)"
            continue
        drawn.add(place)
        deep = len(below) >= 3 * DEEPEST and len(refs) > 0
        yield f"{line}  (… {len(refs)} below)" if deep else line
        if not deep:
            for number, child in enumerate(reversed(refs)):
                last = number == 0
                stack.append((child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))


def tops(graph: Graph) -> list[int]:
    """What nothing else waits for, by id, and after it one of each circle that nothing outside leads to."""
    ids = graph.nodes.ids
    needed = {target for targets in graph.edges for target in targets}
    first = sorted((place for place in range(len(ids)) if place not in needed), key=ids.__getitem__)
    reached = _reached(graph, first)
    for circle in graph.cycles:
        if circle[0] not in reached:
            first.append(circle[0])
            reached |= _reached(graph, [circle[0]])
    return first


def _reached(graph: Graph, starts: Iterable[int]) -> set[int]:
    seen = set(starts)
    stack = list(seen)
    while stack:
        for target in graph.edges[stack.pop()]:
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return seen


def mermaid(graph: Graph, title: Titles = lambda place: "") -> Iterator[str]:
    """Lines of a flow chart; an arrow leads from what is needed to what waits for it."""
    yield "flowchart LR"
    for node, standing, text in _nodes(graph, title):
        yield f'    {node}["{MARKS[standing]} {_entities(text)}"]:::{standing}'
    for source, target in _arrows(graph):
        yield f"    {source} --> {target}"
    for standing, colour in _COLOURS.items():
        yield f"    classDef {standing} fill:{colour},color:#000"


def dot(graph: Graph, title: Titles = lambda place: "") -> Iterator[str]:
    """Lines of a Graphviz digraph."""
    yield "digraph specs {"
    yield "    rankdir=LR; node [shape=box, style=filled];"
    for node, standing, text in _nodes(graph, title):
        yield f'    {node} [label="{_quoted(text)}", fillcolor="{_COLOURS[standing]}", tooltip="{standing}"];'
    for source, target in _arrows(graph):
        yield f"    {source} -> {target};"
    yield "}"


def _nodes(graph: Graph, title: Titles) -> Iterator[tuple[str, str, str]]:
    for place, id in enumerate(graph.nodes.ids):  # noqa: A001
        text = title(place)
        yield f"n{place}", graph.standing(id), f"{id}: {text}" if text and text != id else id
    for ref, node in _strangers(graph).items():
        yield node, graph.standing(ref), ref


def _arrows(graph: Graph) -> Iterator[tuple[str, str]]:
    strangers = _strangers(graph)
    for place, refs in enumerate(graph.nodes.waits):
        for ref in refs:
            source = graph.places.get(ref)
            yield strangers[ref] if source is None else f"n{source}", f"n{place}"


def _strangers(graph: Graph) -> dict[str, str]:
    """References to what is not among the specs, with a name for each in the drawing."""
    found = dict.fromkeys(ref for refs in graph.nodes.waits for ref in refs if ref not in graph.places)
    return {ref: f"m{number}" for number, ref in enumerate(found)}


_COLOURS: dict[str, str] = {
    Status.PENDING: "#ffffff",
    Status.BLOCKED: "#dddddd",
    Status.IN_PROGRESS: "#fff2b3",
    Status.PAUSED: "#e6e0f8",
    Status.COMPLETED: "#c8efc8",
    Status.FAILED: "#f6c6c6",
    Status.NEEDS_ATTENTION: "#f9d9b0",
    Status.CANCELLED: "#bbbbbb",
    MISSING: "#f0f0f0",
    UNREADABLE: "#f0f0f0",
}


def printable(text: str) -> str:
    """`text` with every character that does not print escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _entities(text: str) -> str:
    """For mermaid: what is not a letter, a digit or harmless becomes its code."""
    return "".join(char if char.isalnum() or char in " -_.,:" else f"#{ord(char)};" for char in printable(text))


def _quoted(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')
