"""Sentences about a kubelet and its CPUs, the same in tables, pictures and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet

if TYPE_CHECKING:
    from cpuctl.answers.start import KubeletPolicies


def kubelet_words(kubelet: KubeletPolicies) -> str:
    """Write a kubelet's release and policies in one line."""
    options = ", ".join(f"{name}={value}" for name, value in kubelet["cpuManagerPolicyOptions"].items())
    return (
        f"kubelet {kubelet['version']}, CPU Manager {kubelet['cpuManagerPolicy']}"
        f"{f' ({options})' if options else ''}, Topology Manager {kubelet['topologyManagerPolicy']}, "
        f"Memory Manager {kubelet['memoryManagerPolicy']}"
    )


def shared_sentence(shared: str, reserved: str) -> str:
    """Say where Burstable and BestEffort containers run: on reserved CPUs, too, but for an option."""
    if not shared:
        return "Burstable and BestEffort containers have no CPUs to run on"
    who = f"Burstable and BestEffort containers run on CPUs {shared}"
    if not reserved:
        return who
    among = CPUSet.parse(reserved) & CPUSet.parse(shared)
    if not among:
        return f"{who}, without the reserved {reserved}"
    return (
        f"{who}, the reserved {among} among them; strict-cpu-reservation (kubelet 1.32 and later) keeps them"
        " off, and needs cpu_manager_state removed first"
    )
