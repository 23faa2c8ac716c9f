"""What the answers about a configuration begin with."""

from typing import TYPE_CHECKING

from cpuctl.inputs.configuration import LoadedKubelet
from cpuctl.inputs.sources import Sources

if TYPE_CHECKING:
    from cpuctl.answers.config import Head


def answer_head(loaded: LoadedKubelet, sources: Sources) -> "Head":
    """Return where the inputs come from, and the kubelet's version."""
    from cpuctl.kubelet.releases.recorded import Topic

    sources.add_unrecorded(loaded.kubelet.version.minor, (Topic.CONFIGURATION,))
    return {"sources": sources.entries, "kubelet": {"version": str(loaded.kubelet.version)}}
