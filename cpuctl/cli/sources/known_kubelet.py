"""A kubelet whose release is known: what depends on it as much as state files do is never guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.cli.sources.config_inputs import LIVE_MACHINE
from cpuctl.cli.sources.kubelet_inputs import load_kubelet
from cpuctl.cli.sources.sources import Sources
from cpuctl.errors import UsageError
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

if TYPE_CHECKING:
    from cpuctl.cli.sources.config_inputs import KubeletWords, ToldKubelet
    from cpuctl.machine.sources import MachineSource

_MEMBER = "kubeletVersion"


def load_known_kubelet(words: KubeletWords, sources: Sources, *, machine: MachineSource) -> ToldKubelet:
    """Read what the kubelet is told, as other commands do.

    Raise UsageError where neither the command line nor the recording names its release, and no kubelet is
    installed on the live host.
    """
    found = with_installed_version(words, machine.origin)
    try:
        told = load_kubelet(found, sources, machine=machine)
    except ConfigRefusedError:
        require_version(words, found, sources)
        raise
    require_version(words, found, sources)
    return told


def load_installed_kubelet(words: KubeletWords, sources: Sources, *, machine: MachineSource) -> ToldKubelet:
    """Read the same, and assume a release where nobody names it: :func:`release_is_known` tells."""
    found = with_installed_version(words, machine.origin)
    try:
        return load_kubelet(found, sources, machine=machine)
    finally:
        if found.version != words.version:
            sources.add(_MEMBER, found.version, "live")


def release_is_known(sources: Sources) -> bool:
    """Tell whether the release was named or found, and not assumed."""
    return sources.entries.get(_MEMBER, {}).get("from") != "default"


def with_installed_version(words: KubeletWords, machine: str) -> KubeletWords:
    """Add the release of the live host's kubelet where none is named."""
    if words.version or machine != LIVE_MACHINE:
        return words
    from cpuctl.capture.kubelet.version import installed_version

    return words._replace(version=installed_version()[0])


def require_version(words: KubeletWords, found: KubeletWords, sources: Sources) -> None:
    """Raise UsageError where nobody says which release the kubelet is; say where it was *found*."""
    if found.version != words.version:
        sources.add(_MEMBER, found.version, "live")
    if not release_is_known(sources):
        raise UsageError(
            "the kubelet's release is not known, and every release reads state files in its own way",
            hint=f"name it with {words.version_option}, 1.36 for instance",
        )
