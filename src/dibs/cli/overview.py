"""What `dibs --help` prints."""

from dibs.cli.commands import GROUPS

_EXAMPLES = """\
Examples:
  dibs push queues/scrape '{"url": "https://example.com"}' --key example.com
  dibs work queues/scrape -j 4 -- ./scrape {payload.url}
  dibs claim queues/scrape --ttl 5m
  dibs complete queues/scrape ID --epoch 1
  dibs stats queues/scrape
  dibs why queues/scrape example.com
"""

_NOTES = """\
QUEUE is a name from dibs.toml, a URL (file:PATH, dir:FOLDER?done=FOLDER) or a path; . is the default queue.
Exit codes: 0 done, 1 refused or failed, 2 bad usage, 3 nothing to claim, 4 lease lost.
`dibs COMMAND --help` says more about a command and has examples.
"""


def overview() -> str:
    lines = ["Usage: dibs COMMAND [QUEUE] [OPTIONS]", "", "A work queue made of plain files.", ""]
    for group, commands in GROUPS.items():
        lines.append(f"{group}:")
        lines += [f"  {name:<13}{summary}" for name, (_, summary) in commands.items()]
        lines.append("")
    return "\n".join(lines) + "\n" + _EXAMPLES + "\n" + _NOTES
