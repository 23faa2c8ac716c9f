"""The kubelet that reads or writes a state file: release, gates, and the running containers it knows."""

from collections.abc import Mapping
from sys import maxsize
from typing import NamedTuple

from cpuctl.golang.text import quoted
from cpuctl.records import Record
from cpuctl.state_names import CPU_FILE, MEMORY_FILE, STATUS_FILE

_MANAGERS = {
    CPU_FILE: "the CPU manager",
    MEMORY_FILE: "the memory manager",
    STATUS_FILE: "pod allocation",
}
_OF_PODS = "pod resource information"


def kubelet_refusal(file_name: str, error: str, directory: str = "/var/lib/kubelet") -> str:
    """Write the kubelet's own message around the reason why a state file cannot be loaded.

    *directory* is the kubelet's root directory.
    """
    owner = _MANAGERS.get(file_name, _OF_PODS)
    return (
        f"could not restore state from checkpoint: {error}, please drain this node and delete {owner} "
        f"checkpoint file {quoted(f'{directory}/{file_name}')} before restarting Kubelet"
    )


def other_policy(configured: str, found: str) -> str:
    """Report that a state file was written under a policy other than the configured one."""
    return f"configured policy {quoted(configured)} differs from state checkpoint policy {quoted(found)}"


class ContainerName(NamedTuple):
    """The names that identify a container in state files."""

    pod_uid: str
    container: str


class StateReader(Record):
    """A kubelet 1.*minor* with its gates.

    ``pod_level_managers`` is the gate PodLevelResourceManagers, ``exclusive_resize`` the gate
    InPlacePodVerticalScalingExclusiveCPUs. ``initial_containers`` are those that run when the kubelet starts,
    by container id: the oldest format identifies containers by it. ``policy`` is the configured policy, which
    a file must match; if None, the caller checks that.
    """

    minor: int = 36
    pod_level_managers: bool = False
    exclusive_resize: bool = False
    initial_containers: Mapping[str, ContainerName] = {}
    policy: str | None = None

    @property
    def keeps_pods(self) -> bool:
        """Return whether CPUs and memory of pods as a whole are read and written (KEP-5526)."""
        return self.minor >= 36 and self.pod_level_managers

    @property
    def names_keys(self) -> bool:
        """Return whether Go's complaints about JSON name map keys, as since Go 1.27, which builds 1.37."""
        return self.minor >= 37

    @property
    def keeps_baselines(self) -> bool:
        """Return whether baselines are read and written (KEP-5554)."""
        return self.minor >= 37 and self.exclusive_resize

    def objection(self, policy: str) -> str:
        """Return the kubelet's error if a file of that policy does not match, else an empty text."""
        return "" if self.policy in (None, policy) else other_policy(self.policy, policy)


DEFAULT_READER = StateReader()
"""Kubelet 1.36 with its defaults."""

KNOWS_ALL = StateReader(minor=maxsize, pod_level_managers=True, exclusive_resize=True)
"""A reader of everything that any release writes."""
