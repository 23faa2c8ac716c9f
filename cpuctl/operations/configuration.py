"""What ``cpuctl config`` requests from the engine: start, findings, and both in another release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from cpuctl import option_names
from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lint import Lint, LintSubject
from cpuctl.engine.config_lints.lints import lint_configuration
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import KubeletFault, StartRefused, Undetermined
from cpuctl.engine.start import Started, check_start
from cpuctl.engine.state_start import fails_on_files, start_on
from cpuctl.errors import NodeAccessError, UsageError
from cpuctl.golang.text import GoError
from cpuctl.inputs.configuration import LIVE_MACHINE, flags_of, load_setup
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError, Refusal
from cpuctl.kubelet.configuration.schema import SINCE
from cpuctl.kubelet.configuration.settings import OriginKind
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.releases.changes import ChangeSubject, VersionChanges, version_changes
from cpuctl.kubelet.version import NEWEST, KubeletVersion
from cpuctl.records import replace
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpuctl.engine.release_effects import Effects
    from cpuctl.engine.state_checks.verify import StateVerdict
    from cpuctl.inputs.configuration import KubeletInputs, LoadedKubelet
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.inputs.state_files import StateInput
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.machine.sources import MachineSource
    from cpuctl.operations.plan_inputs import NodeOptions


NotStartedOutcome: TypeAlias = StartRefused | KubeletFault | Undetermined | Refusal
StartOutcome: TypeAlias = Started | NotStartedOutcome
"""Whether a kubelet starts, or where it fails: at its start, or earlier, while loading its configuration."""


def check_kubelet(
    source: MachineSource, loaded: LoadedKubelet
) -> tuple[Started | StartRefused | KubeletFault | Undetermined, list[Lint]]:
    """Start a kubelet on a machine, and lint its configuration."""
    kubelet = loaded.kubelet
    outcome = start_on(source.info, kubelet).outcome
    subject = LintSubject(
        config=kubelet.config,
        gates=kubelet.gates,
        gate_flags=dict(kubelet.gate_flags),
        machine=source.machine,
        topology=_topology(source.info, kubelet),
        cgroup_version=kubelet.cgroup_version,
        **_of_groups(source, kubelet.config.cgroup_root),
        started=_cpu_side(source.info, kubelet),
        info=source.info,
    )
    return outcome, lint_configuration(subject)


def exceeds_capacity(source: MachineSource, kubelet: Kubelet) -> bool:
    """Return whether more is reserved than a machine has, which a kubelet checks after its Memory Manager."""
    config = replace(kubelet.config, memory_manager_policy="None")
    later = start_on(source.info, replace(kubelet, config=config)).outcome
    return isinstance(later, StartRefused) and later.stage == "nodeAllocatable"


def driver_lints(
    source: MachineSource, loaded: LoadedKubelet, arguments: str, sources: Sources
) -> Iterator[Lint]:
    """Report what conflicts with the driver for CPUs, which runs on the node or is planned with *arguments*.

    If a driver is only known from its files, its flags are unknown.
    """
    from cpuctl.machine.recording_layout import CDI_FILES

    files, config = source.files, loaded.kubelet.config
    if not arguments and (files is None or all(files.read(path) is None for path in CDI_FILES)):
        return

    from cpuctl.dra.conflicts import conflicts, static_conflict
    from cpuctl.inputs.dra import driver_for_kubelet, read_driver_arguments

    if arguments:
        driver = driver_for_kubelet(read_driver_arguments(arguments), source, sources, None)
        found = conflicts(driver.machine, driver.settings, config)
    else:
        found = static_conflict(config)
    for each in found:
        if each.setting:
            severity = Severity.ERROR if each.breaks else Severity.WARNING
            yield Lint(severity=severity, code=each.code, place=(each.setting,), message=each.text)


class NodeStates(NamedTuple):
    """The state files that a kubelet would start on.

    ``unseen`` says that they were not read, and names the command that does; ``closed`` why the start is then
    unknown, if they exist but may not be read.
    """

    files: tuple[StateInput, ...]
    unseen: str = ""
    closed: str = ""

    def doubted(self, outcome: StartOutcome) -> StartOutcome:
        """Return the outcome of a start without files; a success is undetermined if there are closed ones."""
        return Undetermined(self.closed) if self.closed and isinstance(outcome, Started) else outcome


def states_of_node(
    source: MachineSource, loaded: LoadedKubelet, sources: Sources, name: str = ""
) -> NodeStates:
    """Read the state files that *name* names, else the machine's."""
    from cpuctl.inputs.state_files import StatePlace, read_states

    if name == option_names.NO_STATE:
        sources.add("state", option_names.EMPTY_STATE, "given")
        return NodeStates(())
    if name:
        return NodeStates(read_states(name, StatePlace(machine=source), sources))
    read = Sources()
    try:
        place = StatePlace(machine=source, directory=loaded.kubelet.config.root_dir)
        states = read_states("", place, read) if source.files is not None else ()
    except NodeAccessError as error:
        closed = f"{error.where}: {error.message} ({error.hint}, or use {_EMPTY} to check an empty node)"
        unseen = f"state files: {error.message} (see sudo cpuctl checkpoint verify)"
        return NodeStates((), unseen, closed)
    if not states and source.origin != LIVE_MACHINE:
        return NodeStates((), f"state files: {source.origin} has none (see cpuctl checkpoint verify STATE)")
    sources.entries.update(read.entries)
    if states:
        sources.add_unrecorded(loaded.kubelet.version.minor, ("state files",))
    return NodeStates(states)


NO_STATES = NodeStates(())
_EMPTY = f"{option_names.STATE} {option_names.NO_STATE}"


def verdict_on(source: MachineSource, loaded: LoadedKubelet, states: tuple[StateInput, ...]) -> StateVerdict:
    """Start a kubelet on state files, as ``cpuctl checkpoint verify`` does."""
    from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS
    from cpuctl.operations.checkpoint.proposals import proposed
    from cpuctl.operations.checkpoint.states import CheckpointCase, KubeletHost, knowing_reader

    reader = knowing_reader(loaded.kubelet, UNKNOWN_OWNERS)
    host = KubeletHost(source=source, loaded=loaded)
    return proposed(CheckpointCase(host=host, states=states, owners=UNKNOWN_OWNERS, reader=reader))


class VersionStart(NamedTuple):
    """How the start of one release ends; ``on_files``: only because of a state file."""

    outcome: StartOutcome
    on_files: bool = False


def _start(source: MachineSource, loaded: LoadedKubelet, states: NodeStates) -> VersionStart:
    if not states.files:
        return VersionStart(states.doubted(start_on(source.info, loaded.kubelet).outcome))
    outcome = verdict_on(source, loaded, states.files).start
    if isinstance(outcome, Started):
        return VersionStart(outcome)
    return VersionStart(outcome, fails_on_files(outcome, source.info, loaded.kubelet))


def cpu_side_starts(source: MachineSource, loaded: LoadedKubelet) -> bool:
    """Return whether the start of a kubelet gets as far as its reservations, so that they are checked."""
    return _cpu_side(source.info, loaded.kubelet) is not None


def _cpu_side(info: MachineInfo, kubelet: Kubelet) -> Started | None:
    """Start without a memory manager: findings about CPUs do not depend on it."""
    config = replace(kubelet.config, memory_manager_policy="None")
    outcome = check_start(info, replace(kubelet, config=config))
    return outcome if isinstance(outcome, Started) else None


def _of_groups(source: MachineSource, cgroup_root: str) -> dict[str, Any]:
    """Examine the control groups above the pods, if the machine includes its groups."""
    if source.files is None:
        return {}
    from cpuctl.cgroups.ceilings import ceilings, partitioned_cpus
    from cpuctl.cgroups.hierarchies import find_hierarchies
    from cpuctl.engine.config_lints.lint import Ceiling

    at = find_hierarchies(source.files)
    if at is None:
        return {}
    found = (Ceiling(*each) for each in ceilings(source.files, at, cgroup_root))
    return {"ceilings": tuple(found), "partitioned": partitioned_cpus(source.files, at)}


def _topology(info: MachineInfo, kubelet: Kubelet) -> CPUTopology | None:
    try:
        return CPUTopology.discover(info, knows_books=kubelet.gates.release.knows_books)
    except GoError:
        return None


def next_version(text: str, current: KubeletVersion) -> KubeletVersion:
    """Read the target release; without one, it is the next known release.

    Raise UsageError for anything that is not a known release.
    """
    if not text:
        if current.minor >= NEWEST:
            hint = f"specify another version, up to {current}"
            raise UsageError(f"no version after {current} is known", where=option_names.TO, hint=hint)
        return KubeletVersion(current.minor + 1)
    try:
        return KubeletVersion.parse(text)
    except ValueError as error:
        raise UsageError(str(error), where=option_names.TO) from None


def compare_versions(
    source: MachineSource, loaded: LoadedKubelet, version: KubeletVersion, states: NodeStates = NO_STATES
) -> tuple[VersionChanges, tuple[VersionStart, VersionStart], LoadedKubelet | None]:
    """Compare with another release: the differences, whether each kubelet would start, and the other one.

    Both start on *states*, files of the node. The other is None if it cannot load the configuration.
    """
    from cpuctl.inputs.kubelet import found_cgroup_version

    kubelet, configuration = loaded.kubelet, loaded.configuration
    uses_drop_ins = loaded.setup.drop_ins is not None
    subject = ChangeSubject(
        config=kubelet.config,
        gates=_gate_settings(kubelet),
        set_fields=frozenset(
            name
            for name, setting in configuration.settings.items()
            if setting.origin.kind is not OriginKind.DEFAULT
        ),
        uses_drop_ins=uses_drop_ins,
        flags=frozenset(flags_of(loaded.setup.arguments).names)
        | ({"config-dir"} if uses_drop_ins else set()),
        may_have_books=source.machine.may_have_books,
        cgroup_version=found_cgroup_version(source),
        cpu_state_v1=any(
            (each.file_name, each.inspection.format) == (CPU_FILE, "V1") for each in states.files
        ),
    )
    changes = version_changes(subject, kubelet.version, version, SINCE)
    here = _start(source, loaded, states)
    try:
        other = load_setup(replace(loaded.setup, version=version, released=True), Sources())
    except ConfigRefusedError as refused:
        return changes, (here, VersionStart(refused.whole_refusal)), None
    other = other.on_cgroups(kubelet.cgroup_version)
    return changes, (here, _start(source, other, states)), other


class VersionsInputs(NamedTuple):
    """A configuration and another release for it; state files and running pods by name; incoming pods.

    ``node`` has the devices that pods can use.
    """

    kubelet: KubeletInputs
    to_version: str
    state: str
    running: str
    incoming: GivenPods
    node: NodeOptions


class Comparison(NamedTuple):
    """What another release changes: by the rules, for the start, and for the node's state and pods.

    ``effects`` are None if there is nothing to try them on.
    """

    loaded: LoadedKubelet
    target: KubeletVersion
    changes: VersionChanges
    starts: tuple[VersionStart, VersionStart]
    effects: Effects | None
    states: NodeStates

    @property
    def can_change(self) -> bool:
        """Whether the other kubelet certainly starts, and admits the pods that this one admits."""
        starts = isinstance(self.starts[1].outcome, Started)
        return starts and (self.effects is None or self.effects.keeps_pods)


class Uncompared(NamedTuple):
    """A configuration that the current kubelet cannot load, and what the other does with it."""

    target: KubeletVersion
    refusal: Refusal
    other: VersionStart
    states: NodeStates = NO_STATES
    effects: Effects | None = None


def compare_on(source: MachineSource, inputs: VersionsInputs, sources: Sources) -> Comparison | Uncompared:
    """Read the inputs, and compare on a machine; raise UsageError for an unknown release."""
    from cpuctl.inputs.kubelet import load_cgroup_version, load_kubelet
    from cpuctl.inputs.pods import load_running, rules_of_pods
    from cpuctl.operations.release_trial import ReleaseTrial

    try:
        loaded = load_kubelet(inputs.kubelet, sources, machine=source)
    except ConfigRefusedError as refused:
        return _uncompared(source, inputs, refused.whole_refusal, sources)
    loaded = loaded.on_cgroups(load_cgroup_version("", source, sources))
    target = next_version(inputs.to_version, loaded.kubelet.version)
    found = states_of_node(source, loaded, sources, inputs.state)
    running = load_running(inputs.running, rules_of_pods(loaded.kubelet), sources)
    changes, starts, other = compare_versions(source, loaded, target, found)
    effects, trial = None, ReleaseTrial(source, found.files, running, inputs.incoming, inputs.node)
    if not trial.is_empty:
        releases = None if other is None else (loaded, other)
        effects = trial.effects(releases, changes, sources) if releases else trial.alone(loaded, sources)
    sources.add_unrecorded(
        target.minor, ("the configuration", "state files") if found.files else ("the configuration",)
    )
    return Comparison(loaded, target, changes, starts, effects, found)


def _uncompared(
    source: MachineSource, inputs: VersionsInputs, refusal: Refusal, sources: Sources
) -> Uncompared:
    """Start only the other kubelet: the differences depend on settings that cannot be read."""
    from cpuctl.engine.release_effects import NO_EFFECTS
    from cpuctl.inputs.kubelet import load_cgroup_version, load_kubelet
    from cpuctl.inputs.pods import load_running, rules_of_pods
    from cpuctl.operations.release_trial import ReleaseTrial

    current = KubeletVersion.parse(sources.entries["kubeletVersion"]["value"])
    target = next_version(inputs.to_version, current)
    try:
        other = load_kubelet(replace(inputs.kubelet, version=str(target)), Sources(), machine=source)
    except ConfigRefusedError as refused:
        uncompared = NO_EFFECTS if inputs.running or inputs.incoming.pods else None
        return Uncompared(target, refusal, VersionStart(refused.whole_refusal), effects=uncompared)
    other = other.on_cgroups(load_cgroup_version("", source, sources))
    found = states_of_node(source, other, sources, inputs.state)
    running = load_running(inputs.running, rules_of_pods(other.kubelet), sources)
    trial = ReleaseTrial(source, found.files, running, inputs.incoming, inputs.node)
    effects = None if trial.is_empty else trial.alone(other, sources, is_newer=True)
    return Uncompared(target, refusal, _start(source, other, found), found, effects)


def _gate_settings(kubelet: Kubelet) -> dict[str, bool]:
    return {**kubelet.config.feature_gates, **kubelet.gate_flags}
