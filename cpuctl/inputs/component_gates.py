"""The feature gates of the two components that pods meet: the API server and the kubelet.

Gates that a component would not start with are only warned of: what they would lead to can be said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.errors import UsageError
from cpuctl.inputs.kubelet import read_gates
from cpuctl.inputs.sources import Sources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.kubelet.kubelet import Kubelet

_SERVER_GATES = "--apiserver-feature-gates"


def kubelet_gates(kubelet: Kubelet, sources: Sources) -> FeatureGates:
    """Return the gates that a kubelet runs with, or would if it started."""
    from cpuctl.kubelet.gates.feature_gates import BadGatesError, gates_at_start

    files = [kubelet.gates_of_main_file, kubelet.config.feature_gates]
    try:
        return gates_at_start(kubelet.version.minor, files, kubelet.gate_flags, patch=kubelet.version.patch)
    except BadGatesError as error:
        sources.warnings.append(f"a kubelet {kubelet.version} would not start with these gates: {error}")
        known = _known(kubelet.version.minor, kubelet.gates.settings)
        return known._replace(patch=kubelet.version.patch)


def server_gates(version: str, gates: str, kubelet: FeatureGates, sources: Sources) -> FeatureGates:
    """Take the API server for one of the kubelet's release and gates, but for what is given as text."""
    from cpuctl.kubelet.gates.feature_gates import FeatureGates

    minor = _server_minor(version, kubelet.minor, sources)
    given = read_gates(gates, _SERVER_GATES)
    if not given:
        return _known(minor, kubelet.settings)
    try:
        return FeatureGates.for_minor(minor).with_overrides(given)
    except ValueError as error:
        sources.warnings.append(f"an API server 1.{minor} would not start with these gates: {error}")
        return _known(minor, given)


def _server_minor(text: str, of_kubelet: int, sources: Sources) -> int:
    from cpuctl.kubelet.version import NEWEST, OLDEST, KubeletVersion

    if not text:
        return of_kubelet
    sources.add("apiServerVersion", text, "given")
    try:
        return KubeletVersion.parse(text).minor
    except ValueError:
        message = f"expected a release from 1.{OLDEST} to 1.{NEWEST}, found {text!r}"
        raise UsageError(message, where="--apiserver-version") from None


def _known(minor: int, settings: Mapping[str, bool]) -> FeatureGates:
    """Set the gates that a release has; those of other releases are another component's."""
    from cpuctl.kubelet.gates.feature_gates import FeatureGates

    release = FeatureGates.for_minor(minor)
    return FeatureGates(minor, {name: on for name, on in settings.items() if release.stage(name)})
