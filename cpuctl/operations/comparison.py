"""The same pods on two kubelets that differ in some settings."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.errors import UsageError
from cpuctl.inputs.assumed_release import ASSUMED
from cpuctl.inputs.configuration import load_setup
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.schema import SINCE
from cpuctl.kubelet.configuration.setting_overrides import SettingOverrides, read_setting_overrides
from cpuctl.kubelet.flags.table import flag_that_sets
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpuctl.engine.capacity.capacity import Fragmentation
    from cpuctl.engine.release_effects import ReleaseSide
    from cpuctl.inputs.configuration import KubeletSetup
    from cpuctl.kubelet.configuration.settings import Settings
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.operations.configuration import NotStartedOutcome
    from cpuctl.operations.plan import Plan, Planner
    from cpuctl.operations.plan_inputs import Planning, PlanningInputs
    from cpuctl.operations.policies import ChosenPolicy

_SUFFIXES = (".yaml", ".yml", ".json")
_POLICY = "policy="


class Side(NamedTuple):
    """One of two kubelets: its settings, and its plan, or why it cannot load its configuration.

    ``fragmentation`` is how scattered free CPUs are afterwards, None if that is meaningless. ``explain`` is
    the command that explains the first rejected pod, ``check`` the one that shows why the kubelet does not
    start; both are empty if no command can express the side's settings.
    """

    settings: str
    version: KubeletVersion
    sources: Sources
    plan: Plan | None = None
    start: NotStartedOutcome | None = None
    fragmentation: Fragmentation | None = None
    explain: str = ""
    check: str = ""


class Comparison(NamedTuple):
    """Two sides, and whether they can differ only in their releases."""

    one: Side
    other: Side
    releases_alone: bool


def compare(planner: Planner, texts: tuple[str, str]) -> Comparison:
    """Plan once with each of two settings; warnings go to the planning's sources.

    Raise UsageError for impossible settings, InputError for a file that cannot be used.
    """
    requested = [_requested(text) for text in texts]
    sources = planner.planning.sources
    one, other = (_side(planner, each, sources) for each in requested)
    sources.warn_of_sides(("A", one.sources), ("B", other.sources))
    if all(each.file for each in requested):
        sources.assumed_configuration = ""
        sources.add("kubeletConfiguration", ", ".join(each.file for each in requested), "given")
    if all(each.overrides.version for each in requested):
        sources.warnings[:] = [text for text in sources.warnings if ASSUMED not in text]
        sources.add("kubeletVersion", ", ".join(str(each.overrides.version) for each in requested), "given")
    return Comparison(one, other, all(each.is_release for each in requested))


def compare_unloaded(
    inputs: PlanningInputs,
    texts: tuple[str, str],
    sources: Sources,
    planner_of: Callable[[Planning], Planner],
    *,
    pods_needed: bool,
) -> tuple[tuple[Side, Planner | None], ...]:
    """Evaluate both settings if no kubelet can load the given configuration.

    A file that cannot be decoded stays so, whatever is set on top of it: only another file or release may
    help. A side with one is planned separately, by the planner that is returned with it.
    """
    from cpuctl.operations.plan_inputs import read_planning

    sides: list[tuple[Side, Planner | None]] = []
    read: list[Sources] = []
    for requested in map(_requested, texts):
        kubelet = replace(inputs.kubelet, config=requested.file or inputs.kubelet.config)
        kubelet = replace(kubelet, version=str(requested.overrides.version or "") or kubelet.version)
        own = Sources()
        try:
            planning = read_planning(replace(inputs, kubelet=kubelet), pods_needed=pods_needed, sources=own)
        except ConfigRefusedError as refused:
            version = KubeletVersion.parse(own.entries["kubeletVersion"]["value"])
            start = refused.whole_refusal
            sides.append((Side(settings=requested.text, version=version, sources=own, start=start), None))
        else:
            planner = planner_of(planning)
            side = _side(planner, requested, own)
            sides.append((side, planner))
            own.warn(*side.sources.warnings)
        read.append(own)
    sources.warn_of_sides(("A", read[0]), ("B", read[1]))
    return tuple(sides)


class ShownDifferences(NamedTuple):
    """The differences between two releases that pods show, and gates that are on for one side only."""

    names: tuple[str, ...]
    gates: tuple[str, ...]
    sides: tuple[FeatureGates, FeatureGates]


def shown_differences(
    planner: Planner, one: KubeletVersion, other: KubeletVersion
) -> ShownDifferences | None:
    """Find the differences between two releases that the pods show, each tried alone.

    None if there are too many pods to try.
    """
    from cpuctl.engine.explain.known_defects import MOST_PODS, noticed
    from cpuctl.engine.release_effects import effects_of
    from cpuctl.kubelet.releases.changes import switched_gates
    from cpuctl.kubelet.releases.differences import DIFFERENCES

    planning = planner.planning
    if len(planning.incoming) > MOST_PODS:
        return None
    setups = (replace(planning.loaded.setup, version=version, released=True) for version in (one, other))
    here, there = (load_setup(each, Sources()).kubelet for each in setups)
    names = [
        name
        for name in noticed(here)
        if DIFFERENCES[name].holds(*here.version) != DIFFERENCES[name].holds(*there.version)
    ]
    one_side, other_side = (_release_side(planning, kubelet) for kubelet in (here, there))
    gates = switched_gates(here.gates, there.gates)
    shown = effects_of((one_side, other_side), names, gates).shown_by_pods
    return ShownDifferences(
        tuple(name for name in names if name in shown),
        tuple(gate for gate in gates if gate in shown),
        (here.gates, there.gates),
    )


def _release_side(planning: Planning, kubelet: Kubelet) -> ReleaseSide:
    from cpuctl.engine.release_effects import ReleaseSide

    quiet = Sources()
    quiet.entries.update(planning.sources.entries)
    stored = planning.stored_for(kubelet, quiet)
    return ReleaseSide(kubelet, stored.incoming, partial(stored.start, sources=quiet))


class _Side(NamedTuple):
    """One side: a configuration file in place of the given one, if one is named, and settings on top.

    Or (``policy``) a policy that no kubelet has, with the given configuration.
    """

    file: str
    overrides: SettingOverrides
    policy: ChosenPolicy | None = None
    policy_text: str = ""

    @property
    def is_release(self) -> bool:
        """Whether the side sets at most a release."""
        return not (self.file or self.overrides.patch or self.overrides.gates or self.policy)

    @property
    def text(self) -> str:
        """Name the side."""
        policy = f"policy={self.policy.plugin.name}" if self.policy else ""
        return ",".join(filter(None, (self.file, policy, self.overrides.text)))


def _requested(text: str) -> _Side:
    """Parse a side; if its first part looks like a file name, which settings do not, it is a file.

    Anything that is not a setting may be a policy, and always is one after ``policy=``.
    """
    first, _, rest = text.strip().partition(",")
    if first.startswith(_POLICY):
        return _with_policy(text.strip().removeprefix(_POLICY))
    if ".py:" in first:
        return _with_policy(text.strip())
    if first.endswith(_SUFFIXES) or ("/" in first and "=" not in first):
        return _Side(first, read_setting_overrides(rest, option_names.COMPARE))
    try:
        return _Side("", read_setting_overrides(text, option_names.COMPARE))
    except UsageError:
        from cpuctl.policies.catalogue import known

        if first not in {plugin.name for plugin in known()}:
            raise
        return _with_policy(text.strip())


def _with_policy(text: str) -> _Side:
    from cpuctl.operations.policies import choose_policy

    return _Side("", SettingOverrides(), choose_policy(text), text)


def _setup(planner: Planner, requested: _Side, sources: Sources) -> KubeletSetup:
    """Return the setup of a side's kubelet before settings are applied on top."""
    planning = planner.planning
    if not requested.file:
        return planning.loaded.setup

    from cpuctl.inputs.kubelet import load_kubelet

    inputs = replace(planning.inputs.kubelet, config=requested.file)
    return load_kubelet(inputs, sources, machine=planning.source).setup


def _side(planner: Planner, requested: _Side, sources: Sources) -> Side:
    """Plan with some settings; warnings go to the side's own sources."""
    own = Sources()
    own.entries |= sources.entries
    setup = _setup(planner, requested, own)
    version = requested.overrides.version
    setup = replace(setup, version=version or setup.version, released=setup.released or version is not None)
    side = Side(settings=requested.text, version=setup.version, sources=own)
    try:
        kubelet = _kubelet(setup, requested.overrides, own)
    except ConfigRefusedError as refused:
        return side._replace(start=refused.whole_refusal)
    if requested.policy is not None:
        planner = replace(planner, planning=replace(planner.planning, policy=requested.policy))
    planner = replace(planner, planning=planner.planning.stored_for(kubelet, own))
    plan = planner.plan(kubelet, own)
    for minor, topics in own.unrecorded.items():
        sources.add_unrecorded(minor, topics)
    side = side._replace(plan=plan, fragmentation=_fragmentation(plan))
    return _with_command(side, planner, requested, plan)


def _with_command(side: Side, planner: Planner, requested: _Side, plan: Plan) -> Side:
    """Add the command that shows why a pod is rejected, or why the kubelet of a side does not start."""
    from cpuctl.engine.node import Node
    from cpuctl.operations.command_lines import check_command, explain_command

    flags = _flags(requested.overrides.patch, plan.kubelet)
    if flags is None:
        return side
    planning = planner.planning
    inputs = _inputs(planning.inputs, requested)
    if isinstance(plan.node, Node):
        return side._replace(explain=explain_command(planner, plan, inputs, flags))
    loaded = replace(planning.loaded, kubelet=plan.kubelet)
    planning = replace(planning, inputs=inputs, loaded=loaded)
    return side._replace(check=check_command(planning, plan.node, flags))


def _inputs(inputs: PlanningInputs, requested: _Side) -> PlanningInputs:
    """Return the inputs of a side, without the settings that are written as flags."""
    overrides = requested.overrides
    gates = ",".join(f"{gate}={str(on).lower()}" for gate, on in overrides.gates.items())
    kubelet = replace(
        inputs.kubelet,
        config=requested.file or inputs.kubelet.config,
        version=str(overrides.version or "") or inputs.kubelet.version,
        gates=",".join(filter(None, (inputs.kubelet.gates, gates))),
    )
    node = replace(inputs.node, policy=requested.policy_text or inputs.node.policy)
    return replace(inputs, kubelet=kubelet, node=node)


def _flags(patch: Settings, kubelet: Kubelet) -> list[str] | None:
    """Write settings as flags of the kubelet that has them; None if one has no flag that sets it alone."""
    config = kubelet.config
    options = {
        "cpuManagerPolicyOptions": config.cpu_manager_policy_options,
        "topologyManagerPolicyOptions": config.topology_manager_policy_options,
    }
    flags: list[str] = []
    for name, change in patch.items():
        flag = flag_that_sets(name, kubelet.version.minor)
        if name in options:  # a flag replaces the whole mapping, so it must contain every option
            flags += (f"--{flag}={option}={value}" for option, value in options[name].items())
        elif flag and isinstance(change.value, str | int):
            value = str(change.value)
            flags.append(f"--{flag}={value.lower() if isinstance(change.value, bool) else value}")
        else:
            return None
    return flags


def _kubelet(setup: KubeletSetup, overrides: SettingOverrides, sources: Sources) -> Kubelet:
    """Load the configuration once as it is, and once with the settings as flags on top."""
    patch = {name: change for name, change in overrides.patch.items() if _known(name, setup, sources)}
    overrides = dataclasses.replace(overrides, patch=patch)
    settings = overrides.applied_to(load_setup(setup, Sources()).configuration.settings)
    gates = {**setup.gate_flags, **overrides.gates}
    return load_setup(replace(setup, overrides=settings, gate_flags=gates), sources).kubelet


def _known(name: str, setup: KubeletSetup, sources: Sources) -> bool:
    since = SINCE.get(name, 0)
    if since > setup.version.minor:
        why = f"kubelet {setup.version} does not know {name}, which was added in 1.{since}"
        sources.warnings.append(f"{option_names.COMPARE}: {why}")
    return since <= setup.version.minor


def _fragmentation(plan: Plan) -> Fragmentation | None:
    from cpuctl.engine.capacity.capacity import fragmentation_of
    from cpuctl.engine.capacity.probe import settled
    from cpuctl.engine.node import Node

    return fragmentation_of(settled(plan.node)) if isinstance(plan.node, Node) else None
