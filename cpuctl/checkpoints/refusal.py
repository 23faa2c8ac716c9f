"""What a kubelet says when it cannot start on a state file."""

from __future__ import annotations

from cpuctl.golang.text import quoted
from cpuctl.state_names import CPU_FILE, MEMORY_FILE, STATUS_FILE

_WHOSE = {
    CPU_FILE: "the CPU manager",
    MEMORY_FILE: "the memory manager",
    STATUS_FILE: "pod allocation",
}
_OF_PODS = "pod resource information"


def kubelet_refusal(file_name: str, error: str, directory: str = "/var/lib/kubelet") -> str:
    """Put the reason why a state file cannot be loaded into the kubelet's own message.

    *directory* is the kubelet's root directory.
    """
    whose = _WHOSE.get(file_name, _OF_PODS)
    return (
        f"could not restore state from checkpoint: {error}, please drain this node and delete {whose} "
        f"checkpoint file {quoted(f'{directory}/{file_name}')} before restarting Kubelet"
    )


def other_policy(configured: str, found: str) -> str:
    """Say that a state file was written under another policy than the one that is configured."""
    return f"configured policy {quoted(configured)} differs from state checkpoint policy {quoted(found)}"
