"""`dataclasses` at a fraction of its price: to load it takes as long as all else that a `dibs claim` loads.

What is here does the same as its namesake there, as far as dibs uses it; a type checker sees the real one,
and `dataclasses.replace`, `fields` and `asdict` accept what is made here. One difference: that a frozen
value is not changed is for the type checker to see to, so that making one costs no more than it must.
"""

from __future__ import annotations

__all__ = ["asdict", "dataclass", "field", "field_names", "replace"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, replace

    def field_names(cls: type) -> tuple[str, ...]: ...

else:

    class field:  # noqa: N801
        """A default that is made anew for each value."""

        def __init__(self, *, default_factory):
            self.make = default_factory

    def dataclass(*, frozen=False, slots=False, kw_only=False):
        return lambda cls: _made(cls, frozen, slots, kw_only)

    def replace(value, /, **changes):
        cls = type(value)
        return cls(**{name: getattr(value, name) for name in cls.__field_names__} | changes)

    def field_names(cls):
        return cls.__field_names__

    def asdict(value):
        """Its fields by name. What they hold is not copied."""
        return {name: getattr(value, name) for name in type(value).__field_names__}

    def _made(cls, frozen, slots, kw_only):
        names = tuple(cls.__dict__["__annotations__"])  # noqa: RUF063
        defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
        added = {
            "__field_names__": names,
            "__init__": _init(cls, names, defaults, kw_only),
            "__eq__": _eq,
            "__hash__": _hash if frozen else None,
            "__repr__": _repr,
            "__dataclass_fields__": _Fields(defaults),
        }
        if not slots:
            for name, value in added.items():
                setattr(cls, name, value)
            return cls
        kept = {name: value for name, value in cls.__dict__.items() if name not in (*names, "__dict__", "__weakref__")}
        return type(cls)(cls.__name__, cls.__bases__, {**kept, **added, "__slots__": names})

    def _init(cls, names, defaults, kw_only):
        """Written out and compiled, as `dataclasses` does it: a loop over the fields would take five times as long."""
        made = [name for name in names if isinstance(defaults.get(name), field)]
        takes = ["self", *(["*"] if kw_only else [])]
        takes += [f"{name}=_defaults[{name!r}]" if name in defaults else name for name in names]
        does = [f"  if {name} is _defaults[{name!r}]: {name} = {name}.make()" for name in made]
        does += [f"  self.{name} = {name}" for name in names]
        space = {"_defaults": defaults, "__name__": cls.__module__}
        exec(f"def __init__({', '.join(takes)}):\n" + "\n".join(does), space)  # noqa: S102
        return space["__init__"]

    def _eq(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__field_names__)

    def _hash(self):
        return hash(tuple(getattr(self, name) for name in self.__field_names__))

    def _repr(self):
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__field_names__)})"

    class _Fields:
        """What `dataclasses` itself would have put here, made when somebody asks for it."""

        def __init__(self, defaults):
            self._defaults = defaults

        def __get__(self, instance, owner):
            import dataclasses

            def described(name):
                default = self._defaults.get(name, dataclasses.MISSING)
                if isinstance(default, field):
                    return name, object, dataclasses.field(default_factory=default.make)
                return name, object, dataclasses.field(default=default)

            fields = [described(name) for name in owner.__field_names__]
            return dataclasses.make_dataclass(owner.__name__, fields, kw_only=True).__dataclass_fields__
