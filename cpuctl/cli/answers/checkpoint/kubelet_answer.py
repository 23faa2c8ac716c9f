"""The kubelet that is to start, in answers about state files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cpuctl.checkpoints.reader import StateReader
    from cpuctl.kubelet.kubelet import Kubelet


def kubelet_head(kubelet: Kubelet, reader: StateReader) -> dict[str, Any]:
    """Describe the kubelet that is to start, as far as state files depend on it."""
    config = kubelet.config
    return {
        "kubelet": {
            "version": str(kubelet.version),
            "cpuManagerPolicy": config.cpu_manager_policy,
            "memoryManagerPolicy": config.memory_manager_policy,
            "podLevelResourceManagers": reader.pod_level_managers,
            "exclusiveResize": reader.exclusive_resize,
        }
    }


def release_head(reader: StateReader) -> dict[str, Any]:
    """Describe a kubelet of which nothing is known but its release and gates."""
    return {
        "kubelet": {
            "version": f"1.{reader.minor}",
            "podLevelResourceManagers": reader.pod_level_managers,
            "exclusiveResize": reader.exclusive_resize,
        }
    }
