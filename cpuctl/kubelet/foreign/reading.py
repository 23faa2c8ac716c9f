"""Other tools' files, recognized by their content and read."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from cpuctl.documents.loading import decoded
from cpuctl.errors import InputError
from cpuctl.kubelet.configuration.type_meta import API_VERSION, KIND

if TYPE_CHECKING:
    from cpuctl.documents.document import PlacedText
    from cpuctl.kubelet.foreign.found import ToolFile

_OWN = re.compile(rf"""^(?:kind|["']kind["']|[ \t{{]*"kind")\s*:\s*["']?{KIND}\b""", re.MULTILINE)


def read_foreign(text: bytes | str, source: str) -> ToolFile | None:
    """Read another tool's file; None for any other file, whether or not the kubelet can read it.

    Raise InputError for such a file without a kubelet configuration.
    """
    try:
        content = decoded(text, source)
    except InputError:
        return None
    if '"kubeletconfig"' not in content and _OWN.search(
        re.split(r"^---", content.lstrip("-\n "), maxsplit=1, flags=re.MULTILINE)[0]
    ):
        return None

    from cpuctl.kubelet.foreign.tools import read_tool_file

    return read_tool_file(content, source)


def places_of(found: ToolFile, text: str) -> PlacedText | None:
    """Return where the fields of *text* are in the tool's file; None if the file contains *text* itself."""
    if found.text:
        return None

    from cpuctl.kubelet.foreign.lines import SourcePlaces

    return SourcePlaces(text, found.fields)


def arguments_of(found: ToolFile, source: str) -> tuple[str, ...]:
    """Return the flags, each with its place in the tool's file."""
    if not found.flags:
        return ()

    from cpuctl.kubelet.flags.kubelet_flags import PlacedFlag
    from cpuctl.kubelet.foreign.lines import LinedName

    return tuple(
        PlacedFlag.at(flag, f"{source}:{flag.line}" if isinstance(flag, LinedName) else source)
        for flag in found.flags
    )


def configuration_text(found: ToolFile) -> str:
    """Return the result of a tool's file as the text of the file that the kubelet reads."""
    if found.text:
        return found.text
    return json.dumps({"apiVersion": API_VERSION, "kind": KIND, **found.fields}, default=str)
