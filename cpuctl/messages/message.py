"""One message that users paste: its texts, the releases that print them, and what it means."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from cpuctl.kubelet.version import NEWEST, OLDEST
from cpuctl.messages.fixes import Values

POD_KINDS = "CronJob|DaemonSet|Deployment|Job|Pod|ReplicaSet|ReplicationController|StatefulSet"
"""The kinds of objects that have pods, as a pattern."""
_POD_FIELDS = (
    "affinity|automountServiceAccountToken|containers|dnsConfig|dnsPolicy|"
    "enableServiceLinks|ephemeralContainers|host[A-Z]\\w*|hostname|hostnameOverride|imagePullSecrets|initContainers|nodeName|nodeSelector|"
    "os|overhead|preemptionPolicy|priority|priorityClassName|readinessGates|resourceClaims|resources|"
    "restartPolicy|runtimeClassName|schedulerName|schedulingGates|securityContext|serviceAccount|serviceAccountName|"
    "setHostnameAsFQDN|shareProcessNamespace|subdomain|terminationGracePeriodSeconds|tolerations|"
    "topologySpreadConstraints|volumes|workloadRef"
)
"""The fields of a pod's ``spec``: those of other objects have other names, or say their kind."""
_PATH = r"(?<![\w.\]/*-])(?<!\w\[)"
"""The beginning of a path: also behind the bracket that begins a list of errors."""
_KINDS = {
    "n": r"-?[0-9]+",
    "set": r"[0-9][0-9,-]*|",
    "quoted": r'"(?:[^"\\]|\\.)*"',
    "word": r"[\w./:%@+-]+",
    "resource": r"[\w./-]*\w",
    "reason": r"(?!\[?(?:unable to read client|no configuration has been|context was not|no server found)).*",
    "native": r"(?:cpu|memory|pods|ephemeral-storage|hugepages-\w+)(?![\w./-]*/)",
    "extended": r"[a-z0-9][\w.-]*/[\w./-]*\w",
    "podkind": rf"(?:{POD_KINDS})\b",
    "fault": r"(?:comparing|hash of|index|integer|invalid memory|make|negative shift|slice bounds).*",
    "limited": r"(?<![\w./-])[a-z][\w./-]*+",
    "name": r"(?<!\w)[A-Z]\w*+",
    "map": r"map\[[^\]]*\]",
    "object": _PATH + r"spec\.(?:[\w.]+\.spec\.)?(?:" + _POD_FIELDS + r")\b[\w.\[\]/*-]*+",
    "setting": _PATH + r"(?:logging|showHiddenMetricsForVersion|tracing)\b[\w.\[\]/*-]*+",
    "rest": r".*",
}
"""The values of a placeholder ``{name:kind}``; one that begins a text is searched for once per word."""
PLACEHOLDER = re.compile(r"\{(?P<name>[a-zA-Z]+):(?P<kind>[a-z]+)\}")


class Speaker(StrEnum):
    """The component that prints a message."""

    CPU_MANAGER = "CPU Manager"
    MEMORY_MANAGER = "Memory Manager"
    TOPOLOGY_MANAGER = "Topology Manager"
    DEVICE_MANAGER = "Device Manager"
    KUBELET = "kubelet"
    API_SERVER = "API server"
    SCHEDULER = "scheduler"
    AUTOSCALER = "cluster autoscaler"
    RUNTIME = "container runtime"
    K3S = "k3s or rke2"
    SYSTEMD = "systemd"
    LIBVIRT = "libvirt"


OF_A_KUBELET = r"(?<![/.\w-])(?i:kubelet|microshift)(?![./\w-])|\b(?:k3s|rke2)\["
"""The evidence for messages of kubelets, alone or within another program.

Other programs print paths such as /var/lib/kubelet.
"""


class Text(NamedTuple):
    """A printed text, with ``{name:kind}`` for the variable parts, by kubelets 1.*since* to 1.*until*."""

    template: str
    since: int = OLDEST
    until: int = NEWEST

    @property
    def literal(self) -> str:
        """The longest constant part: a line without it cannot match."""
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
    """A message: ``meaning`` in plain words, ``fix`` what to do about it, ``commands`` what to run next.

    ``meanings`` and ``fixes`` return what the values in a message mean and what to do about them, empty if
    that is no more than ``meaning`` and ``fix``.
    ``general`` ones say less than the text that they contain: they apply only if no other message is found;
    ``heading`` ones only announce another one, and apply only if not even a general one is found.
    Of a text that other programs print as well, ``evidence`` is a pattern that the line must also contain.
    """

    code: str
    speaker: Speaker
    texts: tuple[Text, ...]
    meaning: str
    fix: str = ""
    meanings: Callable[[Values], str] | None = None
    fixes: Callable[[Values], str] | None = None
    commands: tuple[str, ...] = ()
    general: bool = False
    heading: bool = False
    evidence: str = ""

    @property
    def level(self) -> int:
        """How little it says: messages of a higher level apply only if there are none of a lower one."""
        return 2 * self.heading or int(self.general)

    def meaning_of(self, values: Values) -> str:
        """Return what a message with these values means."""
        return (self.meanings(values) if self.meanings else "") or self.meaning

    def fix_of(self, values: Values) -> str:
        """Return what to do about a message with these values."""
        return (self.fixes(values) if self.fixes else "") or self.fix

    def is_evident(self, line: str) -> bool:
        """Return whether a line shows that this component printed it."""
        return not self.evidence or re.search(self.evidence, line) is not None

    @cached_property
    def patterns(self) -> tuple[tuple[Text, str, re.Pattern[str]], ...]:
        """Every text with its constant part and its regular expression."""
        return tuple((text, text.literal, re.compile(text.pattern())) for text in self.texts)
