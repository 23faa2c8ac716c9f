"""A kubelet's configuration from its file alone."""

from __future__ import annotations

from dataclasses import dataclass

from cpuctl.documents.document import Document
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.configuration.decoded import to_configuration, with_defaults, with_eviction_defaults
from cpuctl.kubelet.configuration.main_file import read_main_file
from cpuctl.kubelet.configuration.notes import ConfigRemark
from cpuctl.kubelet.version import DEFAULT_VERSION


@dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """A configuration with its defaults filled in, and what the kubelet would warn about."""

    config: KubeletConfiguration
    warnings: tuple[ConfigRemark, ...]
    document: Document


def read_kubelet_config(text: str | bytes, source: str, minor: int = DEFAULT_VERSION.minor) -> ConfigFile:
    """Read the configuration of a kubelet that has only this file: no drop-ins, no flags.

    Errors as in ``read_main_file``; feature gates are not checked.
    """
    read = read_main_file(text, source, minor)
    settings = with_defaults(with_eviction_defaults(read.settings, minor), minor)
    return ConfigFile(config=to_configuration(settings), warnings=read.warnings, document=read.document)
