"""The origin of every input of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpuctl.answers.values import Origin, Source
    from cpuctl.kubelet.releases.recorded import Topic

NOT_VERIFIED = "notVerified"
UNKNOWN_FLAGS = "unknownFlags"
THE_FLAGS = "the kubelet's flags"
"""The subject of sentences about unknown flags."""


class Sources:
    """The origin of every input: the command line, the recording, the live host, or a default."""

    def __init__(self) -> None:
        self.entries: dict[str, Source] = {}
        self.warnings: list[str] = []
        self.notes: list[str] = []
        """What another tool's file was recognized as, and which pod is explained although it has ended."""
        self.read_as: list[str] = []
        """How another tool's file was read, and what it leaves open."""
        self.assumed_configuration = ""
        """The place where no kubelet configuration was found, so that defaults are assumed."""
        self.described_machine = ""
        """A machine that is only described, for which no configuration is named or can be found."""
        self.unrecorded: dict[int, dict[Topic, None]] = {}
        """The topics of the answer that are not recorded, by the minor of the release."""

    def add(self, name: str, value: str, origin: Origin) -> None:
        """Record one input and its origin."""
        # A file's name may contain bytes that are not text; an answer may not.
        text = value.encode(errors="backslashreplace").decode()
        self.entries[name] = {"value": text, "from": origin}

    def warn(self, *texts: str) -> None:
        """Record warnings about the inputs, each once."""
        self.warnings += (text for text in dict.fromkeys(texts) if text not in self.warnings)

    def warn_of_sides(self, one: tuple[str, Sources], other: tuple[str, Sources]) -> None:
        """Record the warnings of two named sides that are compared, those of only one with its name."""
        for (name, own), (_, others) in ((one, other), (other, one)):
            self.warn(*(text if text in others.warnings else f"{name}: {text}" for text in own.warnings))

    def take_over(self, others: Sources) -> None:
        """Add the inputs and warnings of other sources."""
        self.entries.update(others.entries)
        self.warn(*others.warnings)
        self.notes += (text for text in others.notes if text not in self.notes)
        self.read_as += (text for text in others.read_as if text not in self.read_as)
        self.assumed_configuration = self.assumed_configuration or others.assumed_configuration
        self.described_machine = self.described_machine or others.described_machine
        self.unrecorded |= others.unrecorded

    def origin(self, name: str) -> Origin | None:
        """Return the origin of an input; None if it is not recorded."""
        found = self.entries.get(name)
        return found["from"] if found else None

    @property
    def names_kubelet(self) -> bool:
        """Whether the kubelet's settings were specified or found; else its defaults are assumed."""
        configured = self.origin("kubeletConfiguration") != "default" and not self.assumed_configuration
        return configured or "kubeletArguments" in self.entries

    @property
    def assumes_configuration(self) -> bool:
        """Whether no configuration was found or named; flags may be known nevertheless."""
        return bool(self.assumed_configuration or self.described_machine)

    @property
    def assumed(self) -> dict[str, str]:
        """What is assumed for the kubelet's release, configuration and flags, by input, if unknown."""
        names = ["kubeletVersion", UNKNOWN_FLAGS]
        if not self.names_kubelet:
            names.insert(1, "kubeletConfiguration")
        found = {name: self.entries[name] for name in names if name in self.entries}
        return {name: entry["value"] for name, entry in found.items() if entry["from"] == "default"}

    def add_unknown_flags(self, gap: str) -> None:
        """Record why flags of the node's kubelet may be missing: with them its answers may differ."""
        self.add(
            UNKNOWN_FLAGS,
            f"assumed to be none, because {gap} (set them with --kubelet-args)",
            "default",
        )

    def add_unrecorded(self, minor: int, topics: Iterable[Topic]) -> None:
        """Record the topics of the answer that were not recorded on a release."""
        from cpuctl.kubelet.releases.recorded import not_verified, unrecorded

        if found := unrecorded(minor, topics):
            self.unrecorded.setdefault(minor, {}).update(dict.fromkeys(found))
            texts = (not_verified(*each) for each in sorted(self.unrecorded.items()))
            self.add(NOT_VERIFIED, "; ".join(texts), "default")

    def require_configuration(self, *, changes_assignments: bool = False) -> None:
        """Raise InputError if the kubelet's configuration is only assumed: then nothing may be written.

        With the defaults, whose policy is ``none``, every assignment would be lost. A node that is only
        described may use the defaults; one whose assignments are changed has its own configuration.
        """
        where = self.assumed_configuration
        if changes_assignments and not where:
            where = self.described_machine
        if where:
            raise InputError(
                "the kubelet configuration is unknown, and files are not written based on assumptions",
                where=where,
                hint="use --kubelet-config FILE, or set the kubelet's flags with --kubelet-args",
            )


def refuse_stdin_twice(*names: str | None) -> None:
    """Raise UsageError if more than one input is ``-``: only the first would get any content."""
    if names.count("-") > 1:
        message = "standard input (-) is used twice, but can be read only once"
        raise UsageError(message, hint="use a file for the other input")
