"""Sets as integers: bit *n* of a mask is set if CPU, or NUMA node, *n* is a member.

At run time both are plain integers. To the type checker they are distinct types whose operations keep the
type: CPUs are not NUMA nodes, and numbers are neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NewType

if TYPE_CHECKING:
    from typing import Self

    class _Mask(int):
        # The operations of an integer, but only among masks of one kind, and with such a mask as the result:
        # those of a plain NewType return integers, which would have to be converted after every step.
        def __and__(self, other: Self, /) -> Self: ...  # type: ignore[override]
        def __or__(self, other: Self, /) -> Self: ...  # type: ignore[override]
        def __xor__(self, other: Self, /) -> Self: ...  # type: ignore[override]
        def __rand__(self, other: Self, /) -> Self: ...  # type: ignore[override]
        def __ror__(self, other: Self, /) -> Self: ...  # type: ignore[override]
        def __rxor__(self, other: Self, /) -> Self: ...  # type: ignore[override]
        def __neg__(self) -> Self: ...
        def __invert__(self) -> Self: ...
        def __lshift__(self, places: int, /) -> Self: ...

    class CPUMask(_Mask):
        """A set of CPUs."""

    class NodeMask(_Mask):
        """A set of NUMA nodes."""
else:
    CPUMask = NewType("CPUMask", int)
    NodeMask = NewType("NodeMask", int)

NO_CPUS = CPUMask(0)
CPU_0 = CPUMask(1)
"""CPU 0 alone; ``CPU_0 << n`` is CPU *n* alone."""
NO_NODES = NodeMask(0)
NODE_0 = NodeMask(1)
"""NUMA node 0 alone; ``NODE_0 << n`` is node *n* alone."""
