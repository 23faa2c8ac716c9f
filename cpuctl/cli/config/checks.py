"""What ``cpuctl config`` asks of the engine: start, remarks, and the same in another release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.cli.sources.config_inputs import flags_of, load_told
from cpuctl.cli.sources.sources import Sources
from cpuctl.engine.config_lints.lint import Lint, LintSubject
from cpuctl.engine.config_lints.lints import lint_configuration
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import KubeletFault, StartRefused, Undetermined
from cpuctl.engine.start import Started, check_start
from cpuctl.errors import UsageError
from cpuctl.go_text import GoError
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.schema import SINCE
from cpuctl.kubelet.configuration.settings import OriginKind
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.releases.changes import ChangeSubject, VersionChanges, version_changes
from cpuctl.kubelet.version import NEWEST, KubeletVersion

if TYPE_CHECKING:
    from cpuctl.cli.answers.config.parts import StartOutcome
    from cpuctl.cli.sources.config_inputs import ToldKubelet
    from cpuctl.cli.sources.inputs import GivenPods
    from cpuctl.cpuset import CPUSet
    from cpuctl.engine.release_effects import Effects
    from cpuctl.machine.cadvisor.machine_info import MachineInfo
    from cpuctl.machine.sources import MachineSource


def check_told(
    source: MachineSource, told: ToldKubelet
) -> tuple[Started | StartRefused | KubeletFault | Undetermined, list[Lint]]:
    """Start a kubelet on a machine, and look for what else is wrong."""
    kubelet = told.kubelet
    outcome = check_start(source.info, kubelet)
    subject = LintSubject(
        config=kubelet.config,
        gates=kubelet.gates,
        gate_flags=dict(kubelet.gate_flags),
        machine=source.machine,
        topology=_topology(source.info),
        reachable=_reachable(source),
        started=_cpu_side(source.info, kubelet),
        info=source.info,
    )
    return outcome, lint_configuration(subject)


def _cpu_side(info: MachineInfo, kubelet: Kubelet) -> Started | None:
    """Start without a memory manager: what there is to remark on CPUs does not depend on it."""
    config = kubelet.config._replace(memory_manager_policy="None")
    outcome = check_start(info, kubelet._replace(config=config))
    return outcome if isinstance(outcome, Started) else None


def _reachable(source: MachineSource) -> CPUSet | None:
    """Return the CPUs of the control groups above the pods, where the machine comes with its groups."""
    if source.files is None:
        return None
    from cpuctl.cgroups.hierarchies import find_hierarchies, reachable_cpus

    hierarchies = find_hierarchies(source.files)
    return None if hierarchies is None else reachable_cpus(source.files, hierarchies)


def _topology(info: MachineInfo) -> CPUTopology | None:
    try:
        return CPUTopology.discover(info)
    except GoError:
        return None


def next_version(text: str, current: KubeletVersion) -> KubeletVersion:
    """Read the release to go to; without one, the next that is known.

    Raise UsageError for what is no release, or none that is known.
    """
    if not text:
        return KubeletVersion(min(current.minor + 1, NEWEST))
    try:
        return KubeletVersion.parse(text)
    except ValueError as error:
        raise UsageError(str(error), where="--to") from None


def compare_versions(
    source: MachineSource, told: ToldKubelet, version: KubeletVersion
) -> tuple[VersionChanges, tuple[StartOutcome, StartOutcome], Kubelet | None]:
    """Compare with another release: the differences, whether each of the two would start, and the other.

    The other kubelet is None where it cannot load the configuration.
    """
    kubelet, loaded = told.kubelet, told.loaded
    uses_drop_ins = told.told.drop_ins is not None
    subject = ChangeSubject(
        config=kubelet.config,
        gates=_gate_settings(kubelet),
        set_fields=frozenset(
            name for name, setting in loaded.settings.items() if setting.origin.kind is not OriginKind.DEFAULT
        ),
        uses_drop_ins=uses_drop_ins,
        flags=frozenset(flags_of(told.told.arguments).names) | ({"config-dir"} if uses_drop_ins else set()),
    )
    changes = version_changes(subject, kubelet.version, version, SINCE)
    here = check_start(source.info, kubelet)
    try:
        other = load_told(told.told._replace(version=version), Sources())
    except ConfigRefusedError as refused:
        return changes, (here, refused.refusal), None
    return changes, (here, check_start(source.info, other.kubelet)), other.kubelet


def pods_between(
    source: MachineSource, kubelets: tuple[Kubelet, Kubelet], given: GivenPods, changes: VersionChanges
) -> Effects:
    """Let both kubelets decide on pods, and try each difference that is the release's alone."""
    from cpuctl.cli.sources.node_state import rules_of_pods
    from cpuctl.engine.release_effects import effects_of
    from cpuctl.kubelet.releases.behaviours import Behaviours

    names = [each.name for each in changes.behaviours if each.name in Behaviours._fields]
    return effects_of(source.info, kubelets, given.stored(rules_of_pods(kubelets[0])), names)


def _gate_settings(kubelet: Kubelet) -> dict[str, bool]:
    return {**kubelet.config.feature_gates, **kubelet.gate_flags}
