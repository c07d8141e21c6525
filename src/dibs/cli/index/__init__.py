"""index: the latest record of every key, in a folder or a bucket, that any number of machines write and compact.

An action is a function of one of the modules here, found by its name in that module's ACTIONS and imported only when
it is asked for.
"""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module
from typing import TYPE_CHECKING

from dibs.cli.arguments import add_json, count, duration, whole

if TYPE_CHECKING:
    from dibs.cli.parser import Parser

MODULES = {
    "create": "writing",
    "put": "writing",
    "delete": "writing",
    "import": "bringing",
    "reshard": "bringing",
    "get": "reading",
    "scan": "reading",
    "sql": "reading",
    "compact": "compacting",
    "stats": "looking",
    "verify": "looking",
    "repair": "looking",
    "schema": "looking",
}
"""Every action, and the module that has it."""

FORMATS = ("jsonl", "csv", "usv", "parquet", "arrow")


def configure(parser: Parser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    add = parser.add_argument
    add("action", metavar="ACTION", choices=list(MODULES), help=f"one of {', '.join(MODULES)}")
    add("url", metavar="URL", help="the index: a folder, or s3://bucket/indexes/NAME, gs://…, az://…")
    words = "get, delete: keys; import: a folder or bucket of files, or one; reshard: the new index; sql: the query"
    add("words", metavar="WORD", nargs="*", default=[], help=words)
    add("--key", metavar="KEY", help="put: the key of the record; get, delete: the same as a word")
    add("--field", metavar="NAME=VALUE", action="append", help="put: a field of it; may be repeated")
    add("--jsonl", metavar="FILE", help="put: an object a line is a record; - reads standard input")
    add("--updated-at", metavar="TIME", help="put, delete, import: the record's time; now, if nothing is said")
    add("--sparse", action="store_true", help="put: fields that are left out are missing, also those that had a value")
    add(
        "--fields",
        metavar="NAMES",
        help="create: names of the fields, with commas between; import: of files without a header",
    )
    add("--key-field", metavar="NAME", help="create, put, import: what the key is called (key)")
    add("--time-field", metavar="NAME", help="create, put, import: what the time is called (updated_at)")
    add("--shards", metavar="N", type=whole, help="create, put, reshard: 16, 256 (the default), 4096 or 65536")
    add(
        "--merge",
        choices=["record", "fields"],
        help="create, put: the latest record stays, or of each field the latest",
    )
    add("--keys", choices=["text", "domain"], help="create, put: how keys are normalised")
    add("--stamps", choices=["writer", "store"], help="create, put: whose clock gives the time to a record without one")
    add("--prefix", metavar="TEXT", help="scan: only keys that begin so")
    where = "scan: only records with FIELD=VALUE (!= < <= > >=, ~ contains); may be repeated. Numbers are compared as "
    where += "numbers, other values as text; a missing one never fits"
    add("--where", metavar="CONDITION", action="append", help=where)
    add("--columns", metavar="NAMES", help="scan: only these fields, with commas between")
    add("--format", choices=FORMATS, default="jsonl", help="scan: how they are written (jsonl)")
    add("--output", metavar="FILE", help="scan: write to this file, which is replaced when all is there")
    add("--once", action="store_true", help="compact: one random shard, or all when little waits; the default")
    add("--all", action="store_true", help="compact: until nothing waits")
    jobs = "compact --all: in up to N processes (one for each processor, at most 8; on a bucket 1)"
    add("-j", "--jobs", metavar="N", type=count, help=jobs)
    add("--watch", action="store_true", help="compact: go on until Ctrl-C or SIGTERM")
    add("--shard", metavar="HEX", help="compact: this shard alone; waits while others compact it")
    add("--waiting", action="store_true", help="compact: only print which shards have something waiting, a line each")
    add("--idle", metavar="DURATION", type=duration, default=30.0, help="compact --watch: the longest pause (30s)")
    add("--add", metavar="NAME", action="append", help="schema: add this field at the end; may be repeated")
    add("--delete-files", action="store_true", help="import: delete each file once it is in the index")
    add_json(parser, "JSON on stdout: an object a line for scan, compact, verify and repair; one object else")


def run(args: Namespace, command: str) -> int:
    code: int = import_module(f"{__name__}.{MODULES[args.action]}").ACTIONS[args.action](args)
    return code


_DESCRIPTION = """\
Records (one per domain, or any key) arrive as small files in an inbox and end up, latest wins, in shards that are \
cheap to read. Any number of machines write, compact and read at once, in a folder or a bucket, with no server; one \
that dies loses nothing. Reads see inbox and shards together at every moment.
Values are text. A record has a time, updated_at: the later one of a key wins, whatever order they arrive in.
"""

_EXAMPLES = """
Examples:
  dibs index put indexes/domains --key example.com --field title=Example --field status=200
  dibs index put s3://bucket/indexes/domains --jsonl found.jsonl --key-field domain
  dibs index get indexes/domains example.com
  dibs index scan indexes/domains --where status=200 --columns key,title --format csv
  dibs index sql indexes/domains "select status, count(*) from records group by status"
  dibs index compact indexes/domains --watch
  dibs index compact indexes/domains --waiting | dibs push compactions --text --jsonl -
  dibs index schema indexes/domains --add language
  dibs index verify indexes/domains
"""
