"""One kubelet: its release and all its settings."""

from collections.abc import Mapping

from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.records import Record

NO_CONFIGURATION = "no kubelet configuration was found"
"""How ``flags_gap`` begins if the configuration is unknown, too."""


class Kubelet(Record):
    """A kubelet's release, its configuration, and feature gates given as flags on top.

    ``gates_of_main_file`` are the gates before drop-ins were merged: a kubelet also tries those. ``turned``
    are inverted differences between releases (``behaviours``). ``flags_gap`` says why some of its flags may
    be missing here, and is empty if all are known. ``released`` is False if the release is assumed because
    the input does not name one.
    """

    version: KubeletVersion
    config: KubeletConfiguration
    gate_flags: Mapping[str, bool] = {}
    gates_of_main_file: Mapping[str, bool] = {}
    cgroup_version: int = 2
    turned: frozenset[str] = frozenset()
    flags_gap: str = ""
    released: bool = True

    @property
    def gates(self) -> FeatureGates:
        """The feature gates of the release as set, without checking for errors."""
        settings = {**self.config.feature_gates, **self.gate_flags}
        return FeatureGates(self.version.minor, settings, self.version.patch, self.turned)
