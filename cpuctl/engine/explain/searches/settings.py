"""Which settings of a kubelet could be another: topology policy and scope, and every option on or off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cpuctl.engine.explain.searches.changes import SettingChange
from cpuctl.engine.hints.topology_manager import POLICIES
from cpuctl.golang.conversions import parse_bool
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.policy_options import (
    CPU_POLICY_OPTIONS,
    PREFER_CLOSEST,
    SCALE_DELAY,
    TOPOLOGY_OPTIONS,
    OptionHistory,
)

_STRICTEST_FIRST = (*reversed(POLICIES), "none")
_SCOPES = ("container", "pod")


def setting_candidates(config: KubeletConfiguration, minor: int) -> Iterator[SettingChange]:
    """Yield one change a setting and value, the ones that keep most of what was asked for first.

    Options that a kubelet 1.*minor* does not know are left out. Whether it would start with a change is for
    the engine to say.
    """
    yield from _options(config, minor)
    if config.topology_manager_policy != "none":
        yield from _scopes(config)
    yield from _policies(config)
    if config.memory_manager_policy == "Static":
        yield SettingChange(
            setting="memoryManagerPolicy",
            before="Static",
            after="None",
            config=config._replace(memory_manager_policy="None"),
        )


def _options(config: KubeletConfiguration, minor: int) -> Iterator[SettingChange]:
    if config.cpu_manager_policy == "static":
        for name in _known(CPU_POLICY_OPTIONS, minor):
            before, after, options = _toggled(config.cpu_manager_policy_options, name)
            yield SettingChange(
                setting="cpuManagerPolicyOptions",
                before=before,
                after=after,
                config=config._replace(cpu_manager_policy_options=options),
                option=name,
                options=options,
            )
    if config.topology_manager_policy != "none" and PREFER_CLOSEST in _known(TOPOLOGY_OPTIONS, minor):
        before, after, options = _toggled(config.topology_manager_policy_options, PREFER_CLOSEST)
        yield SettingChange(
            setting="topologyManagerPolicyOptions",
            before=before,
            after=after,
            config=config._replace(topology_manager_policy_options=options),
            option=PREFER_CLOSEST,
            options=options,
        )


def _scopes(config: KubeletConfiguration) -> Iterator[SettingChange]:
    before = config.topology_manager_scope
    for scope in _SCOPES:
        if scope != before:
            changed = config._replace(topology_manager_scope=scope)
            yield SettingChange(setting="topologyManagerScope", before=before, after=scope, config=changed)


def _policies(config: KubeletConfiguration) -> Iterator[SettingChange]:
    before = config.topology_manager_policy
    for policy in _STRICTEST_FIRST:
        if policy != before:
            changed = config._replace(topology_manager_policy=policy)
            yield SettingChange(setting="topologyManagerPolicy", before=before, after=policy, config=changed)


def _known(options: Mapping[str, OptionHistory], minor: int) -> list[str]:
    """Name the switches that a release knows. How long a resize waits decides about no pod that comes."""
    return [name for name, history in options.items() if name != SCALE_DELAY and history.stage(minor)]


def _toggled(options: Mapping[str, str], name: str) -> tuple[str, str, dict[str, str]]:
    """Tell an option's value, the other one, and all options with that.

    The kubelet has read the value when it started, so it is a boolean.
    """
    before = parse_bool(options.get(name, "false"))
    after = str(not before).lower()
    return str(before).lower(), after, {**options, name: after}
