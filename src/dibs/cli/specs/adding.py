"""init, add: a folder of specs, and a new one in it."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable

from dibs.cli.exits import DONE, USAGE, CommandError
from dibs.cli.output import clean, emit, warn
from dibs.cli.specs import DEFAULT


def _init(args: Namespace) -> int:
    from dibs.specs.driver import ignored, install

    folder = args.folder or DEFAULT
    os.makedirs(folder, exist_ok=True)
    above = os.path.dirname(os.path.abspath(folder))
    ignore = os.path.join(above, ".gitignore")
    if os.path.basename(above) == ".dibs" and not os.path.exists(ignore):
        with open(ignore, "x", encoding="utf-8") as file:
            file.write("# What belongs to this machine alone.\n*\n!.gitignore\n!specs/\n!specs/**\n")
    merged = install(folder)
    if args.json:
        emit({"folder": folder, "merge_driver": merged})
    else:
        print(f'specs are the .md files of {clean(folder)}; `dibs specs add "Title"` makes one')
        print(_MERGED if merged else _NOT_MERGED)
    if merged and ignored(folder):
        warn(f"git ignores what is in {folder}; take it out of .gitignore, or the specs are seen by nobody else")
    return DONE


_MERGED = "git merges them field by field; every other clone needs `dibs specs init` once for that"
_NOT_MERGED = "there is no git repository here; `dibs specs init` in one also sets up how git merges specs"


def _add(args: Namespace) -> int:
    from dibs.cli.specs.choosing import opened

    title = " ".join(" ".join(args.words).split())
    if not title:
        raise CommandError("add: there is no title", 'dibs specs add "Fix the login"', USAGE)
    text = sys.stdin.read() if args.body == "-" else args.body or ""
    payload = {"title": title, "body": text, "type": args.type}
    with opened(args) as queue:
        task = queue.push(
            {name: value for name, value in payload.items() if value is not None},
            priority=50 if args.priority is None else args.priority,
            project=args.project,
            labels=args.label or (),
            after=[queue.resolve(ref) for ref in args.depends_on or ()],
        )
        path = os.path.relpath(queue.path(task.id))
    if args.json:
        emit({"id": task.id, "path": path})
    else:
        print(clean(path))
    return DONE


ACTIONS: dict[str, Callable[[Namespace], int]] = {"init": _init, "add": _add}
