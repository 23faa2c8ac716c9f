"""A kubelet whose release is known: what depends on it as much as state files do is never guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.errors import UsageError
from cpuctl.inputs.kubelet import load_kubelet
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

if TYPE_CHECKING:
    from cpuctl.inputs.configuration import KubeletWords, ToldKubelet
    from cpuctl.inputs.sources import Sources
    from cpuctl.machine.sources import MachineSource

_MEMBER = "kubeletVersion"


def load_known_kubelet(words: KubeletWords, sources: Sources, *, machine: MachineSource) -> ToldKubelet:
    """Read what the kubelet is told, as other commands do.

    Raise UsageError where neither the command line nor the recording names its release, and no kubelet is
    installed on the live host.
    """
    try:
        told = load_kubelet(words, sources, machine=machine)
    except ConfigRefusedError:
        require_version(words, sources)
        raise
    require_version(words, sources)
    return told


def release_is_known(sources: Sources) -> bool:
    """Tell whether the release was named or found, and not assumed."""
    return sources.entries.get(_MEMBER, {}).get("from") != "default"


def require_version(words: KubeletWords, sources: Sources) -> None:
    """Raise UsageError where nobody says which release the kubelet is."""
    if not release_is_known(sources):
        raise UsageError(
            "the kubelet's release is not known, and every release reads state files in its own way",
            hint=f"name it with {words.version_option}, 1.36 for instance",
        )
