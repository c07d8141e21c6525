"""Settings and where they come from, without a process."""

from pathlib import Path

import pytest

from dibs.config import Config, count, duration, duration_text, load
from dibs.errors import BadInput


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30),
        ("30s", 30),
        ("5m", 300),
        ("2h", 7200),
        ("7d", 604800),
        ("1.5h", 5400),
        ("0", 0),
        (0.5, 0.5),
        ("5M", 300),
    ],
)
def test_durations(text: str | float, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["90s", "5m", "2h", "7d", "0.5s", "0s", "36h"])
def test_durations_are_written_as_they_are_read(text: str) -> None:
    assert duration(duration_text(duration(text))) == duration(text)
    assert len(duration_text(duration(text))) <= len(text)


@pytest.mark.parametrize("text", ["", "s", "5x", "-1", "-5m", "nan", "inf", "1e400", "five", True, "5 m m"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(BadInput, match="30s, 5m, 2h, 7d"):
        duration(text)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "x", True, 2.0])
def test_bad_counts(text: str) -> None:
    with pytest.raises(BadInput):
        count(text)


def write(folder: Path, text: str) -> Path:
    path = folder / "dibs.toml"
    path.write_text(text)
    return path


def test_flag_then_environment_then_queue_then_top_then_default(tmp_path: Path) -> None:
    path = write(tmp_path, 'ttl = "2m"\n[queues.a]\nurl = "qa"\nttl = 180\n[queues.b]\nurl = "qb"\n')

    def where(environ: dict[str, str], queue: str | None, flag: float | None = None) -> tuple[float, str]:
        found = load(environ, str(tmp_path)).setting("ttl", queue, flag)
        return found.value, found.source

    assert where({"DIBS_TTL": "4m"}, "a", 300.0) == (300.0, "flag")
    assert where({"DIBS_TTL": "4m"}, "a") == (240.0, "environment DIBS_TTL")
    assert where({}, "a") == (180.0, f"{path} [queues.a]")
    assert where({}, "b") == (120.0, str(path))
    assert where({"DIBS_TTL": ""}, None) == (120.0, str(path))
    path.unlink()
    assert where({}, None) == (60.0, "default")


def test_found_upwards(tmp_path: Path) -> None:
    write(tmp_path, "ttl = 5")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert load({}, str(below)).setting("ttl").value == 5
    write(tmp_path / "a", "ttl = 6")
    assert load({}, str(below)).setting("ttl").value == 6


def test_the_environment_is_filled_in(tmp_path: Path) -> None:
    write(tmp_path, '[queues.a]\nurl = "x:${USER_NAME}-${OTHER}/${USER_NAME}"\n')
    assert load({"USER_NAME": "u", "OTHER": "o"}, str(tmp_path)).url("a") == "x:u-o/u"
    with pytest.raises(BadInput, match=r"\[queues.a\] uses \$\{OTHER\}, which is not set"):
        load({"USER_NAME": "u"}, str(tmp_path)).url("a")


@pytest.mark.parametrize(
    ("beside", "url", "becomes"),
    [
        ("", "postgres://u:s3cret@h/d", "postgres://u:s3cret@h/d?queue=a"),
        ('schema = "w x"\npool_size = 3', "postgres://h/d", "postgres://h/d?schema=w%20x&pool_size=3&queue=a"),
        ("", "postgres://h/d?queue=b&sslmode=require", "postgres://h/d?queue=b&sslmode=require"),
        ('queue = "${OTHER}"\nprefix = "p"', "redis://h/0?idle=5", "redis://h/0?idle=5&queue=o%26o&prefix=p"),
        ('region = "eu-west-1"', "s3://b/p", "s3://b/p?region=eu-west-1"),
        ("", "file:q", "file:q"),
    ],
)
def test_settings_beside_the_url_become_part_of_it(tmp_path: Path, beside: str, url: str, becomes: str) -> None:
    write(tmp_path, f'[queues.a]\nurl = "${{DATABASE_URL}}"\n{beside}\n')
    assert load({"DATABASE_URL": url, "OTHER": "o&o"}, str(tmp_path)).url("a") == becomes


@pytest.mark.parametrize(
    ("beside", "says"),
    [('queue = "b"', "'queue' twice"), ("schema = true", "schema in .*: True"), ("schema = [1]", "text or a number")],
)
def test_bad_settings_beside_the_url(tmp_path: Path, beside: str, says: str) -> None:
    write(tmp_path, f'[queues.a]\nurl = "postgres://u:s3cret@h/d?queue=c"\n{beside}\n')
    with pytest.raises(BadInput, match=says) as caught:
        load({}, str(tmp_path)).url("a")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tll = 5", "'tll' is no known setting; known: queue, queue_type, ttl"),
        ("[queues.a]\nurl = 'x'\npath = 'y'", r"'path' is no known setting of \[queues.a\]"),
        ("[queues.a]\nttl = 5", r"\[queues.a\] has no url"),
        ("queues = 5", r"write \[queues.NAME\]"),
        ("[queues]\na = 5", r"write \[queues.NAME\]"),
        ("[queues.'a b']\nurl = 'x'", "letters, digits"),
        ("[queues.'$(id)']\nurl = 'x'", "letters, digits"),
        ("ttl = ", "not TOML"),
        ("ttl = '\udcff'", "not TOML"),
    ],
)
def test_a_bad_file_says_what_and_where(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "dibs.toml").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BadInput, match=says) as caught:
        load({}, str(tmp_path))
    assert str(tmp_path / "dibs.toml") in str(caught.value)


@pytest.mark.parametrize(
    "text", ["ttl = 'soon'", "ttl = true", "ttl = [1]", "max_attempts = 0", "queue = ''", "queue = 5"]
)
def test_a_bad_value_names_the_setting(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    name = text.partition(" ")[0]
    with pytest.raises(BadInput, match=f"{name} in .*dibs.toml"):
        load({}, str(tmp_path)).setting(name)


def test_a_bad_environment_names_the_variable() -> None:
    with pytest.raises(BadInput, match="DIBS_TTL: duration 'soon'"):
        Config({"DIBS_TTL": "soon"}).setting("ttl")
