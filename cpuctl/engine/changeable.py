"""What changes over a kubelet's life: states and counters."""

from __future__ import annotations

from typing import Self


class Changeable:
    """Something that is equal to what has the same content, and whose copies go their own way."""

    def copy(self) -> Self:
        """Return one with the same content: mappings of its own, whose values it shares."""
        copied = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(copied, name, value.copy() if isinstance(value, dict) else value)
        return copied

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"
        )
