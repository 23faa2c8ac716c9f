"""What is wrong with state files: why a kubelet refuses them, and what it does not notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from cpuctl.checkpoints.model import FROM_NODE
from cpuctl.diagnostics import Diagnostic, Severity
from cpuctl.records import Record

REPAIR = "cpuctl checkpoint repair"
REPAIR_WITH_PODS = f"{REPAIR} --pods FILE"
EXPLAIN = "cpuctl explain"
REPAIR_ANEW = f"list its pods again, then {REPAIR_WITH_PODS}"
REMOVE = f"remove this pod {FROM_NODE}, {REPAIR_ANEW}"
SOME_POD = "a pod that has exclusive CPUs"
REMOVE_ONE = f"remove {SOME_POD} {FROM_NODE}, {REPAIR_ANEW}"
"""While a kubelet is down, a pod's entries stay in its files even if the pod is removed."""

MAX_SIMILAR = 50
"""The most findings of the same code that are reported: a file may have one for every entry."""


class StatePlace(Record):
    """A file, and the owner of the entries that a finding is about; empty if they have no owner."""

    file_name: str
    pod_uid: str = ""
    container: str = ""


StateFinding: TypeAlias = Diagnostic[StatePlace]
"""An error is what a kubelet refuses, a warning what it does not notice although it is wrong or harmful."""


def limited(findings: Iterable[StateFinding]) -> Iterator[StateFinding]:
    """Yield findings, at most ``MAX_SIMILAR`` of a kind, then how many more of it there are."""
    counts: Counter[tuple[str, str, Severity]] = Counter()
    for finding in findings:
        kind = finding.place.file_name, finding.code, finding.severity
        counts[kind] += 1
        if counts[kind] <= MAX_SIMILAR:
            yield finding
    for (file_name, code, severity), count in counts.items():
        if count > MAX_SIMILAR:
            message = f"{count - MAX_SIMILAR} more of the same kind"
            yield StateFinding(severity, code, StatePlace(file_name), message)
