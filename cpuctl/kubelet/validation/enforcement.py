"""Validation of ``enforceNodeAllocatable``, which kubelets do in three ways, one after the other.

Rule: ``pkg/kubelet/apis/config/validation``, 1.30, 1.31 (kubernetes 124268) and 1.32 (125982).
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.golang import quoted
from cpuctl.kubelet.releases.behaviours import Behaviours
from cpuctl.kubelet.setting_error import SettingError

_FIELD = "enforceNodeAllocatable"
_ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"
_GROUPS = {"system-reserved": "systemReservedCgroup", "kube-reserved": "kubeReservedCgroup"}
_SUFFIX = "-compressible"


def check_groups_of_enforcement(config: KubeletConfiguration, release: Behaviours) -> Iterator[SettingError]:
    """Refuse any entry without groups per QoS class, as releases do that do not look at entries for that."""
    if release.checks_each_enforcement or config.cgroups_per_qos or not config.enforce_node_allocatable:
        return
    text = f"{_ENFORCE} is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true"
    yield _invalid(text, "cgroupsPerQOS")


def check_enforcement(config: KubeletConfiguration, release: Behaviours) -> Iterator[SettingError]:
    """Check entry by entry."""
    entries = config.enforce_node_allocatable
    for key in _GROUPS if release.enforces_compressible else ():
        if key in entries and f"{key}{_SUFFIX}" in entries:
            pair = f"both {quoted(key)} and {quoted(f'{key}{_SUFFIX}')}"
            yield _invalid(f"{pair} cannot be specified together in {_ENFORCE}", _FIELD)
    seen: set[str] = set()
    for entry in entries:
        if release.checks_each_enforcement and entry in seen:
            yield _invalid(f"duplicated enforcements {quoted(entry)} in {_ENFORCE}", _FIELD)
        else:
            yield from _entry(config, entry, release)
        seen.add(entry)


def _entry(config: KubeletConfiguration, entry: str, release: Behaviours) -> Iterator[SettingError]:
    key = entry.removesuffix(_SUFFIX) if release.enforces_compressible else entry
    if entry == "none":
        if len(config.enforce_node_allocatable) > 1:
            text = f'{_ENFORCE} may not contain additional enforcements when "none" is specified'
            yield _invalid(text, _FIELD)
        return
    if entry != "pods" and key not in _GROUPS:
        valid = _valid(release)
        text = f"option {quoted(entry)} specified for {_ENFORCE}. Valid options are {valid}"
        yield _invalid(text, _FIELD)
        return
    if key in _GROUPS and not _group(config, key):
        what = f"{_GROUPS[key]} (--{key}-cgroup) must be specified when"
        yield _invalid(f"{what} {_wanting(key, release)} {_ENFORCE}", _GROUPS[key])
    if release.checks_each_enforcement and not config.cgroups_per_qos:
        text = f"cgroupsPerQOS (--cgroups-per-qos) must be set to true when {quoted(entry)} contained in"
        yield _invalid(f"{text} {_ENFORCE}", "cgroupsPerQOS")


def _valid(release: Behaviours) -> str:
    if not release.enforces_compressible:
        return '"pods", "system-reserved", "kube-reserved", or "none"'
    groups = ", ".join(f"{quoted(key)}, {quoted(f'{key}{_SUFFIX}')}" for key in _GROUPS)
    return f'"pods", {groups} or "none"'


def _wanting(key: str, release: Behaviours) -> str:
    if release.enforces_compressible:
        return f"{quoted(key)} or {quoted(f'{key}{_SUFFIX}')} included in"
    return f"{quoted(key)} contained in"


def _group(config: KubeletConfiguration, key: str) -> str:
    return config.system_reserved_cgroup if key == "system-reserved" else config.kube_reserved_cgroup


def _invalid(text: str, field: str) -> SettingError:
    return SettingError(f"invalid configuration: {text}", field)
