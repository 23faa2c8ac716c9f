"""Which tool has printed a text, told by how it begins; a name tells nothing.

Kept apart from the readers: every file that ``-m`` names is looked at, and most are archives.
"""

from __future__ import annotations

from enum import Enum, auto

HEAD_BYTES = 1 << 16
"""What is looked at to tell the tool; the comments of ``lscpu -p`` are some hundred bytes."""


class PrintedFormat(Enum):
    """How texts begin that are read; ``WITHOUT_CPUS`` are those that can only be refused."""

    JSON = auto()
    XML = auto()
    LSCPU_PARSABLE = auto()
    LSCPU_EXTENDED = auto()
    NUMACTL = auto()
    WITHOUT_CPUS = auto()


WITHOUT_CPUS = {
    "Architecture:": "is lscpu's summary, which does not show the placement of each CPU",
    "NAME ": "is lscpu's table of caches, which does not show the placement of each CPU",
    "No NUMA ": "is numactl's output on a kernel without NUMA support, which contains nothing else",
}
"""Why a text that begins like this is no machine."""


def recognised(head: bytes) -> PrintedFormat | None:
    """Determine by its first bytes what a file may be; None for an archive, and for what nobody knows."""
    text = start_of(head)
    if text[:1] in {"{", "["}:
        return PrintedFormat.JSON
    if text[:1] == "<":
        return PrintedFormat.XML
    if text.startswith("available: "):
        return PrintedFormat.NUMACTL
    first = text.partition("\n")[0]
    if first.startswith("#"):
        return PrintedFormat.LSCPU_PARSABLE if "CPU" in (comment_columns(text) or ()) else None
    if "CPU" in first.split() and all(word[0] == "L" or word.isupper() for word in first.split()):
        return PrintedFormat.LSCPU_EXTENDED
    return PrintedFormat.WITHOUT_CPUS if text.startswith(tuple(WITHOUT_CPUS)) else None


def start_of(head: bytes) -> str:
    """Return the text that a file begins with; nothing where it is none."""
    return "" if b"\0" in head else head.decode(errors="replace").lstrip("\ufeff \t\r\n")


def comment_columns(text: str) -> list[str] | None:
    """Return the columns that the last of the leading comments names, as ``lscpu -p`` does."""
    header = None
    for line in text.splitlines():
        if line.startswith("#"):
            header = line
        elif line.strip():
            break
    return None if header is None else [name.strip().upper() for name in header[1:].split(",")]
