"""What the answers about a configuration begin with."""

from typing import Any

from cpuctl.cli.sources.config_inputs import ToldKubelet
from cpuctl.cli.sources.sources import Sources


def answer_head(told: ToldKubelet, sources: Sources) -> dict[str, Any]:
    """Return where the inputs come from, and the kubelet's version."""
    return {"sources": sources.entries, "kubelet": {"version": str(told.kubelet.version)}}
