"""One message that people paste: its texts, the releases that print them, and what it means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from cpuctl.kubelet.version import NEWEST, OLDEST

_KINDS = {
    "n": r"-?[0-9]+",
    "set": r"[0-9][0-9,-]*|",
    "quoted": r'"(?:[^"\\]|\\.)*"',
    "word": r"[\w./:%@+-]+",
    "resource": r"[\w./-]*\w",
    "name": r"(?<!\w)[A-Z]\w*+",
    "map": r"map\[[^\]]*\]",
    "object": r"(?<![\w.\[\]/*-])(?:spec|metadata)[\w.\[\]/*-]*+",
    "setting": r"(?<![\w.\[\]/*-])(?!spec|metadata)[A-Za-z][\w.\[\]/*-]*+",
    "rest": r".*",
}
"""What may stand for a placeholder ``{name:kind}``; what a text begins with is looked for once a word."""
PLACEHOLDER = re.compile(r"\{(?P<name>[a-zA-Z]+):(?P<kind>[a-z]+)\}")


class Speaker(StrEnum):
    """Who says it."""

    CPU_MANAGER = "CPU Manager"
    MEMORY_MANAGER = "Memory Manager"
    TOPOLOGY_MANAGER = "Topology Manager"
    DEVICE_MANAGER = "Device Manager"
    KUBELET = "kubelet"
    API_SERVER = "API server"
    SCHEDULER = "scheduler"
    RUNTIME = "container runtime"
    SYSTEMD = "systemd"
    LIBVIRT = "libvirt"


class Text(NamedTuple):
    """What is printed, ``{name:kind}`` standing for what differs, by kubelets 1.*since* to 1.*until*."""

    template: str
    since: int = OLDEST
    until: int = NEWEST

    @property
    def literal(self) -> str:
        """The longest part that is always the same: a line without it needs no second look."""
        return max(PLACEHOLDER.split(self.template)[::3], key=len)

    def pattern(self) -> str:
        """Return the regular expression that finds the text within a line."""
        parts, end = [], 0
        for found in PLACEHOLDER.finditer(self.template):
            parts.append(re.escape(self.template[end : found.start()]))
            parts.append(f"(?P<{found['name']}>{_KINDS[found['kind']]})")
            end = found.end()
        return "".join((*parts, re.escape(self.template[end:])))

    @property
    def releases(self) -> str:
        """The kubelets that print it, empty if all do that cpuctl knows."""
        if (self.since, self.until) == (OLDEST, NEWEST):
            return ""
        if self.since == self.until:
            return f"1.{self.since}"
        if self.until == NEWEST:
            return f"1.{self.since} and later"
        return f"1.{self.until} and earlier" if self.since == OLDEST else f"1.{self.since} to 1.{self.until}"

    def printed_by(self, minor: int) -> bool:
        """Return whether a kubelet 1.*minor* prints it."""
        return self.since <= minor <= self.until


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message: ``meaning`` in plain words, ``fix`` what to do about it, ``commands`` what to look at next.

    ``general`` ones say less than what stands in them: they count only where no other message is found.
    """

    code: str
    speaker: Speaker
    texts: tuple[Text, ...]
    meaning: str
    fix: str = ""
    commands: tuple[str, ...] = ()
    general: bool = False

    @cached_property
    def patterns(self) -> tuple[tuple[Text, str, re.Pattern[str]], ...]:
        """Every text with its literal part and what finds it."""
        return tuple((text, text.literal, re.compile(text.pattern())) for text in self.texts)
