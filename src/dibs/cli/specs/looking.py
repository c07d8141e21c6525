"""list, show, why, lint, search: looking changes nothing."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from dibs.cli.exits import DONE, FAILED, USAGE, CommandError
from dibs.cli.output import clean, emit, warn
from dibs.cli.specs.choosing import chosen, listing_of, one, opened, view_of
from dibs.cli.specs.showing import list_lines, record, summary, where
from dibs.cli.tables import pairs
from dibs.specs.spec import Broken
from dibs.states import State


def _list(args: Namespace) -> int:
    if args.watch:
        from dibs.cli.specs.watching import watch

        return watch(args)
    view = view_of(args)
    shown = list(chosen(args, view))
    if not args.json:
        print("\n".join(list_lines(args, shown)))
    elif args.summary:
        emit(summary(shown))
    else:
        for spec, state in shown:
            emit({**record(spec), "state": str(state)})
    for broken in view.listing.broken():
        warn(where(broken))
    return DONE


def _show(args: Namespace) -> int:
    from dibs.specs.frontmatter import body

    spec = one(args, listing_of(args))
    if isinstance(spec, Broken):
        raise CommandError(where(spec), "mend the file")
    with open(spec.path, "rb") as file:
        text = body(file.read()).decode(errors="replace")
    if args.json:
        emit({**record(spec), "body": text})
    else:
        print("\n".join(pairs([(name, value) for name, value in record(spec).items() if value not in (0, {}, [])])))
        print()
        print("\n".join(map(clean, text.strip("\n").splitlines())))
    return DONE


def _why(args: Namespace) -> int:
    view = view_of(args)
    spec = one(args, view.listing)
    state, lines = None, []
    if isinstance(spec, Broken):
        lines = [where(spec)]
    else:
        place = view.listing.places[spec.id]
        state = view.state(place)
        if state in (State.BLOCKED, State.SCHEDULED):
            lines = view.graph.why(place, view.now) or [f"its status is {spec.status}"]
        else:
            with opened(args, look=True) as queue:
                lines = queue.why(spec.id).text.split("\n")
    if args.json:
        emit({"id": spec.id, "state": state and str(state), "why": lines})
    else:
        print(f"{clean(spec.id)}: {state or 'cannot be read'}")
        for line in lines:
            print(f"  {clean(line)}")
    return DONE


def _lint(args: Namespace) -> int:
    from dibs.specs.lint import lint

    problems = lint(listing_of(args))
    for problem in problems:
        emit(problem._asdict()) if args.json else print(where(problem))
    if not problems and not args.json:
        print("nothing is wrong")
    return FAILED if problems else DONE


def _search(args: Namespace) -> int:
    words = [word.casefold() for word in args.words]
    if not words:
        raise CommandError("search: there is nothing to search for", "dibs specs search login", USAGE)
    found = 0
    for spec, state in chosen(args, view_of(args)):
        with open(spec.path, encoding="utf-8", errors="replace") as file:
            text = f"{spec.id}\n{file.read()}".casefold()
        if all(word in text for word in words):
            found += 1
            if args.json:
                emit({**record(spec), "state": str(state)})
            else:
                print(f"{clean(spec.id)}  {clean(spec.title)}")
    return DONE if found else FAILED


ACTIONS: dict[str, Callable[[Namespace], int]] = {
    "list": _list,
    "show": _show,
    "why": _why,
    "lint": _lint,
    "search": _search,
}
