"""What the answers about a configuration begin with."""

from typing import Any

from cpuctl.inputs.configuration import LoadedKubelet
from cpuctl.inputs.sources import Sources


def answer_head(loaded: LoadedKubelet, sources: Sources) -> dict[str, Any]:
    """Return where the inputs come from, and the kubelet's version."""
    from cpuctl.kubelet.releases.recorded import Topic

    sources.add_unrecorded(loaded.kubelet.version.minor, (Topic.CONFIGURATION,))
    return {"sources": sources.entries, "kubelet": {"version": str(loaded.kubelet.version)}}
