"""What a kubelet's command line says, once it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpuctl.kubelet.configuration.settings import Settings

STAGE = "flags"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletFlags:
    """What a command line says: fields, gates, files, and remarks about what was passed over."""

    settings: Settings = field(default_factory=dict)
    gates: dict[str, bool] = field(default_factory=dict)
    config: str = ""
    config_dir: str = ""
    root_dir: str = ""
    ignores_eviction_thresholds: bool = False
    notes: tuple[str, ...] = ()
