"""git's merge driver for a folder of specs: what tells git to use it, and the command that it runs.

A line in the folder's own .gitattributes goes with the specs into every clone; git's configuration, which has the
command, does not, so each clone sets it up once. Until then git merges specs as text. The command must not lose
work either: git takes a driver that cannot be started for one that left a conflict, and keeps our side without a mark.
So it tries the dibs that set it up, then the one on the PATH, and merges as text where neither left a result.
"""

import os
import shlex
import subprocess
import sys

from dibs.errors import StorageError

NAME = "dibs-specs"
ATTRIBUTES = ".gitattributes"
LINE = b"*.md merge=dibs-specs"
# %A is ours, and where the result goes; %O the base, %B theirs, %P the path.
_COMMAND = (
    "m() { \"$@\" specs merge-driver %O %A %B %P && exit 0; grep -q '^<<<<<<< ours' %A && exit 1; }; "
    "m HERE; m dibs; git merge-file -L ours -L base -L theirs %A %O %B || exit 1"
)


def install(folder: str) -> bool:
    """Have git merge the specs of `folder` by field. Idempotent; False, and nothing done, outside of a repository."""
    try:
        inside = _git(folder, "rev-parse", "--is-inside-work-tree")
    except FileNotFoundError:
        return False
    if inside.returncode or inside.stdout.strip() != b"true":
        return False
    _add_line(folder)
    for name, value in (("name", "specs, field by field"), ("driver", command())):
        key = f"merge.{NAME}.{name}"
        if _git(folder, "config", "--local", "--get", key).stdout.decode(errors="replace").rstrip("\n") != value:
            done = _git(folder, "config", "--local", "--replace-all", key, value)
            if done.returncode:
                reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
                raise StorageError(f"git could not set {key}: {reason[0]}; set it yourself with `git config`")
    return True


def ignored(folder: str) -> bool:
    """Whether git would not take up a spec in `folder`, which is in a repository."""
    return _git(folder, "check-ignore", "-q", "spec.md").returncode == 0


def command() -> str:
    """For a shell. Python gets -P: no module of the repository may pass for one of ours."""
    here = shlex.join([sys.executable, "-P", "-m", "dibs"]).replace("%", "%%")
    return _COMMAND.replace("HERE", here)


def _add_line(folder: str) -> None:
    """Unless git already knows, from any of its files of attributes."""
    asked = _git(folder, "check-attr", "merge", "--", "spec.md")
    if asked.stdout.decode(errors="replace").strip().endswith(f" {NAME}"):
        return
    with open(os.path.join(folder, ATTRIBUTES), "ab+") as file:
        file.seek(0)
        before = file.read()
        if LINE not in before.splitlines():
            file.write((b"\n" if before and not before.endswith(b"\n") else b"") + LINE + b"\n")


def _git(folder: str, *words: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(["git", "-C", folder, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
