"""What the answers about a configuration begin with."""

from typing import Any

from cpuctl.inputs.configuration import ToldKubelet
from cpuctl.inputs.sources import Sources


def answer_head(told: ToldKubelet, sources: Sources) -> dict[str, Any]:
    """Return where the inputs come from, and the kubelet's version."""
    from cpuctl.kubelet.releases.recorded import Topic

    sources.add_unrecorded(told.kubelet.version.minor, (Topic.CONFIGURATION,))
    return {"sources": sources.entries, "kubelet": {"version": str(told.kubelet.version)}}
