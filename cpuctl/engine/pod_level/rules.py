"""Which pods are divided at all, and what a release does with one that comes back after a restart."""

from __future__ import annotations

from typing import NamedTuple

from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.model import Pod


class PodLevelRules(NamedTuple):
    """Whether the gate PodLevelResourceManagers is on, and which managers keep what a pod has.

    Without ``restores_cpus`` and ``restores_memory`` a running pod is allocated anew after a restart, and
    what it had belongs to nobody: kubernetes issues 140989 and 140906. Without ``hints_at_held_memory`` what
    it has is no hint for it then, in pod scope. Without ``passes_over`` a pod with resources of its own is
    aligned like any other, by what its containers ask for.
    """

    managers: bool = False
    restores_cpus: bool = False
    restores_memory: bool = False
    hints_at_held_memory: bool = False
    passes_over: bool = True

    @classmethod
    def of(cls, gates: FeatureGates) -> PodLevelRules:
        """Choose the rules of a release with its gates."""
        release = gates.release
        return cls(
            managers=gates.enabled("PodLevelResourceManagers") and gates.enabled("PodLevelResources"),
            restores_cpus=release.restores_pod_level_cpus,
            restores_memory=release.restores_pod_level_memory,
            hints_at_held_memory=release.pod_scope_memory_hints_after_restart,
            passes_over=release.passes_over_pod_level_pods,
        )

    def divides(self, pod: Pod) -> bool:
        """Tell whether the managers look at a pod's own resources instead of its containers'."""
        return self.managers and pod.has_pod_level_resources

    def skips(self, pod: Pod) -> bool:
        """Tell whether the managers leave a pod alone because it has resources of its own."""
        return self.passes_over and not self.managers and pod.has_pod_level_resources


NEVER_DIVIDED = PodLevelRules()
