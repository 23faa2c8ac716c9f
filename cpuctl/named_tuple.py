"""``typing.NamedTuple`` for a program that starts often: classes of values that take no time to define.

The one of ``typing`` writes source for every class and compiles it, with the type of every field, each time
Python starts: a quarter of a millisecond a class, and a plan defines a hundred. A frozen dataclass takes
five times as long. This one compiles nothing and is otherwise the same; to type checkers it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple  # noqa: TID251
else:
    # What collections.namedtuple reads fields with: a property would take twice as long.
    from collections import _tuplegetter

    class _Definition(type):
        """Makes the annotated names of a class body the fields of a tuple."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if bases[0] is not tuple and bases[0].__base__ is tuple:
                fields = tuple(body["__annotations__"])
                defaults = {field: body[field] for field in fields if field in body}
                for place, field in enumerate(fields):
                    body[field] = _tuplegetter(place, f"Alias for field number {place}")
                body |= {
                    "__slots__": (),
                    "__match_args__": fields,
                    "__new__": _constructor(fields, defaults),
                    "_fields": fields,
                    "_field_defaults": defaults,
                }
            return super().__new__(cls, name, bases, body)

    class NamedTuple(tuple, metaclass=_Definition):
        """The base of classes whose annotated names are the fields of an immutable tuple."""

        __slots__ = ()

        def __getnewargs__(self) -> tuple[object, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({fields})"

        @classmethod
        def _make(cls, values: Iterable[object]) -> Self:
            return cls(**dict(zip(cls._fields, values, strict=True)))

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, /, **changes: object) -> Self:
            values = {**self._asdict(), **changes}
            if len(values) != len(self):
                raise _misfit(type(self), (), changes)
            return tuple.__new__(type(self), values.values())

        __replace__ = _replace

    def _constructor(fields: tuple[str, ...], defaults: dict[str, object]) -> Callable[..., Any]:
        """Return what makes an instance, from the fields in their order, by name, or both."""
        count, make, tail = len(fields), tuple.__new__, tuple(defaults.values())

        def __new__(cls: type[NamedTuple], /, *given: object, **named: object) -> object:  # noqa: N807
            if not named:
                missing = count - len(given)
                if not missing:
                    return make(cls, given)
                if 0 < missing <= len(tail):
                    return make(cls, given + tail[-missing:])
            values = named if len(named) == count else {**defaults, **named}
            if given:
                first = fields[: len(given)]
                if len(first) < len(given) or not named.keys().isdisjoint(first):
                    raise _misfit(cls, given, named)
                values = {**values, **dict(zip(first, given, strict=True))}
            if len(values) != count:
                raise _misfit(cls, given, named)
            try:
                return make(cls, map(values.__getitem__, fields))
            except KeyError:
                raise _misfit(cls, given, named) from None

        return __new__

    def _misfit(cls: type[NamedTuple], given: tuple[object, ...], named: dict[str, Any]) -> TypeError:
        words = ", ".join([*("..." for _ in given), *(f"{name}=..." for name in named)])
        return TypeError(f"{cls.__name__} has the fields {', '.join(cls._fields)}, not ({words})")
