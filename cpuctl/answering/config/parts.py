"""Pieces that the answers about a configuration share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.inputs.configuration import LoadedKubelet
from cpuctl.inputs.sources import THE_FLAGS, UNKNOWN_FLAGS
from cpuctl.inputs.sources import Sources as InputSources
from cpuctl.kubelet.version import KubeletVersion

if TYPE_CHECKING:
    from cpuctl.answers.config import Header, Pools
    from cpuctl.answers.values import Sources
    from cpuctl.engine.start import Started


def answer_header(loaded: LoadedKubelet, sources: InputSources) -> Header:
    """Return the sources of the inputs and the kubelet's version."""
    sources.add_unrecorded(loaded.kubelet.version.minor, ("the configuration",))
    return {"sources": sources.entries, "kubelet": {"version": str(loaded.kubelet.version)}}


def unloaded_header(sources: InputSources) -> Header:
    """Return the same for a kubelet that cannot load its configuration."""
    release = KubeletVersion.parse(sources.entries["kubeletVersion"]["value"])
    return {"sources": sources.entries, "kubelet": {"version": str(release)}}


def unread_inputs(sources: Sources, *others: str) -> list[str]:
    """Name what is unchecked although it affects a start: unknown flags, and *others* that are not empty."""
    flags = sources.get(UNKNOWN_FLAGS)
    return [
        *([f"{THE_FLAGS}: {flags['value']}"] if flags else []),
        *filter(None, others),
    ]


def pools_answer(started: Started) -> Pools | None:
    """Describe the pools of CPUs under a static policy; return None under none."""
    policy = started.policy
    if policy is None:
        return None
    return {
        "reservedCPUs": str(CPUSet(policy.reserved)),
        "allocatableCPUs": str(CPUSet(policy.allocatable)),
        "sharedCPUs": str(CPUSet(policy.fresh_state().default)),
    }
