"""What changes over a kubelet's life: managers, their states and counters."""

from __future__ import annotations

from typing import Self


class Copied:
    """Something whose copies go their own way."""

    def copy(self) -> Self:
        """Return one in the same state: what can be copied is its own, values and members are shared."""
        copied = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(copied, name, value.copy() if isinstance(value, (dict, set, Copied)) else value)
        return copied


class Changeable(Copied):
    """Something that is equal to what has the same content."""

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        content = (f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({', '.join(content)})"
