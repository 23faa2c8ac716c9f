"""Which tool has printed a text, recognized by how it begins, whatever the file's name.

Kept apart from the readers: every file that ``-m`` names is looked at, and most are archives.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

HEAD_BYTES = 1 << 16
"""What is looked at to tell the tool; the comments of ``lscpu -p`` are some hundred bytes."""


PrintedFormat: TypeAlias = Literal["JSON", "XML", "lscpu -p", "lscpu -e", "numactl", "without CPUs"]
"""How texts begin that are read; those ``without CPUs`` can only be refused."""


WITHOUT_CPUS = {
    "Architecture:": "is lscpu's summary, which does not show the placement of each CPU",
    "NAME ": "is lscpu's table of caches, which does not show the placement of each CPU",
    "No NUMA ": "is numactl's output on a kernel without NUMA support, which contains nothing else",
}
"""Why a text that begins like this is no machine."""


def recognised(head: bytes) -> PrintedFormat | None:
    """Determine by its first bytes what a file may be; None for archives and unknown formats."""
    text = start_of(head)
    if text[:1] in {"{", "["}:
        return "JSON"
    if text[:1] == "<":
        return "XML"
    if text.startswith("available: "):
        return "numactl"
    first = text.partition("\n")[0]
    if first.startswith("#"):
        return "lscpu -p" if "CPU" in (comment_columns(text) or ()) else None
    if "CPU" in first.split() and all(word[0] == "L" or word.isupper() for word in first.split()):
        return "lscpu -e"
    return "without CPUs" if text.startswith(tuple(WITHOUT_CPUS)) else None


def start_of(head: bytes) -> str:
    """Return the text that a file begins with; empty if it is binary."""
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
