"""The kubelet that is to start, in answers about state files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import ReadingKubelet
    from cpuctl.checkpoints.reader import StateReader
    from cpuctl.kubelet.kubelet import Kubelet


def kubelet_answer(kubelet: Kubelet, reader: StateReader) -> ReadingKubelet:
    """Describe the kubelet that is to start, as far as state files depend on it."""
    config = kubelet.config
    return {
        "version": str(kubelet.version),
        "cpuManagerPolicy": config.cpu_manager_policy,
        "memoryManagerPolicy": config.memory_manager_policy,
        "podLevelResourceManagers": reader.pod_level_managers,
        "exclusiveResize": reader.exclusive_resize,
    }


def release_answer(reader: StateReader) -> ReadingKubelet:
    """Describe a kubelet of which nothing is known but its release and gates."""
    return {
        "version": f"1.{reader.minor}",
        "podLevelResourceManagers": reader.pod_level_managers,
        "exclusiveResize": reader.exclusive_resize,
    }
