"""Sentences about a plan, the same in tables, pictures and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cpuctl.cpuset import CPUSet
from cpuctl.exports.wording import counted

Json = Mapping[str, Any]


def start_sentence(start: Mapping[str, Any], who: str) -> str:
    """Say whether *who* comes up, and if not, in which stage and in what words it ends."""
    match start["outcome"]:
        case "Started":
            return f"{who} would start."
        case "Refused":
            return f"{who} would not start ({start['stage']}): {start['error']}"
        case "KubeletFault":
            return f"{who} would fail ({start['fault']} in {start['where']}): {start['why']}"
        case _:
            return f"Whether {who[0].lower()}{who[1:]} would start cannot be said: {start['why']}"


def later_lines(start: Mapping[str, Any]) -> tuple[str, ...]:
    """List the errors to which a kubelet comes once the first one, of which its start ends, is mended."""
    return tuple(f"  {error} (once the first is mended)" for error in start.get("later", ()))


def counts_words(summary: Json) -> str:
    """Write how many pods there are and what becomes of them: ``3 pods: 2 admitted, 1 rejected``."""
    counts = {
        "admitted": summary["admitted"],
        "rejected": summary["rejected"],
        "refused by the API server": summary["forbidden"],
        "undetermined": summary["undetermined"],
        "kubelet faults": summary["kubeletFault"],
    }
    return f"{counted(summary['pods'], 'pod')}: " + ", ".join(
        f"{count} {word}" for word, count in counts.items() if count or word == "admitted"
    )


def kubelet_words(kubelet: Json) -> str:
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
