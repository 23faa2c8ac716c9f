"""A configuration as far as it has been put together: of the main file, or of drop-ins, too."""

from __future__ import annotations

from typing import NamedTuple

from cpuctl.kubelet.configuration.remarks import ConfigRemark
from cpuctl.kubelet.configuration.settings import Settings


class Layer(NamedTuple):
    """What is set, what is passed over, and the drop-in files in their order."""

    settings: Settings
    warnings: tuple[ConfigRemark, ...] = ()
    files: tuple[str, ...] = ()
