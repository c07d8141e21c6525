"""specs: the markdown specs of a repository, read as a queue: what is ready, what waits for what, what is wrong.

An action is a function of one of the modules here, found by its name in that module's ACTIONS and imported only when
it is asked for.
"""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module
from typing import TYPE_CHECKING

from dibs.cli.arguments import add_json, count, duration, priority_value, process
from dibs.specs.statuses import Status

if TYPE_CHECKING:
    from dibs.cli.parser import Parser

DEFAULT = ".dibs/specs"

MODULES = {
    "init": "adding",
    "add": "adding",
    "list": "looking",
    "show": "looking",
    "why": "looking",
    "lint": "looking",
    "graph": "drawing",
    "search": "looking",
    "work": "working",
    "claim": "claiming",
    "renew": "claiming",
    "complete": "claiming",
    "fail": "claiming",
    "release": "claiming",
    "retry": "claiming",
    "cancel": "claiming",
    "claimed": "claiming",
    "merge-driver": "merging",
}
"""Every action, and the module that has it."""


def configure(parser: Parser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    parser.rest = "command_line"
    add = parser.add_argument
    add("action", metavar="ACTION", choices=list(MODULES), help=f"one of {', '.join(MODULES)}")
    words = "an id or a unique part of one; a title to add; words to search for"
    add("words", metavar="WORD", nargs="*", default=[], help=words)
    add("--folder", metavar="PATH", help=f"the specs: {DEFAULT}, here or in a folder above, if nothing else is said")
    add("--ready", action="store_true", help="list: only what can be worked on now")
    add("--blocked", action="store_true", help="list: only what waits for something")
    add("--status", metavar="STATUS", choices=list(Status), help="list: only what its file says to be this")
    add("--type", metavar="NAME", help="list: only this type; add: of this type")
    add("--project", metavar="NAME", help="list: only this project; add: of this project")
    add("--label", metavar="LABEL", action="append", help="list: only with this label; add: with it; may be repeated")
    add("--summary", action="store_true", help="list: only how many there are in each state")
    add("--watch", action="store_true", help="list: again whenever something changes, until Ctrl-C")
    add("--priority", metavar="N", type=priority_value, help="add: a number, or low, normal, high, critical")
    add("--depends-on", metavar="ID", action="append", help="add: what has to be completed first; may be repeated")
    add("--body", metavar="TEXT", help="add: what stands below the title; - reads it from standard input")
    add("--format", choices=["tree", "mermaid", "dot"], default="tree", help="graph: how it is drawn")
    add("--git", choices=["push", "refs"], help="claim through the git remote: by commits, or by refs of their own")
    add("--ttl", metavar="DURATION", type=duration, help="claim: hold it for so long (4h); work: see dibs work")
    add("--pid", metavar="PID", type=process, help="claim: ends with this process, if that comes before its TTL")
    add("--epoch", metavar="N", type=count, help="renew, complete, fail, release: the epoch that claim printed")
    add("--result", metavar="JSON", help="complete: kept with the completion; - reads it from standard input")
    add("--force", action="store_true", help="release: take it away from whoever has it")
    add("--error", metavar="TEXT", help="fail: what went wrong")
    add("--no-retry", action="store_true", help="fail: for good, whatever attempts are left")
    add("-j", "--jobs", metavar="N", type=count, default=1, help="work: up to N specs at once")
    add("--timeout", metavar="DURATION", type=duration, help="work: kill and fail what takes longer")
    add("--until-empty", action="store_true", help="work: leave when nothing is ready")
    add("--show-output", action="store_true", help="work: pass what commands print to stderr")
    add_json(parser, "JSON on stdout: a line for each spec or problem; one object for show, why, add and --summary")


def run(args: Namespace, command: str) -> int:
    if args.action != "work":
        args.words = [*args.words, *args.command_line]
    code: int = import_module(f"{__name__}.{MODULES[args.action]}").ACTIONS[args.action](args)
    return code


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
  dibs specs claim fix-the-login          # no id: the first that is ready
  dibs specs complete fix-the-login
  dibs specs work fix-the-login -- ./agent {}
  dibs specs work -j 2 -- ./agent --spec {} --title {payload.title}
"""
