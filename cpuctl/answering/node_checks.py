"""The checks of one node, from inputs to answers: its configuration, state files, and running containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.answering.parts import spell_out_fixes
from cpuctl.audit.commands import RESTART
from cpuctl.diagnostics import worst_first
from cpuctl.documents.files import source_name
from cpuctl.engine.start import Started
from cpuctl.engine.state_checks.findings import REPAIR
from cpuctl.errors import CpuctlError
from cpuctl.inputs.configuration import LIVE_MACHINE
from cpuctl.inputs.kubelet import load_kubelet, own_release_is_known, release_is_known
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.state_files import NO_STATE_FILES, CheckpointInputs
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.command_lines import checkpoint_commands
from cpuctl.option_names import NO_POD_LEFT
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpuctl.answers.audit import Audit
    from cpuctl.answers.checkpoint import CheckpointVerify
    from cpuctl.answers.config import ConfigCheck
    from cpuctl.audit.finding import Finding
    from cpuctl.audit.snapshot import NodeSnapshot
    from cpuctl.inputs.configuration import LoadedKubelet
    from cpuctl.inputs.live_node import LiveNode, NodeInputs
    from cpuctl.inputs.state_files import StateInput
    from cpuctl.machine.sources import MachineSource


def check_configuration(
    inputs: CheckpointInputs,
    source: MachineSource,
    cgroup_version: int,
    sources: Sources,
    *,
    with_states: bool = True,
) -> ConfigCheck:
    """Check whether a kubelet would start on a machine, *with_states* also on its state files.

    Raise CpuctlError for inputs that cannot be used.
    """
    document = _configuration(inputs, source, cgroup_version, sources, with_states=with_states)
    spelt_out = checkpoint_commands(inputs, released=release_is_known(sources))
    spell_out_fixes(document["findings"], spelt_out)
    return document


def _configuration(
    inputs: CheckpointInputs,
    source: MachineSource,
    cgroup_version: int,
    sources: Sources,
    *,
    with_states: bool,
) -> ConfigCheck:
    from cpuctl.answering.config.check_answer import CheckedStart, check_document, unloaded_document
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.operations.configuration import (
        NO_STATES,
        check_kubelet,
        cpu_side_starts,
        driver_lints,
        exceeds_capacity,
        states_of_node,
        verdict_on,
    )
    from cpuctl.operations.reservable import reservable_cpus

    try:
        loaded = load_kubelet(inputs.kubelet, sources, machine=source)
    except ConfigRefusedError as refused:
        known = sources.entries.get("kubeletVersion")
        release = KubeletVersion.parse(known["value"]) if known else None
        return unloaded_document(refused, sources.entries, release)
    # Warnings of the configuration are findings here, and are not repeated on stderr.
    findings = set(map(str, loaded.configuration.warnings))
    sources.warnings[:] = [text for text in sources.warnings if text not in findings]
    loaded = loaded.on_cgroups(cgroup_version)
    found = states_of_node(source, loaded, sources, inputs.state) if with_states else NO_STATES
    states = found.files
    outcome, lints = check_kubelet(source, loaded)
    lints = worst_first([*lints, *driver_lints(source, loaded, inputs.driver_arguments, sources)])
    sources.add_unrecorded(loaded.kubelet.version.minor, ("the configuration",))
    saved = states if with_states or isinstance(outcome, Started) else _saved(inputs, source, loaded)
    reserve = reservable_cpus(source, loaded.kubelet, saved)
    missing = (found.unseen, "" if cpu_side_starts(source, loaded) else _RESERVATIONS)
    exceeds = getattr(outcome, "stage", "") == "memoryManager" and exceeds_capacity(source, loaded.kubelet)
    start = CheckedStart(outcome, reserve, len(source.machine.numa_nodes), exceeds, found)
    if not states:
        return check_document(loaded, start, lints, sources.entries, missing)

    from cpuctl.answering.checkpoint.verdict_answer import as_findings, shortened_start

    verdict = verdict_on(source, loaded, states)
    notes = as_findings(verdict, states)
    start = start._replace(outcome=verdict.start)
    document = check_document(loaded, start, lints, sources.entries, missing, notes)
    document["start"] = shortened_start(document["start"])
    return document


_RESERVATIONS = "reservations and effects of policies, which need a kubelet that starts"
"""What is not checked if a start does not get that far."""


def _saved(inputs: CheckpointInputs, source: MachineSource, loaded: LoadedKubelet) -> tuple[StateInput, ...]:
    """Return state files that are not checked here, but show which CPUs pods have; none if unreadable."""
    from cpuctl.operations.configuration import states_of_node

    try:
        return states_of_node(source, loaded, Sources(), inputs.state).files
    except CpuctlError:
        return ()


def verify_state(
    inputs: CheckpointInputs, sources: Sources, source: MachineSource | None = None
) -> CheckpointVerify:
    """Check whether a kubelet would start on its state files, and what else is wrong with them.

    *source* is the machine, if already read. Raise CpuctlError for inputs that cannot be used.
    """
    from cpuctl.answering.checkpoint.parts import kubelet_answer
    from cpuctl.answering.checkpoint.verdict_answer import unloaded_document, verdict_document
    from cpuctl.operations.checkpoint.proposals import proposed
    from cpuctl.operations.checkpoint.states import lacks_states, read_checkpoint_case, read_host

    requested = inputs
    try:
        inputs, host = read_host(inputs, sources, assumes=True, source=source)
    except ConfigRefusedError as refused:
        return unloaded_document(refused, sources.entries)
    case = read_checkpoint_case(inputs, host, sources)
    kubelet = kubelet_answer(host.kubelet, case.reader)
    document = verdict_document(proposed(case), case.states, sources.entries, kubelet)
    if lacks_states(case) and document["start"]["outcome"] == "Started":
        document["start"] = {"outcome": "Undetermined", "why": NO_STATE_FILES}
    root_dir = host.kubelet.config.root_dir
    spelt_out = checkpoint_commands(requested, released=host.kubelet.released, root_dir=root_dir)
    spell_out_fixes(document["findings"], spelt_out)
    return document


def audit_node(
    inputs: NodeInputs, node: LiveNode, snapshot: NodeSnapshot, checks: Sequence[str], sources: Sources
) -> Audit:
    """Compare an observed node with the state that its kubelet assumes."""
    from cpuctl.audit.checks import audit, by_cause
    from cpuctl.inputs.pods import doubts_about_pods

    if inputs.pods:
        known = snapshot.uids | snapshot.state.entries.keys()
        sources.warn(*doubts_about_pods(snapshot.pods, source_name(inputs.pods), known))
    document = audited_node(node, snapshot, by_cause(audit(snapshot, checks)), checks, sources)
    spelt_out = audit_commands(inputs, sources, node)
    if inputs.pods and _no_pod_left(snapshot):
        spell_out_fixes(document["findings"], lambda fix: NO_POD_LEFT if REPAIR in fix else spelt_out(fix))
    else:
        spell_out_fixes(document["findings"], spelt_out)
    return document


def _no_pod_left(snapshot: NodeSnapshot) -> bool:
    """Return whether no listed pod is in the state files, so that a repair would refuse the list."""
    from cpuctl.engine.state_checks.answer_findings import SavedStates
    from cpuctl.engine.state_checks.owners import Owners

    state = snapshot.state
    saved = SavedStates(state.cpu, state.memory, state.devices).uids
    return Owners(snapshot.pods).all_gone(saved)


def audited_node(
    node: LiveNode,
    snapshot: NodeSnapshot,
    findings: Sequence[Finding],
    checks: Sequence[str],
    sources: Sources,
) -> Audit:
    """Describe the findings on a node; their proposed commands lack the given options."""
    from cpuctl.answering.audit_answer import audit_document

    unreadable = node.files.unreadable
    return audit_document(snapshot, findings, sources.entries, checks=checks, unreadable=unreadable)


def audit_commands(inputs: NodeInputs, sources: Sources, node: LiveNode) -> Callable[[str], str]:
    """Return the function that adds the given options to a command proposed by a finding.

    A given release that may be that of an upgrade is left out of commands for the kubelet on the node.
    """
    recorded, below = inputs.machine != LIVE_MACHINE, inputs.root not in ("", "/")
    here, there = _given_here(inputs), _given_there(inputs)
    own = inputs.kubelet.version and own_release_is_known(node.source)

    def completed(fix: str) -> str:
        # Commands that repair a node are run there, never on its recording. A debugging pod has the node's
        # files below its root, but not its services.
        on_node = recorded or (below and "systemctl" in fix)
        given = there if on_node else here
        # What restarts is the kubelet that is installed there, whatever release was given here.
        if "cpuctl audit" not in fix if own else on_node and fix == RESTART:
            given = replace(given, kubelet=replace(given.kubelet, version=""))
        return checkpoint_commands(given, released=on_node or release_is_known(sources))(fix)

    return completed


def _given_here(inputs: NodeInputs) -> CheckpointInputs:
    return CheckpointInputs(
        state=inputs.state, kubelet=inputs.kubelet, pods=inputs.pods, root=inputs.root or "/"
    )


def _given_there(inputs: NodeInputs) -> CheckpointInputs:
    """Return the options for the node itself, where files given here do not exist."""
    kubelet = replace(inputs.kubelet, config=None, config_dir=None)
    return CheckpointInputs(kubelet=kubelet, pods="FILE" if inputs.pods else "")
