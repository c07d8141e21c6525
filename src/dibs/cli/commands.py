"""The table of commands: which module has it, and one line about it. Nothing is imported from here.

A command module has `configure(parser, command)`, which adds arguments, a description and examples,
and `run(args, command)`, which returns the exit code. Only the module of the command in use is loaded.
"""

GROUPS = {
    "Tasks": {
        "push": ("dibs.cli.push", "add a task, or many"),
        "claim": ("dibs.cli.leases", "take the right to work on ready tasks"),
        "renew": ("dibs.cli.leases", "hold a claimed task for longer"),
        "complete": ("dibs.cli.leases", "a claimed task is done"),
        "release": ("dibs.cli.leases", "give a claimed task back untouched"),
        "fail": ("dibs.cli.leases", "a claimed task did not work: retry it, or dead-letter it"),
    },
    "Look": {
        "list": ("dibs.cli.look", "tasks, in about the order in which they would run"),
        "search": ("dibs.cli.search", "tasks and specs by their words and fields"),
        "show": ("dibs.cli.look", "everything known about one task"),
        "why": ("dibs.cli.look", "what keeps a task from running"),
        "stats": ("dibs.cli.look", "counts by state, priority, project and label"),
        "claimed": ("dibs.cli.look", "who holds what now"),
        "watch": ("dibs.cli.watch", "counts and leases, live"),
        "top": ("dibs.cli.top", "queues at a glance, live, steered by keys"),
    },
    "Steer": {
        "pause": ("dibs.cli.steer", "let nothing be claimed"),
        "resume": ("dibs.cli.steer", "let tasks be claimed again"),
        "cancel": ("dibs.cli.steer", "take tasks out of the queue"),
        "retry": ("dibs.cli.steer", "put failed or cancelled tasks back"),
        "priority": ("dibs.cli.steer", "change the priority of tasks that wait"),
        "purge": ("dibs.cli.steer", "delete old finished tasks"),
        "move": ("dibs.cli.move", "move whole tasks into another queue"),
        "copy": ("dibs.cli.move", "copy whole tasks into another queue"),
        "migrate": ("dibs.cli.migrate", "create or update the tables of a queue in a database"),
        "sync": ("dibs.cli.sync", "join a queue here with a shared one, for offline work"),
    },
    "Run": {
        "work": ("dibs.cli.work", "run a command or a function for each task"),
        "mcp": ("dibs.cli.mcp", "serve queues to coding agents, over the Model Context Protocol"),
        "serve": ("dibs.cli.serve", "serve queues over HTTP, for workers that cannot reach them"),
        "dashboard": ("dibs.cli.dashboard", "open the page of a daemon in a browser"),
        "demo": ("dibs.cli.demo", "see workers killed and stopped, and nothing lost"),
    },
    "Specs": {
        "specs": ("dibs.cli.specs", "markdown specs as a queue: what is ready, what waits for what"),
    },
    "Index": {
        "index": ("dibs.cli.index", "the latest record of every key, written and compacted by many machines"),
    },
    "Settings": {
        "doctor": ("dibs.cli.doctor", "find out whether a storage is safe for a queue"),
        "config": ("dibs.cli.settings", "show each setting and where it came from"),
        "completions": ("dibs.cli.settings", "print a completion script for bash, zsh or fish"),
    },
}

COMMANDS = {name: entry for commands in GROUPS.values() for name, entry in commands.items()}

# Called once a task by shell scripts: parsed without argparse where that is possible.
QUICK = frozenset({"claim", "renew", "complete", "release", "fail"})
