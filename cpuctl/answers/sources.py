"""Where an answer comes from, and what could not be read for it."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

Origin = Literal["given", "environment", "configFile", "capture", "live", "default"]
_From = TypedDict("_From", {"from": Origin})


class Source(_From):
    value: str


Sources = Annotated[dict[str, Source], "Where every input came from."]


class Unreadable(TypedDict):
    path: str
    reason: str
