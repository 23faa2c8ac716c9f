"""Which tool printed a text, recognized by its beginning, not by the file name.

Separate from the readers: every file that ``-m`` names is checked, and most are archives.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

HEAD_BYTES = 1 << 16
"""The bytes checked to recognize the tool; the comments of ``lscpu -p`` have a few hundred bytes."""


PrintedFormat: TypeAlias = Literal["JSON", "XML", "lscpu -p", "lscpu -e", "numactl", "without CPUs"]
"""The recognized kinds of text; those ``without CPUs`` can only be refused."""


WITHOUT_CPUS = {
    "Architecture:": "is lscpu's summary, which does not show the placement of each CPU",
    "NAME ": "is lscpu's table of caches, which does not show the placement of each CPU",
    "No NUMA ": "is numactl's output on a kernel without NUMA support, which contains nothing else",
}
"""Why a text that begins like this is not a machine."""


def recognised(head: bytes) -> PrintedFormat | None:
    """Recognize a file by its first bytes; None for archives and unknown formats."""
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
    """Return the text at the start of a file; empty if it is binary."""
    return "" if b"\0" in head else head.decode(errors="replace").lstrip("\ufeff \t\r\n")


def comment_columns(text: str) -> list[str] | None:
    """Return the columns named in the last leading comment, as in ``lscpu -p``."""
    header = None
    for line in text.splitlines():
        if line.startswith("#"):
            header = line
        elif line.strip():
            break
    return None if header is None else [name.strip().upper() for name in header[1:].split(",")]
