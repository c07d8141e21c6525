"""docs/cli.md, made from the commands themselves: `python -m dibs.cli.reference > docs/cli.md`."""

from __future__ import annotations

import sys

from dibs.cli import load, parser_of
from dibs.cli.commands import GROUPS
from dibs.cli.overview import overview


def reference() -> str:
    parts = [_INTRODUCTION, "```text", overview().rstrip(), "```", ""]
    for group, commands in GROUPS.items():
        parts += [f"## {group}", ""]
        for command in commands:
            text = parser_of(command, load(command)).format_help().rstrip()
            parts += [f"### dibs {command}", "", "```text", text, "```", ""]
    return "\n".join([*parts, _json()])


_INTRODUCTION = """\
# Command line

<!-- made by `python -m dibs.cli.reference`; change the commands, not this file -->

Data goes to standard output, talk to standard error. Every command has `--help` with examples, and `--json`.

QUEUE is the first argument of every command that works on a queue: a name from `dibs.toml`, a URL, or a path
(`queues/scrape` is `file:queues/scrape`). `.` stands for the default queue (`DIBS_QUEUE`, `queue` in `dibs.toml`, or
`file:.dibs/queues/default`); so does no QUEUE at all, where a command takes nothing else: claim, list, stats, claimed,
watch, pause, resume, purge. A name in `dibs.toml` wins over a folder of that name: `./scrape` is the folder. Only push
and work create a queue, serve too and says so, mcp when a task is added, move and copy the one that they name second,
and sync both.

A DURATION is a number of seconds, or `30s`, `5m`, `2h`, `7d`. A TIME is ISO 8601; without a zone it is local time.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | refused or failed |
| 2 | bad usage: an argument, payload, URL or setting is not acceptable; nothing was changed |
| 3 | nothing to claim |
| 4 | the lease is lost; nothing was changed |
| 130 | ended by Ctrl-C |
| 141 | nobody reads the output any more |

An error is one line, `dibs: …`, on standard error, and a line `Try: …` where there is a remedy. Passwords and keys in
URLs are never printed, and control characters in payloads, keys and labels are shown escaped.

Settings come from flags, then the environment, then `dibs.toml` (looked for in the working directory and upwards), then
defaults; `dibs config` shows each and where it came from.
"""

_JSON = """\
## JSON

`--json` is stable: fields may be added, none is renamed or taken away. Times that are text are ISO 8601 in UTC; times
that are numbers are seconds since 1970; durations are seconds. list, claim, claimed, cancel, retry, watch,
`sync --watch`, and `specs list`, `search` and `lint` print one object a line; every other command prints one object.

| command | fields |
| --- | --- |
"""

TASK = (
    "id payload key unique priority project labels after not_before max_attempts max_deaths max_runtime backoff "
    "max_backoff pushed_at state epoch attempts deaths"
)
STATS = "states priorities projects labels workers paused total"
SPEC = (
    "id path title status priority depends_on members labels project type approval started_by started_at completed_at "
    "attempts max_attempts max_deaths max_runtime backoff max_backoff epoch error not_before more"
)
FIELDS = {
    "push": f"{TASK} duplicate",
    "push --jsonl": "pushed duplicates",
    "claim": "id epoch key payload priority project labels attempts deaths worker ttl expires_at",
    "renew": "id epoch outcome expires_at",
    "complete, release, fail": "id epoch outcome",
    "list, cancel, retry, priority": TASK,
    "show": "task due claim history result error ended_at waits_for paused",
    "why": "id state text ready_at",
    "stats": STATS,
    "claimed": "id key epoch worker host pid claimed_at heartbeat_at expires_at ttl via",
    "watch": f"at rate {STATS}",
    "pause, resume": "paused",
    "purge": "purged states",
    "migrate": "before version",
    "move, copy": "source target copy dry_run sent there along confirmed returned held_back refusals refused left "
    "on_the_way elsewhere total verified",
    "sync": "local remote sent done_here brought completed failed cancelled renewed withdrawn given_back vanished "
    "reserved conflicts refusals",
    "mcp": "queues any_queue tools",
    "specs list, search": f"{SPEC} state",
    "specs list --watch": "id from to",
    "specs show": f"{SPEC} body",
    "specs why": "id state why",
    "specs lint": "path line reason",
    "specs add": "id path",
    "specs init": "folder merge_driver",
    "specs merge-driver": "path conflicts",
    "index create": "url fields shards merge keys time",
    "index put": "put",
    "index delete": "deleted",
    "index compact": "shard outcome files records lines deletions size damages",
    "index stats": "url shards records deletions bytes inbox inbox_age compacted_at damaged each",
    "index verify, repair": "kind path text shard",
    "index schema": "version fields shards merge keys time",
    "index import": "files records deleted refused skipped",
    "index reshard": "url shards records deletions",
    "config": "file url settings queues",
    "completions": "shell script",
}


def _json() -> str:
    rows = [f"| {command} | {', '.join(f'`{name}`' for name in names.split())} |" for command, names in FIELDS.items()]
    return _JSON + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
