"""What a kubelet that restarts makes of pods whose exclusive CPUs have not followed their size."""

from __future__ import annotations

from collections.abc import Collection

from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Verdict


def refused_after_restart(node: Node, uids: Collection[str]) -> dict[str, Verdict]:
    """Return, of these pods, those that the next start of the kubelet does not take back; *node* is left."""
    trial = node.copy()
    readmitted = trial.readmit(list(trial.active.values())) if uids else ()
    return {
        admission.pod.uid: admission.verdict
        for admission in readmitted
        if admission.pod.uid in uids and not isinstance(admission.verdict, Admitted)
    }
