"""What frontmatter means, by the fast reading and by the YAML parser alike."""

import subprocess
import sys

import pytest

from dibs.errors import BadInput
from dibs.specs import quick, yamlish
from dibs.specs.frontmatter import BadSpec, body, read


def of(text: str) -> bytes:
    return f"---\n{text}---\nbody\n".encode()


ORDINARY = {
    "status: pending\n": {"status": "pending"},
    "a: 1\nb: -2\nc: +3\nd: 0\n": {"a": 1, "b": -2, "c": 3, "d": 0},
    "a: 1.5\nb: -0.25\nc: 1.0e3\nd: 1.5E-2\n": {"a": 1.5, "b": -0.25, "c": 1000.0, "d": 0.015},
    "a: true\nb: False\nc: null\nd: ~\ne:\nf: Null\n": {
        "a": True,
        "b": False,
        "c": None,
        "d": None,
        "e": None,
        "f": None,
    },
    "a: yes\nb: on\nc: 012\nd: 0x1f\ne: 1e3\nf: 12_000\ng: .inf\nh: 1:30\n": {
        "a": "yes",
        "b": "on",
        "c": "012",
        "d": "0x1f",
        "e": "1e3",
        "f": "12_000",
        "g": ".inf",
        "h": "1:30",
    },
    "a: 1.0e308\nb: 1.0e309\n": {"a": 1e308, "b": "1.0e309"},
    "at: 2026-11-16\nwhen: 2026-11-16T05:00:00Z\n": {"at": "2026-11-16", "when": "2026-11-16T05:00:00Z"},
    "n: 1234567890123456789\nm: 123456789012345678\n": {"n": "1234567890123456789", "m": 123456789012345678},
    "a: x # note\nb: x#y\nc: 'q' # note\nd: # note\n": {"a": "x", "b": "x#y", "c": "q", "d": None},
    "url: http://x/y:z?q=1#top\n": {"url": "http://x/y:z?q=1#top"},
    "a : spaced\nb:   far   \n": {"a": "spaced", "b": "far"},
    'a: "x: y # z"\nb: "say \\"hi\\"\\n\\u00e9"\nc: \'a "b"\'\nd: ""\ne: "1"\n': {
        "a": "x: y # z",
        "b": 'say "hi"\né',
        "c": 'a "b"',
        "d": "",
        "e": "1",
    },
    "l: []\nm: [a]\nn: [ a , 'b, c', \"d\",1 ] # x\no: [a b, c]\n": {
        "l": [],
        "m": ["a"],
        "n": ["a", "b, c", "d", 1],
        "o": ["a b", "c"],
    },
    "l:\n- a\n- 'b' # x\nm: # y\n    - 1\n\n    # z\n    - c d\n\nn: x\n": {"l": ["a", "b"], "m": [1, "c d"], "n": "x"},
    "# only a comment\n\n": {},
    "": {},
    "name: größe 日本 🎉\n": {"name": "größe 日本 🎉"},
}

UNUSUAL = {
    "a: 'it''s'\n": {"a": "it's"},
    "'a b': 1\n\"c\": 2\n": {"a b": 1, "c": 2},
    "true: 1\n5: 2\n~: 3\n": {"true": 1, "5": 2, "~": 3},
    "a: |\n  one\n  ---\n  two\nb: 1\n": {"a": "one\n---\ntwo\n", "b": 1},
    "a: >-\n  one\n  two\n": {"a": "one two"},
    "a:\n  b:\n    c: [1, {d: 2}]\n": {"a": {"b": {"c": [1, {"d": 2}]}}},
    "a: one\n  two\n": {"a": "one two"},
    "a: [x,\n  y]\n": {"a": ["x", "y"]},
    "{a: 1, b: [c]}\n": {"a": 1, "b": ["c"]},
    "  a: 1\n  b: 2\n": {"a": 1, "b": 2},
    "? a\n: b\n": {"a": "b"},
    "a: !!str 5\nb: !!int 5\nc: !!seq [a]\nd: !!map {}\ne: ! 5\n": {"a": "5", "b": 5, "c": ["a"], "d": {}, "e": "5"},
    "a: b\t# tab\nb: 'x\ty'\n": {"a": "b", "b": "x\ty"},
    "<<: {a: 1}\nb: 2\n": {"<<": {"a": 1}, "b": 2},
    'a: "\\x41\\e"\n': {"a": "A\x1b"},
    "größe: 1\n": {"größe": 1},
}


@pytest.mark.parametrize("text", ORDINARY, ids=repr)
def test_ordinary_frontmatter_is_read_alike_by_both(text: str) -> None:
    assert repr(read(of(text))) == repr(ORDINARY[text])
    assert repr(quick.fields(text)) == repr(ORDINARY[text])
    assert quick.places(text) == yamlish.places(text)
    assert repr({field.key: field.value for field in yamlish.places(text)}) == repr(ORDINARY[text])


@pytest.mark.parametrize("text", UNUSUAL, ids=repr)
def test_unusual_frontmatter_is_read_by_the_parser(text: str) -> None:
    keys_like_words = text.startswith("true:")
    if not keys_like_words:
        assert quick.fields(text) is None
        assert quick.places(text) is None
    assert repr(read(of(text))) == repr(UNUSUAL[text])


@pytest.mark.parametrize("text", [*ORDINARY, *UNUSUAL], ids=repr)
def test_line_ends_and_marks_do_not_matter(text: str) -> None:
    known = read(of(text))
    assert read(of(text).replace(b"\n", b"\r\n")) == known
    assert read(b"\xef\xbb\xbf" + of(text)) == known
    assert read(of(text).replace(b"---\nbody\n", b"...")) == known
    assert read(of(text).replace(b"---\nbody\n", b"--- \t\r\n")) == known


@pytest.mark.parametrize(
    ("data", "rest"),
    [
        (b"", b""),
        (b"# Title\n", b"# Title\n"),
        (b"\xef\xbb\xbf# Title\n", b"# Title\n"),
        (b"\n---\na: b\n---\n", b"\n---\na: b\n---\n"),
        (b"----\na: b\n---\n", b"----\na: b\n---\n"),
        (b" ---\na: b\n---\n", b" ---\na: b\n---\n"),
        (b"---\n---\n", b""),
        (b"---\n---", b""),
        (b"---\r\n---\r\n\r\nx", b"\r\nx"),
        (b"---  \n... \t\nx\n---\ny\n", b"x\n---\ny\n"),
        (b"---\n# a\n...\nx\n---\ny\n", b"x\n---\ny\n"),
        (b"---\n# a\n---\n---\nb: c\n---\n", b"---\nb: c\n---\n"),
    ],
)
def test_body(data: bytes, rest: bytes) -> None:
    assert body(data) == rest
    assert read(data) == {}


def test_error_has_line_and_reason() -> None:
    with pytest.raises(BadSpec, match=r"^line 4: the key 'status' occurs twice; the first is in line 2$") as caught:
        read(b"---\nstatus: a\n# x\nstatus: b\n---\n")
    assert caught.value.line == 4
    assert caught.value.reason.startswith("the key")
    assert isinstance(caught.value, BadInput)


def test_without_pyyaml_ordinary_files_work_and_others_name_the_extra() -> None:
    script = """
import sys
sys.modules["yaml"] = None
from dibs.errors import MissingExtra
from dibs.specs.frontmatter import read, edit
assert read(edit(b"---\\nstatus: a\\nl:\\n- x\\n---\\n", {"error": "a: b\\nc", "l": ["y"]})) == {
    "status": "a", "l": ["y"], "error": "a: b\\nc"}
for step in (lambda: read(b"---\\na: {b: 1}\\n---\\n"), lambda: edit(b"---\\na: {b: 1}\\n---\\n", {"b": 1})):
    try:
        step()
    except MissingExtra as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install 'dibs[specs]'") == 2


def test_pyyaml_is_imported_only_when_needed() -> None:
    script = """
import sys
from dibs.specs.frontmatter import read
read(b"---\\na: [b]\\n---\\n")
print("yaml" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_is_remembered_of_lines_is_nobodys_to_change() -> None:
    data = of("labels: [a, b]\ndepends_on:\n- c\n")
    read(data)["labels"].append("x")
    read(data)["depends_on"].append("y")
    assert read(data) == {"labels": ["a", "b"], "depends_on": ["c"]}


def test_only_so_many_short_lines_are_remembered() -> None:
    for number in range(quick.REMEMBERED + 10):
        read(of(f"a: x{number}\n"))
        assert len(quick._lines) <= quick.REMEMBERED
    read(of(f"a: {'x' * quick.LONGEST}\n"))
    assert all(len(line) <= quick.LONGEST for line in quick._lines)
