"""`dibs.values` does what `dataclasses` does, as far as dibs uses it, and loads none of it."""

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

from dibs import values


def classes(make: Any, field: Any) -> tuple[Any, Any]:
    @make(frozen=True, slots=True, kw_only=True)
    class Keyed:
        a: int
        b: str = "x"
        c: dict[str, int] = field(default_factory=dict)

        def double(self) -> int:
            return self.a * 2

    @make(frozen=True)
    class Plain:
        a: int
        b: int = 2

    return Keyed, Plain


BOTH = [classes(values.dataclass, values.field), classes(dataclasses.dataclass, dataclasses.field)]


@pytest.mark.parametrize(("keyed", "plain"), BOTH, ids=["values", "dataclasses"])
def test_the_same_as_dataclasses(keyed: Any, plain: Any) -> None:
    one = keyed(a=1)
    assert (one.a, one.b, one.c, one.double()) == (1, "x", {}, 2)
    assert keyed(a=1).c is not one.c
    assert one == keyed(a=1) != keyed(a=2)
    assert one != plain(1)
    assert repr(one).endswith("Keyed(a=1, b='x', c={})")
    assert hash(plain(1)) == hash(plain(1, 2))
    assert dataclasses.replace(one, b="y").b == "y"
    assert dataclasses.asdict(one) == {"a": 1, "b": "x", "c": {}}
    defaults = {field.name: field.default for field in dataclasses.fields(plain)}
    assert defaults == {"a": dataclasses.MISSING, "b": 2}
    assert not hasattr(one, "__dict__")
    for wrong in ({}, {"a": 1, "z": 2}):
        with pytest.raises(TypeError):
            keyed(**wrong)
    with pytest.raises(TypeError):
        keyed(1)


def test_its_own_functions() -> None:
    keyed, _ = BOTH[0]
    one = keyed(a=1)
    assert values.replace(one, a=5) == keyed(a=5)
    assert values.asdict(one) == {"a": 1, "b": "x", "c": {}}
    assert values.field_names(keyed) == ("a", "b", "c")


def test_the_file_queue_loads_no_dataclasses() -> None:
    heavy = {"dataclasses", "inspect", "pathlib", "socket"}
    code = f"import sys, dibs.queues.files; print(*sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"\n"
