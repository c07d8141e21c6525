"""A small bare repository inside the git folder, for what dibs exchanges with one remote.

The user's own refs, objects, reflogs and FETCH_HEAD stay as they are, and nothing shows up in `git log --all` or goes
along with a `git push --mirror`. How to reach the remote (URL, credentials, proxy) is read from the user's settings
and handed on in the environment; no secret is copied to disk. Nothing here is the truth: it may be deleted.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from dibs.errors import StorageError
from dibs.git import process
from dibs.git.objects import Made, pack, read_batch
from dibs.git.process import Done
from dibs.git.repository import Repository

TRIES = 8
MANY_IN_ONE_FOLDER = 27  # of 256: what git itself takes for time to clean up
MANY_PACKS = 30
_HANDED_ON = (
    "url.",
    "http.",
    "https.",
    "credential.",
    "protocol.",
    "ssh.",
    "core.gitproxy",
    "core.sshcommand",
    "safe.",
)
_OF_A_REMOTE = ("url", "pushurl", "proxy", "proxyauthmethod", "uploadpack", "receivepack", "vcs", "serveroption")
_OWN = (
    ("core.fsync", "none"),
    ("core.logAllRefUpdates", "false"),
    ("fetch.negotiationAlgorithm", "noop"),
    ("fetch.unpackLimit", "100"),
    ("gc.pruneExpire", "1.hour.ago"),
)


class Shadow:
    """Safe for threads, and for any number of processes at once."""

    def __init__(self, repository: Repository, remote: str) -> None:
        self.repository = repository
        self.remote = remote
        place = repository.setting(f"remote.{remote}.url") or remote
        name = sha256(os.fsencode(place)).hexdigest()[:16]
        self.folder = os.path.join(repository.common_dir, "dibs", f"{name}.git")
        self._handed_on = [*_handed_on(repository, remote), *_OWN]

    def run(self, *args: str, input: bytes = b"", ok: tuple[int, ...] = (0,)) -> Done:  # noqa: A002
        self._prepare()
        return self._git(*args, input=input, ok=ok)

    def _git(self, *args: str, input: bytes = b"", ok: tuple[int, ...] = (0,)) -> Done:  # noqa: A002
        env = process.with_config(self.repository.environment(), self._handed_on)
        return self.repository.run(*args, input=input, ok=ok, env=env | {"GIT_DIR": self.folder})

    def store(self, objects: list[Made]) -> None:
        self.run("unpack-objects", "-q", input=pack(objects, self.repository.hash))

    def read(self, names: list[str]) -> list[tuple[str, str, bytes] | None]:
        """(id, kind, content) of each id or ref, None for what is not here."""
        if not names:
            return []
        return read_batch(self.run("cat-file", "--batch", input="\n".join([*names, ""]).encode()).out)

    def fetch(self, refspec: str) -> bool:
        """Take over refs of the remote as they are. False when `refspec` names one ref and it is not there."""
        command = ["fetch", "--quiet", "--no-tags", "--prune", "--no-write-fetch-head", "--no-auto-maintenance"]
        command += ["--no-recurse-submodules", "--refmap=", "--", self.remote, refspec]
        for left in reversed(range(TRIES)):
            self._prepare()
            with self._alone():
                done = self._git(*command, ok=(0, 1, 128))
            if not done.code:
                return True
            if "couldn't find remote ref" in done.err:
                return False
            # A fetch whose dibs was killed may still be writing, outside of our lock.
            if not left or not ("cannot lock" in done.err or ".lock'" in done.err):
                raise StorageError(f"cannot fetch from git remote {self._shown}: {done.words()}")
            self.repository.clock.sleep(0.01 * 2 ** (TRIES - left))
        raise AssertionError("unreachable")

    def tidy(self) -> None:
        """Drop objects that no ref has named for an hour, when there are many. Every heartbeat leaves one."""
        if (
            _count(os.path.join(self.folder, "objects", "17")) > MANY_IN_ONE_FOLDER
            or _count(os.path.join(self.folder, "objects", "pack")) > 2 * MANY_PACKS
        ):
            with self._alone():
                self._git("gc", "--quiet")

    @property
    def _shown(self) -> str:
        from dibs.redact import redact

        return repr(redact(self.remote))

    def _prepare(self) -> None:
        if os.path.exists(os.path.join(self.folder, "HEAD")):
            return
        try:
            os.makedirs(os.path.dirname(self.folder), exist_ok=True)
            with self._alone():
                if not os.path.exists(os.path.join(self.folder, "HEAD")):
                    # Elsewhere first: whoever looks meanwhile must not find half a repository.
                    new = f"{self.folder}.new-{os.getpid()}-{os.urandom(4).hex()}"
                    settings = ("--bare", "--template=", f"--object-format={self.repository.hash}")
                    self.repository.run("init", "--quiet", *settings, new)
                    os.rename(new, self.folder)
        except OSError as error:
            raise StorageError(
                f"cannot write in {self.folder!r}: {error.strerror}; dibs keeps there what it fetched"
            ) from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        lock = os.open(f"{self.folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _handed_on(repository: Repository, remote: str) -> list[tuple[str, str]]:
    """The settings of the user's repository by which the remote is reached. Those of the user git finds by itself."""
    ours = [f"remote.{remote}.{name}" for name in _OF_A_REMOTE]
    return [
        (name, value)
        for name, values in repository.settings.items()
        if name in ours or name.startswith(_HANDED_ON)
        for scope, value in values
        if scope in ("local", "worktree")
    ]


def _count(folder: str) -> int:
    try:
        return len(os.listdir(folder))
    except OSError:
        return 0
