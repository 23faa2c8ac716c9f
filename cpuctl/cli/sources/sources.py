"""Where every input of an answer came from."""

from __future__ import annotations

from cpuctl.cli.output import Style, note


class Sources:
    """Where every input came from: the command line, the recording, the live host, or a default."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, str]] = {}
        self.warnings: list[str] = []

    def add(self, name: str, value: str, origin: str) -> None:
        """Remember one input; *origin* is ``given``, ``capture``, ``live`` or ``default``."""
        # A file's name may hold bytes that are no text; an answer may not.
        text = value.encode(errors="backslashreplace").decode()
        self.entries[name] = {"value": text, "from": origin}

    def tell(self, style: Style) -> None:
        """Say on stderr what nobody gave, where people read the answer, and every warning."""
        for warning in self.warnings:
            note(f"warning: {warning}", style)
        for name, entry in self.entries.items():
            value, origin = entry["value"], entry["from"]
            if style.for_people and origin != "given":
                note(f"note: {_words(name)}: {value}" + ("" if value == origin else f" ({origin})"), style)


def _words(name: str) -> str:
    """Write ``kubeletVersion`` as people say it."""
    return "".join(f" {char.lower()}" if char.isupper() else char for char in name)
