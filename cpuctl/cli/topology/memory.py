"""``cpuctl topology show --memory``: NUMA nodes as the Memory Manager of a kubelet counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.errors import UsageError

if TYPE_CHECKING:
    from cpuctl.answers.topology import Memory
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.sources import Sources
    from cpuctl.machine.sources import MachineSource


def refuse_unless_used(words: KubeletInputs) -> None:
    """Raise UsageError for words about a kubelet that nothing would come of."""
    given = {
        "--kubelet-config": words.config is not None,
        "--config-dir": words.config_dir is not None,
        "--kubelet-args": bool(words.arguments),
        "--kubelet-version": bool(words.version),
    }
    for option in (option for option, said in given.items() if said):
        raise UsageError("is looked at with --memory only", where=option, hint="add --memory")


def counted_memory(source: MachineSource, words: KubeletInputs, sources: Sources) -> Memory:
    """Count memory as the kubelet would that is told this."""
    from cpuctl.answering.topology.memory_answer import topology_memory
    from cpuctl.engine.start import check_start
    from cpuctl.inputs.kubelet import load_kubelet
    from cpuctl.kubelet.releases.recorded import Topic

    kubelet = load_kubelet(words, sources, machine=source).kubelet
    sources.add_unrecorded(kubelet.version.minor, (Topic.MEMORY,))
    return topology_memory(source, kubelet.config, check_start(source.info, kubelet))
