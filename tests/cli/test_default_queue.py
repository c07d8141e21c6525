"""`[queue]` and `[daemon] enabled` in dibs.toml: what they say, without a process."""

import os
from pathlib import Path

import pytest

from dibs.cli.place import find
from dibs.config import Config, load
from dibs.default_queue import BACKENDS
from dibs.errors import BadInput


def config(folder: Path, text: str, **environ: str) -> Config:
    (folder / "dibs.toml").write_text(text)
    return load(environ, str(folder))


@pytest.mark.parametrize(
    ("table", "url"),
    [
        ('backend = "file"', "file:{}/.dibs/queues/default"),
        ('backend = "file"\nurl = "work"', "file:{}/work"),
        ('backend = "lmdb"', "lmdb:{}/.dibs/lmdb/default"),
        ('backend = "lmdb"\nurl = "lmdb:/fast/q?sync=off"', "lmdb:/fast/q?sync=off"),
        ('backend = "memory"', "memory:default"),
        ('backend = "specs"', "specs:{}/.dibs/specs"),
        ('backend = "derived"', "specs:{}/.dibs/specs"),
        ('backend = "tantivy"\nurl = "todo"', "specs:{}/todo"),
        ('backend = "postgres"\nurl = "${DB}"', "postgres://u:p@h/d?queue=default"),
        ('backend = "postgres"\nurl = "${DB}"\nqueue = "mail"\nschema = "w"',
         "postgres://u:p@h/d?queue=mail&schema=w"),
        ('backend = "redis"\nurl = "rediss://h/0"', "rediss://h/0?queue=default"),
        ('backend = "s3"\nurl = "s3://b/q"\nregion = "eu-west-1"', "s3://b/q?region=eu-west-1"),
        ('url = "work"', "file:{}/work"),
    ],
)  # fmt: skip
def test_the_default_queue_is_made_on_the_backend_that_is_named(tmp_path: Path, table: str, url: str) -> None:
    said = config(tmp_path, f"[queue]\n{table}\n", DB="postgres://u:p@h/d")
    place = find(None, None, said)
    assert place.url == url.format(tmp_path)
    assert place.ours
    assert said.setting("queue").source == f"{tmp_path}/dibs.toml [queue]"
    assert find(".", None, said).url == place.url


def test_without_a_table_all_is_as_ever(tmp_path: Path) -> None:
    said = config(tmp_path, 'queue = "a"\n[queues.a]\nurl = "qa"\n')
    assert find(None, None, said).url == f"file:{tmp_path}/qa"
    assert (said.backend().value, said.backend().source) == ("file", "default")
    assert find(None, None, Config({})).url == "file:.dibs/queues/default"


def test_the_environment_wins(tmp_path: Path) -> None:
    text = '[queue]\nbackend = "postgres"\nurl = "postgres://h/d"\n'
    assert find(None, None, config(tmp_path, text, DIBS_QUEUE="file:x")).url == "file:x"
    said = config(tmp_path, "", DIBS_QUEUE_BACKEND="lmdb")
    assert find(None, None, said).url == "lmdb:.dibs/lmdb/default"
    assert said.backend().source == "environment DIBS_QUEUE_BACKEND"


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('backend = "sqlite"', "backend 'sqlite' is not known; known: file, lmdb, memory, specs, derived, tantivy,"),
        ("backend = 5", "backend in .* is not acceptable"),
        ('backend = "postgres"', "needs a url; add url = \"postgres:…\""),
        ('backend = "redis"\nurl = "postgres://u:s3cret@h/d"', "url is no redis: URL, though backend is 'redis'"),
        ('backend = "memory"\nurl = "x"', "url is no memory: URL"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(tmp_path: Path, table: str, says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        find(None, None, config(tmp_path, f"[queue]\n{table}\n"))
    assert f"{tmp_path}/dibs.toml" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_name_that_is_not_known_in_the_table(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"'bakend' is no known setting of \[queue\]; known: backend, url, queue"):
        config(tmp_path, '[queue]\nbakend = "file"\n')
    with pytest.raises(BadInput, match=r"DIBS_QUEUE_BACKEND: backend 'x' is not known"):
        Config({"DIBS_QUEUE_BACKEND": "x"}).setting("queue")


def test_every_backend_that_is_named_can_be_opened() -> None:
    from dibs.queues import BACKENDS as SCHEMES

    assert {scheme for schemes, _ in BACKENDS.values() for scheme in schemes} <= set(SCHEMES)


@pytest.mark.parametrize(
    ("text", "environ", "enabled", "source"),
    [
        ("", {}, False, "default"),
        ("[daemon]\nenabled = true", {}, True, "{} [daemon]"),
        ("[daemon]\nenabled = true", {"DIBS_DAEMON": "off"}, False, "environment DIBS_DAEMON"),
        ("", {"DIBS_DAEMON": "on"}, True, "environment DIBS_DAEMON"),
        ("[daemon]\nenabled = false", {"DIBS_DAEMON_ENABLED": "true"}, True, "environment DIBS_DAEMON_ENABLED"),
    ],
)
def test_whether_commands_ask_the_daemon(
    tmp_path: Path, text: str, environ: dict[str, str], enabled: bool, source: str
) -> None:
    found = config(tmp_path, text, **environ).daemon_setting("enabled")
    assert (found.value, found.source) == (enabled, source.format(tmp_path / "dibs.toml"))


def test_a_bad_switch_says_what_to_write() -> None:
    with pytest.raises(BadInput, match="DIBS_DAEMON: 'no' is not acceptable; write on or off"):
        Config({"DIBS_DAEMON": "no"}).daemon("enabled")


def test_paths_of_the_daemon_are_relative_to_the_file(tmp_path: Path) -> None:
    said = config(tmp_path, '[daemon]\nsocket = "run/s"\ntoken = "~/token"\nindex = "none"\n')
    assert said.daemon("socket") == f"{tmp_path}/run/s"
    assert said.daemon("token") == os.path.expanduser("~/token")
    assert said.daemon("index") == "none"
    assert config(tmp_path, "", DIBS_DAEMON_SOCKET="s").daemon("socket") == "s"
