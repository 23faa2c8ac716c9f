"""Where every input of an answer came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.cli.output import Style, note
from cpuctl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpuctl.kubelet.releases.recorded import Topic

_NOT_VERIFIED = "notVerified"


class Sources:
    """Where every input came from: the command line, the recording, the live host, or a default."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, str]] = {}
        self.warnings: list[str] = []
        self.read_as: list[str] = []
        """What another tool's file was read as, and what it leaves to be assumed."""
        self.assumed_configuration = ""
        """Where a kubelet's configuration was looked for and none is, so that its defaults are assumed."""
        self.described_machine = ""
        """A machine that is only described, for which no configuration is named: nobody can look for one."""
        self.unrecorded: dict[int, dict[Topic, None]] = {}
        """What of the answer nobody has recorded, by the minor of the release."""

    def add(self, name: str, value: str, origin: str) -> None:
        """Remember one input; *origin* is ``given``, ``capture``, ``live`` or ``default``."""
        # A file's name may hold bytes that are no text; an answer may not.
        text = value.encode(errors="backslashreplace").decode()
        self.entries[name] = {"value": text, "from": origin}

    def add_unrecorded(self, minor: int, topics: Iterable[Topic]) -> None:
        """Remember what the answer is about, as far as nobody has recorded that on a release."""
        from cpuctl.kubelet.releases.recorded import not_verified, unrecorded

        if found := unrecorded(minor, topics):
            self.unrecorded.setdefault(minor, {}).update(dict.fromkeys(found))
            texts = (not_verified(*each) for each in sorted(self.unrecorded.items()))
            self.add(_NOT_VERIFIED, "; ".join(texts), "default")

    def require_configuration(self, *, changes_assignments: bool = False) -> None:
        """Raise InputError where a kubelet's configuration is only assumed: nothing is written then.

        With the defaults, whose policy is none, every assignment would be given up. A node that is only
        described may have the defaults; one whose assignments are there to be changed has its own.
        """
        where = self.assumed_configuration
        if changes_assignments and not where:
            where = self.described_machine
        if where:
            raise InputError(
                "there is no kubelet configuration, and nothing is written on assumptions",
                where=where,
                hint="name it with --kubelet-config FILE, or tell the kubelet's flags with --kubelet-args",
            )

    def tell(self, style: Style) -> None:
        """Say on stderr what nobody gave, where people read the answer, and every warning."""
        for warning in (*self.read_as, *self.warnings):
            note(f"warning: {warning}", style)
        for name, entry in self.entries.items():
            value, origin = entry["value"], entry["from"]
            if name == _NOT_VERIFIED:
                if style.for_people:
                    note(f"note: not verified {value}", style)
                continue
            if name == "passedOver" and style.for_people:
                note(f"note: passed over, as no pods are made of them: {value}", style)
            if style.for_people and origin != "given":
                said = "" if value == origin else f" ({origin})"
                if name == "kubeletConfiguration" and self.assumed_configuration:
                    said = f" are assumed: there is no {self.assumed_configuration} (--kubelet-config FILE)"
                note(f"note: {_words(name)}: {value}{said}", style)


def _words(name: str) -> str:
    """Write ``kubeletVersion`` as people say it."""
    return "".join(f" {char.lower()}" if char.isupper() else char for char in name)
