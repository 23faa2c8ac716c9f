"""What a kubelet's command line says, once it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cpuctl.named_tuple import NamedTuple

if TYPE_CHECKING:
    from cpuctl.kubelet.configuration.settings import Setting

STAGE = "flags"


class KubeletFlags(NamedTuple):
    """What a command line says: fields, gates, files; the line itself, where it stands, its flags' names."""

    settings: Mapping[str, Setting] = {}
    gates: Mapping[str, bool] = {}
    config: str = ""
    config_dir: str = ""
    root_dir: str = ""
    ignores_eviction_thresholds: bool = False
    arguments: tuple[str, ...] = ()
    where: str = ""
    names: tuple[str, ...] = ()
