"""Values that answers are made of, and what schemas say of a value besides its type."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple


class Pattern(NamedTuple):
    """A regular expression that a text matches."""

    regex: str


class Bounds(NamedTuple):
    """The least and the greatest number that there can be."""

    least: int
    greatest: int | None = None


ApiVersion = Literal["cpuctl/v1alpha1"]

Count = Annotated[int, Bounds(0)]

CPUList = Annotated[str, Pattern("^$|^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$")]

SHA256 = Annotated[str, Pattern("^[0-9a-f]{64}$")]
