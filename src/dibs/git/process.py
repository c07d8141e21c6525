"""The one place that starts git.

Every git runs in a session of its own, so that a Ctrl-C or a kill of dibs and its process group never hits it in the
middle of a write. It reads from and writes to nameless files, not pipes: nothing it leaves running (a connection that
ssh keeps, a credential cache) can make us wait, and our death does not break its output. It never asks anybody
anything: there is no terminal, and what would open a window is switched off. Hooks of the user do not run.
"""

import os
from collections.abc import Sequence
from typing import IO, NamedTuple

from dibs.errors import BadInput, StorageError
from dibs.redact import redact

GRACE_SECONDS = 2.0
SHOWN_CHARACTERS = 400
# Where a surrounding hook works, and what would ask or speak another language.
# fmt: off
_TAKEN_OUT = {
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_CONFIG", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS", "GIT_IMPLICIT_WORK_TREE", "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_QUARANTINE_PATH", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS", "GIT_REFLOG_ACTION", "GIT_INDEX_VERSION", "GIT_DEFAULT_HASH", "GIT_PUSH_OPTION_COUNT",
    "SSH_ASKPASS", "LANGUAGE",
}
# fmt: on
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.askPass=",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "fetch.writeCommitGraph=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
)


class Timeout(StorageError):
    """git was ended because it took too long; what it did by then is not known."""


class Done(NamedTuple):
    code: int
    out: bytes
    err: str

    def words(self) -> str:
        """What git said, in one line, without secrets."""
        said = [line.removeprefix("remote:").strip() for line in self.err.splitlines()]
        return redact("; ".join(line for line in said if line)[:SHOWN_CHARACTERS]) or f"exit code {self.code}"


def environment(extra: dict[str, str], own_ssh: bool) -> dict[str, str]:
    """What git gets to see: nothing of a surrounding hook's repository, English, no questions."""
    seen = {name: value for name, value in os.environ.items() if name not in _TAKEN_OUT}
    seen |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "SSH_ASKPASS_REQUIRE": "never"}
    if not own_ssh and "GIT_SSH" not in seen:
        seen.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
    return seen | extra


def with_config(env: dict[str, str], pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """`env` with more settings for git, after those that it may hold already."""
    first = env.get("GIT_CONFIG_COUNT", "")
    start = int(first) if first.isdigit() else 0
    for number, (name, value) in enumerate(pairs, start):
        env |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return env | {"GIT_CONFIG_COUNT": str(start + len(pairs))}


def run(args: Sequence[str], *, cwd: str, env: dict[str, str], input: bytes, timeout: float | None) -> Done:  # noqa: A002
    """Run git to its end. Timeout ends it; BadInput when there is no git."""
    import subprocess
    from tempfile import TemporaryFile

    command = ["git", *(part for setting in _SETTINGS for part in ("-c", setting)), *args]
    with TemporaryFile(buffering=0) as out, TemporaryFile(buffering=0) as err, TemporaryFile(buffering=0) as given:
        if input:
            _fill(given, input)
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                stdin=given if input else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except FileNotFoundError:
            if not os.path.isdir(cwd):
                raise StorageError(f"folder {cwd!r} is gone; was it moved or deleted?") from None
            raise BadInput("git is not installed, or not on PATH; install git 2.31 or later") from None
        except OSError as error:
            raise StorageError(f"git cannot be started in {cwd!r}: {error.strerror or error}") from None
        ended = _wait(process, timeout)
        done = Done(process.returncode, _content(out), _content(err).decode(errors="replace"))
    if not ended:
        raise Timeout(
            f"git {_verb(args)} gave no answer in {timeout:g} s ({done.words()}); can it reach the remote unattended?"
        )
    return done


def _verb(args: Sequence[str]) -> str:
    return next((arg for arg in args if arg[:1] != "-" and "=" not in arg), "")


def _fill(file: IO[bytes], data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    file.seek(0)


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _wait(process: "subprocess.Popen[bytes]", timeout: float | None) -> bool:
    """Whether it ended by itself. One that did not is asked to end, so that it removes its lock files, then killed."""
    import signal
    import subprocess

    if timeout is None:
        process.wait()
        return True
    if _ended(process, timeout):
        return True
    for last in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, last)
        except ProcessLookupError:
            pass
        try:
            process.wait(GRACE_SECONDS if last is signal.SIGTERM else None)
            break
        except subprocess.TimeoutExpired:
            continue
    return False


def _ended(process: "subprocess.Popen[bytes]", timeout: float) -> bool:
    import select
    import subprocess

    if hasattr(os, "pidfd_open"):  # Popen.wait with a timeout looks only every so often
        try:
            handle = os.pidfd_open(process.pid)
        except OSError:
            pass
        else:
            try:
                poll = select.poll()
                poll.register(handle, select.POLLIN)
                if not poll.poll(timeout * 1000):
                    return False
            finally:
                os.close(handle)
            process.wait()
            return True
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        return False
    return True


TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
