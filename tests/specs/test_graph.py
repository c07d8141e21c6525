"""What may run, what keeps the rest, circles at any depth, and drawings that nothing breaks."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.specs.archive import Archive
from dibs.specs.catalog import Catalog
from dibs.specs.cycles import cycles
from dibs.specs.drawing import dot, mermaid, tree
from dibs.specs.graph import Graph, Wait
from dibs.specs.nodes import CODES, Nodes
from dibs.specs.statuses import Status
from dibs.states import State

NOW = 1000.0


def nodes(waits: Mapping[str, Sequence[str]], codes: Mapping[str, str] = {}, **columns: Mapping[str, int]) -> Nodes:
    ids = list(waits)
    return Nodes(
        ids,
        [codes.get(name, "p") for name in ids],
        [columns.get("priorities", {}).get(name, 50) for name in ids],
        [list(refs) for refs in waits.values()],
        [columns.get("not_before", {}).get(name, 0) for name in ids],
    )


def ready(graph: Graph, locked: set[str] = set(), now: float = NOW) -> list[str]:  # noqa: B006
    return [graph.nodes.ids[place] for place in graph.ready(now, locked)]


@pytest.mark.parametrize("status", Status)
def test_only_a_completed_dependency_is_met(status: Status) -> None:
    graph = Graph(nodes({"a": [], "b": ["a"]}, {"a": CODES[status]}))
    assert ("b" in ready(graph)) == (status is Status.COMPLETED)
    assert graph.state(1, NOW) is (State.READY if status is Status.COMPLETED else State.BLOCKED)
    assert graph.waits_for(1) == ([] if status is Status.COMPLETED else [Wait("a", status)])


def test_every_dependency_counts() -> None:
    graph = Graph(nodes({"a": [], "b": [], "c": ["a", "b"]}, {"a": "c"}))
    assert ready(graph) == ["b"]
    assert graph.waits_for(2) == [Wait("b", "pending")]


def test_order_is_by_priority_then_by_id() -> None:
    waits: dict[str, list[str]] = {"d": [], "a": [], "c": [], "b": []}
    assert ready(Graph(nodes(waits, priorities={"c": 100, "b": 100, "a": 0}))) == ["b", "c", "d", "a"]


def test_locked_unapproved_and_later_specs_are_not_ready() -> None:
    graph = Graph(nodes({"a": [], "b": [], "c": [], "d": []}, {"b": "a", "d": "!"}, not_before={"c": 1001}))
    assert ready(graph, {"a"}) == []
    assert ready(graph) == ["a"]
    assert ready(graph, now=1001.0) == ["a", "c"]
    states = [graph.state(place, NOW, {"a"}) for place in range(4)]
    assert states == [State.CLAIMED, State.BLOCKED, State.SCHEDULED, None]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("p", "waits for a, which is pending"),
        ("i", "waits for a, which is in_progress"),
        ("f", "waits for a, which failed; retry it"),
        ("n", "waits for a, which needs attention"),
        ("x", "waits for a, which was cancelled; retry it"),
        ("!", "waits for a, which cannot be read; `dibs specs lint` says why"),
    ],
)
def test_why_names_the_dependency_and_its_standing(code: str, words: str) -> None:
    (line,) = Graph(nodes({"a": [], "b": ["a"]}, {"a": code})).why(1, NOW)
    assert line.startswith(words)


def test_why_says_what_else_keeps_it() -> None:
    waits = {"a": ["gone"], "b": ["c"], "c": ["b"], "free": []}
    graph = Graph(nodes(waits, {"a": "a"}, not_before={"a": 2000}))
    assert graph.why(0, NOW) == [
        "waits for gone, which is neither here nor in the archive; add it, or take it out of depends_on",
        "waits for approval; set `approval: approved`",
        "not before 1970-01-01T00:33:20.000Z",
    ]
    assert graph.why(1, NOW)[1] == "is in a circle: b → c → b; take one of these dependencies out"
    assert graph.why(3, NOW) == []


def spec(folder: Path, name: str, front: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\n{front}\n---\n# {name}\n")


def graph_of(folder: Path) -> Graph:
    return Graph(Catalog(str(folder), cache=None).specs().nodes, Archive(str(folder)))


@pytest.mark.parametrize("place", ["specs/archive", "specs/archived", "archive", "specs/archive/2026-01-24"])
def test_what_was_put_away_is_met_unless_it_was_given_up(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "specs"
    for name, front in {
        "done": "status: completed",
        "open": "status: pending",
        "odd": "status: nonsense",
        "failed": "status: failed",
        "cancelled": "status: cancelled",
    }.items():
        spec(tmp_path / place, name, front)
        spec(folder, f"after-{name}", f"depends_on: {name}.md")
    spec(folder, "after-nothing", "depends_on: nothing")
    graph = graph_of(folder)
    assert ready(graph) == ["after-done", "after-odd", "after-open"]
    waits = {graph.nodes.ids[at]: graph.waits_for(at) for at in range(len(graph.nodes.ids))}
    assert waits["after-failed"] == [Wait("failed", "failed")]
    assert waits["after-cancelled"] == [Wait("cancelled", "cancelled")]
    assert waits["after-nothing"] == [Wait("nothing", "missing")]


def test_a_spec_that_is_here_is_not_looked_for_in_the_archive(tmp_path: Path) -> None:
    spec(tmp_path / "archive", "a", "status: completed")
    spec(tmp_path, "a", "status: pending")
    spec(tmp_path, "b", "depends_on: a")
    assert ready(graph_of(tmp_path)) == ["a"]


def test_a_driver_waits_for_its_members(tmp_path: Path) -> None:
    spec(tmp_path, "d", "type: driver\nmembers: [d.1, d.2]\ndepends_on: x")
    spec(tmp_path, "d.1", "status: completed")
    spec(tmp_path, "d.2", "status: pending")
    spec(tmp_path, "x", "status: completed")
    assert ready(graph_of(tmp_path)) == ["d.2"]
    spec(tmp_path, "d.2", "status: completed")
    assert ready(graph_of(tmp_path)) == ["d"]


def test_a_short_form_in_a_file_is_not_an_id(tmp_path: Path) -> None:
    spec(tmp_path, "2026-11-16-login-4f2a", "status: completed")
    spec(tmp_path, "b", "depends_on: 4f2a")
    assert ready(graph_of(tmp_path)) == []


@pytest.mark.parametrize("ref", ["../secret", "/etc/passwd", "..", "a\tb", "a\nb", "", ".md"])
def test_a_hostile_reference_meets_nothing(tmp_path: Path, ref: str) -> None:
    folder = tmp_path / "specs"
    spec(tmp_path, "secret", "status: completed")
    spec(tmp_path / "archive", "other", "status: completed")
    escaped = ref.replace("\t", "\\t").replace("\n", "\\n")
    spec(folder, "b", f'depends_on: ["{escaped}"]')
    spec(folder, "a", "status: completed")
    spec(folder, "a b", "status: completed")
    assert ready(graph_of(folder)) == []


def test_circles_are_named_each_once() -> None:
    waits = {"a": ["b"], "b": ["c"], "c": ["a", "x"], "x": [], "s": ["s"], "p": ["q"], "q": ["p", "a"]}
    graph = Graph(nodes(waits))
    assert [graph.drawn(circle) for circle in graph.cycles] == ["a → b → c → a", "s → s", "p → q → p"]


def test_a_chain_of_any_length_needs_no_recursion() -> None:
    size = 50_000
    chain = [[place + 1] for place in range(size - 1)] + [[0]]
    assert cycles(chain) == [list(range(size))]
    assert cycles([*chain[:-1], []]) == []


@given(st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=8, max_size=8))
def test_circles_are_real_and_none_is_missed(edges: list[list[int]]) -> None:
    reach = [set(targets) for targets in edges]
    for _ in edges:
        reach = [targets.union(*(reach[target] for target in targets)) for targets in reach]
    in_circles = {place for place in range(8) if place in reach[place]}
    groups = {
        frozenset(other for other in in_circles if other in reach[one] and one in reach[other]) for one in in_circles
    }
    found = cycles(edges)
    for circle in found:
        assert all(after in edges[before] for before, after in zip(circle, [*circle[1:], circle[0]], strict=True))
        assert circle[0] == min(circle)
    assert len(found) == len(groups)
    assert all(sum(set(circle) <= group for group in groups) == 1 for circle in found)


def test_ready_agrees_with_its_definition() -> None:
    rng = random.Random(7)
    names = [f"s{number}" for number in range(300)]
    waits = {name: rng.sample([*names, "gone"], rng.randrange(4)) for name in names}
    codes = {name: rng.choice("pppccf") for name in names}
    wanted = {name for name in names if codes[name] == "p" and all(codes.get(ref) == "c" for ref in waits[name])}
    graph = Graph(nodes(waits, codes))
    assert set(ready(graph)) == wanted
    assert {name for place, name in enumerate(names) if graph.state(place, NOW) is State.READY} == wanted


def test_the_tree() -> None:
    waits = {
        "top": ["mid", "gone", "done"],
        "mid": ["low"],
        "low": [],
        "done": ["low"],
        "c1": ["c2"],
        "c2": ["c1", "low"],
    }
    graph = Graph(nodes(waits, {"done": "c", "mid": "i"}))
    assert list(tree(graph, title=lambda place: "The low one" if graph.nodes.ids[place] == "low" else "")) == [
        "○ top",
        "├─ ● mid",
        "│  └─ ○ low  The low one",
        "├─ ? gone  (missing)",
        "└─ ✓ done",
        "   └─ ○ low  The low one",
        "○ c1",
        "└─ ○ c2",
        "   ├─ ○ c1  (see above)",
        "   └─ ○ low  The low one",
    ]
    assert list(tree(graph, [1])) == ["● mid", "└─ ○ low"]


def test_a_deep_tree_is_cut_and_a_wide_one_drawn_once() -> None:
    chain = {f"s{number}": [f"s{number + 1}"] for number in range(3000)} | {"s3000": []}
    lines = list(tree(Graph(nodes(chain))))
    assert len(lines) == 41
    assert lines[-1].endswith("s40  (… 1 below)")
    ladder = {f"s{number}": [f"s{number + 1}", f"s{number + 1}"] for number in range(30)} | {"s30": []}
    assert len(list(tree(Graph(nodes(ladder))))) < 100


NASTY = ['"]; evil --> x["', "</script><b>", "a\x1b[2J\u202e", 'x\\"\n} digraph {', "#quot;&amp;", "]]]:::x"]


@pytest.mark.parametrize("nasty", NASTY)
def test_nothing_in_a_title_or_reference_breaks_a_drawing(nasty: str) -> None:
    graph = Graph(nodes({"a": [nasty], "b": ["a"]}))
    for line in tree(graph, title=lambda place: nasty):
        assert line.isprintable()
    chart = list(mermaid(graph, title=lambda place: nasty))
    assert chart[0] == "flowchart LR"
    assert [line.strip() for line in chart if "-->" in line] == ["m0 --> n0", "n0 --> n1"]
    for line in chart[1:4]:
        label = line.split('["', 1)[1].rsplit('"]:::', 1)[0]
        assert not set(label) & set("\"'[]{}()<>&\\\n\x1b")
    drawn = list(dot(graph, title=lambda place: nasty))
    assert drawn[0] == "digraph specs {"
    assert drawn[-1] == "}"
    for line in drawn[2:5]:
        assert line.isprintable()
        assert line.replace("\\\\", "").replace('\\"', "").count('"') == 6
