"""graph: what waits for what, drawn."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from dibs.cli.exits import DONE, FAILED
from dibs.cli.output import warn
from dibs.cli.specs.choosing import graph_of, listing_of
from dibs.specs import drawing
from dibs.specs.spec import Spec


def _graph(args: Namespace) -> int:
    listing = listing_of(args)
    graph = graph_of(listing)

    def title(place: int) -> str:
        spec = listing.at(place)
        return spec.title if isinstance(spec, Spec) else ""

    if args.format == "tree":
        roots = [listing.places[listing.find(ref).id] for ref in args.words] or None
        lines = drawing.tree(graph, roots, title)
    else:
        lines = drawing.mermaid(graph, title) if args.format == "mermaid" else drawing.dot(graph, title)
    for line in lines:
        print(line)
    for circle in graph.cycles:
        warn(f"a circle: {graph.drawn(circle)}")
    return FAILED if graph.cycles else DONE


ACTIONS: dict[str, Callable[[Namespace], int]] = {"graph": _graph}
