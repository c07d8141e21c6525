"""specs: the markdown specs of a repository, read as a queue: what is ready, what waits for what, what is wrong."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from dibs.cli.arguments import add_json, priority_value
from dibs.cli.exits import DONE, FAILED, USAGE, CommandError
from dibs.cli.output import clean, emit, warn
from dibs.cli.tables import pairs, table, without_empty
from dibs.clock import SYSTEM
from dibs.specs.catalog import Catalog
from dibs.specs.spec import Broken, Spec
from dibs.states import State
from dibs.values import asdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.specs.graph import Graph
    from dibs.specs.listing import Listing

DEFAULT = ".dibs/specs"


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    add = parser.add_argument
    add("action", metavar="ACTION", choices=list(ACTIONS), help=f"one of {', '.join(ACTIONS)}")
    add("words", metavar="WORD", nargs="*", help="an id or a unique part of one; a title to add; words to search for")
    add("--folder", metavar="PATH", help=f"the specs: {DEFAULT}, here or in a folder above, if nothing else is said")
    add("--ready", action="store_true", help="list: only what can be worked on now")
    add("--blocked", action="store_true", help="list: only what waits for something")
    add("--status", metavar="STATUS", help="list: only this status")
    add("--type", metavar="NAME", help="list: only this type; add: of this type")
    add("--project", metavar="NAME", help="list: only this project; add: of this project")
    add("--label", metavar="LABEL", action="append", help="list: only with this label; add: with it; may be repeated")
    add("--summary", action="store_true", help="list: only how many there are in each state")
    add("--priority", metavar="N", type=priority_value, help="add: a number, or low, normal, high, critical")
    add("--depends-on", metavar="ID", action="append", help="add: what has to be completed first; may be repeated")
    add("--body", metavar="TEXT", help="add: what stands below the title; - reads it from standard input")
    add("--format", choices=["tree", "mermaid", "dot"], default="tree", help="graph: how it is drawn")
    add_json(parser, "JSON on stdout: a line for each spec or problem; one object for show, why, add and --summary")


def run(args: Namespace, command: str) -> int:
    return ACTIONS[args.action](args)


# Actions


def _init(args: Namespace) -> int:
    folder = args.folder or DEFAULT
    os.makedirs(folder, exist_ok=True)
    above = os.path.dirname(os.path.abspath(folder))
    ignore = os.path.join(above, ".gitignore")
    if os.path.basename(above) == ".dibs" and not os.path.exists(ignore):
        with open(ignore, "x", encoding="utf-8") as file:
            file.write("# What belongs to this machine alone.\n*\n!.gitignore\n!specs/\n!specs/**\n")
    if args.json:
        emit({"folder": folder})
    else:
        print(f'specs are the .md files of {clean(folder)}; `dibs specs add "Title"` makes one')
    return DONE


def _add(args: Namespace) -> int:
    from dibs.queues.directory.placing import place
    from dibs.specs.frontmatter import edit
    from dibs.specs.ids import new_id

    title = " ".join(" ".join(args.words).split())
    if not title:
        raise CommandError("add: there is no title", 'dibs specs add "Fix the login"', USAGE)
    listing = _listing(args, make=True)
    wanted = [listing.find(ref).id for ref in args.depends_on or ()]
    body = sys.stdin.read() if args.body == "-" else args.body or ""
    fields: dict[str, Any] = {"status": "pending", "priority": args.priority, "project": args.project}
    fields |= {"type": args.type, "labels": args.label, "depends_on": wanted or None}
    page = f"---\n---\n# {title}\n" + (f"\n{body.strip()}\n" if body.strip() else "")
    data = edit(page.encode(), {name: value for name, value in fields.items() if value is not None})
    while True:
        name = new_id(title, SYSTEM.wall())
        path = os.path.join(listing.folder, f"{name}.md")
        if place(path, data):
            break
    if args.json:
        emit({"id": name, "path": path})
    else:
        print(clean(path))
    return DONE


def _list(args: Namespace) -> int:
    listing = _listing(args)
    shown = [(spec, state) for spec, state in _standing(listing) if _wanted(args, spec, state)]
    if args.summary:
        counts = {str(state): sum(one is state for _, one in shown) for state in State}
        found = {state: count for state, count in counts.items() if count}
        emit(found) if args.json else print("\n".join(pairs(list(found.items()))) or "no specs")
    elif args.json:
        for spec, state in shown:
            emit({**_record(spec), "state": str(state)})
    else:
        headers = ["ID", "STATE", "PRIORITY", "PROJECT", "LABELS", "BY", "TITLE"]
        rows = [[s.id, _word(s, state), s.priority, s.project, s.labels, s.started_by, s.title] for s, state in shown]
        print("\n".join(table(*without_empty(headers, rows))) if rows else "no specs")
    for broken in listing.broken():
        warn(_where(broken.path, broken.line, broken.reason))
    return DONE


def _show(args: Namespace) -> int:
    from dibs.specs.frontmatter import body

    spec = _one(args, _listing(args))
    if isinstance(spec, Broken):
        raise CommandError(_where(spec.path, spec.line, spec.reason), "mend the file")
    with open(spec.path, "rb") as file:
        text = body(file.read()).decode(errors="replace")
    if args.json:
        emit({**_record(spec), "body": text})
    else:
        print("\n".join(pairs([(name, value) for name, value in _record(spec).items() if value not in (0, {}, [])])))
        print()
        print("\n".join(map(clean, text.strip("\n").splitlines())))
    return DONE


def _why(args: Namespace) -> int:
    listing = _listing(args)
    spec = _one(args, listing)
    if isinstance(spec, Broken):
        state, lines = None, [_where(spec.path, spec.line, spec.reason)]
    else:
        graph, now = _graph(listing), SYSTEM.wall()
        place = listing.places[spec.id]
        state = graph.state(place, now)
        pending = state in (State.BLOCKED, State.SCHEDULED)
        lines = graph.why(place, now) if pending else []
        if pending and not lines:
            lines = [f"its status is {spec.status}"]
    if args.json:
        emit({"id": spec.id, "state": state and str(state), "why": lines})
    else:
        print(f"{clean(spec.id)}: {state or 'cannot be read'}")
        for line in lines:
            print(f"  {clean(line)}")
    return DONE


def _lint(args: Namespace) -> int:
    from dibs.specs.lint import lint

    problems = lint(_listing(args))
    for problem in problems:
        emit(problem._asdict()) if args.json else print(_where(problem.path, problem.line, problem.reason))
    if not problems and not args.json:
        print("nothing is wrong")
    return FAILED if problems else DONE


def _draw(args: Namespace) -> int:
    from dibs.specs import drawing

    listing = _listing(args)
    graph = _graph(listing)

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


def _search(args: Namespace) -> int:
    words = [word.casefold() for word in args.words]
    if not words:
        raise CommandError("search: there is nothing to search for", "dibs specs search login", USAGE)
    found = 0
    for spec, state in _standing(_listing(args)):
        if not _wanted(args, spec, state):
            continue
        with open(spec.path, encoding="utf-8", errors="replace") as file:
            text = f"{spec.id}\n{file.read()}".casefold()
        if all(word in text for word in words):
            found += 1
            emit({**_record(spec), "state": str(state)}) if args.json else print(
                f"{clean(spec.id)}  {clean(spec.title)}"
            )
    return DONE if found else FAILED


ACTIONS: dict[str, Callable[[Namespace], int]] = {
    "init": _init,
    "add": _add,
    "list": _list,
    "show": _show,
    "why": _why,
    "lint": _lint,
    "graph": _draw,
    "search": _search,
}

# Shared


def _listing(args: Namespace, *, make: bool = False) -> Listing:
    folder = args.folder or _nearest()
    if make and not os.path.isdir(folder):
        raise CommandError(f"there is no folder {folder}", "dibs specs init", FAILED)
    return Catalog(folder).specs()


def _nearest() -> str:
    """The default folder, here or in a folder above."""
    above = os.getcwd()
    while not os.path.isdir(os.path.join(above, DEFAULT)):
        parent = os.path.dirname(above)
        if parent == above:
            return DEFAULT
        above = parent
    return os.path.relpath(os.path.join(above, DEFAULT))


def _graph(listing: Listing) -> Graph:
    from dibs.specs.archive import Archive
    from dibs.specs.graph import Graph

    return Graph(listing.nodes, Archive(listing.folder))


def _standing(listing: Listing) -> Iterator[tuple[Spec, State]]:
    """What is ready first, in the order in which it would be worked on; the rest by id."""
    graph, now = _graph(listing), SYSTEM.wall()
    ready = graph.ready(now)
    rest = sorted(set(range(len(listing))).difference(ready), key=listing.ids.__getitem__)
    for place in [*ready, *rest]:
        spec, state = listing.at(place), graph.state(place, now)
        if isinstance(spec, Spec) and state is not None:
            yield spec, state


def _wanted(args: Namespace, spec: Spec, state: State) -> bool:
    states = {state for state, asked in ((State.READY, args.ready), (State.BLOCKED, args.blocked)) if asked}
    return (
        (not states or state in states)
        and (args.status is None or spec.status == args.status)
        and (args.type is None or spec.type == args.type)
        and (args.project is None or spec.project == args.project)
        and set(args.label or ()) <= set(spec.labels)
    )


def _one(args: Namespace, listing: Listing) -> Spec | Broken:
    if len(args.words) != 1:
        raise CommandError(f"{args.action}: give one id, or a unique part of one", "dibs specs list", USAGE)
    return listing.find(args.words[0])


def _record(spec: Spec) -> dict[str, Any]:
    record = asdict(spec)
    return {**record, "status": str(spec.status), "more": dict(spec.more)}


def _word(spec: Spec, state: State) -> str:
    """The state, and what the file says where that is more."""
    plain = str(spec.status) in ("pending", "in_progress", str(state))
    return str(state) if plain else f"{state} ({spec.status})"


def _where(path: str, line: int | None, reason: str) -> str:
    return clean(f"{path}:{line}: {reason}" if line else f"{path}: {reason}")


_DESCRIPTION = """\
Work items that are markdown files of a repository: YAML frontmatter (status, priority, depends_on, labels, project, \
type, approval, not_before …) and a text. The files are the queue: ready is what is pending, approved and due, with \
its dependencies completed. Nothing is stored beside them but a cache.
A file that cannot be read is named with its line and the reason, blocks nobody but what depends on it, and is never \
written to.
"""

_EXAMPLES = """
Examples:
  dibs specs init
  dibs specs add "Fix the login" --label backend --priority high
  dibs specs list --ready --label backend
  dibs specs why fix-the-login
  dibs specs graph --format mermaid
  dibs specs lint --json
"""
