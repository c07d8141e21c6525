"""The same, seen from outside: the system calls that really happen."""

import re
from pathlib import Path

import dibs
from disk import strace

CALLS = "fsync,fdatasync,syncfs,sync,rename,renameat,renameat2,link,linkat"


def test_a_push_is_synced_before_it_returns(tmp_path: Path) -> None:
    script = "import sys, dibs; dibs.open(sys.argv[1]).push({'a': 1})"
    done = strace.trace(script, tmp_path / "q", CALLS, tmp_path / "log")
    placed = next(n for n, (call, args) in enumerate(done) if call.startswith("rename") and "/pending/" in args)
    scratch = re.findall(r'"([^"]+)"', done[placed][1])
    folder = scratch[1].rpartition("/")[0]
    syncs = [(n, args) for n, (call, args) in enumerate(done) if call in ("fsync", "fdatasync")]
    assert any(n < placed and f"<{scratch[0]}>" in args for n, args in syncs)
    assert any(n > placed and f"<{folder}>" in args for n, args in syncs)


def test_a_batch_is_synced_as_one(tmp_path: Path) -> None:
    dibs.open(f"{tmp_path}/q")
    script = "import sys, dibs; dibs.open(sys.argv[1]).push_many([{'n': n} for n in range(500)])"
    done = strace.trace(script, tmp_path / "q", CALLS, tmp_path / "log")
    names = [call for call, _ in done]
    assert names.count("syncfs") == 2
    assert names.count("rename") >= 500
    first, last = names.index("syncfs"), len(names) - 1 - names[::-1].index("syncfs")
    renames = [n for n, (call, args) in enumerate(done) if call == "rename" and "/pending/" in args]
    assert first < renames[0]
    assert renames[-1] < last


def test_claims_and_completions_do_not_sync(tmp_path: Path) -> None:
    dibs.open(f"{tmp_path}/q").push_many([{"n": n} for n in range(5)])
    script = "import sys, dibs; [lease.complete(1) for lease in dibs.open(sys.argv[1]).claims()]"
    done = strace.trace(script, tmp_path / "q", CALLS, tmp_path / "log")
    assert not [call for call, _ in done if "sync" in call]
    assert sum(call == "rename" and "/completed/" in args for call, args in done) == 5
