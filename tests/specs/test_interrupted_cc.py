"""dibs specs work hears a signal whenever it comes."""

import subprocess
from pathlib import Path

from cli.conftest import PROGRAM, environment
from specs.spec_folder import PENDING, Folder
from waiting import PATIENCE

SOURCE = Path(__file__).with_name("interrupted.c")


def test_a_signal_just_before_the_wait_for_the_command_is_heard(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.add("a")
    shim = tmp_path / "interrupted.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, SOURCE, "-ldl"], check=True)
    words = [PROGRAM, "specs", "work", "a", "--", "sleep", "60"]
    env = {**environment(), "LD_PRELOAD": str(shim)}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, "stopped by SIGINT" in done.stdout) == (1, True), done
    assert folder.path("a").read_text() == PENDING
    assert folder.left_locks() == []
