"""The answer of ``cpuctl config check`` as a plain document (schema: ``cpuctl schema configcheck``)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.answering import API_VERSION
from cpuctl.answering.config.corrections import RESERVED, correction, reserving
from cpuctl.answering.config.flag_fixes import in_flags
from cpuctl.answering.config.parts import pools_answer, unread_inputs
from cpuctl.answering.config.starts import (
    gate_by_flag,
    leave_out,
    place_of,
    setting_place,
    settings_to_fix,
    start_answer,
    start_finding,
    start_text,
    start_to_fix,
)
from cpuctl.answering.kubelet_view import topology_counts
from cpuctl.answering.parts import found, graded
from cpuctl.diagnostics import Severity, counts, worst_first
from cpuctl.engine.config_lints.lint import Lint
from cpuctl.engine.outcome import KubeletFault, StartRefused, Undetermined
from cpuctl.engine.start import Started
from cpuctl.errors import InputError
from cpuctl.kubelet.configuration.loading import LoadedConfiguration
from cpuctl.kubelet.configuration.misplaced import moved_out
from cpuctl.kubelet.configuration.notes import ConfigRemark, SettingPlace
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.settings import OriginKind, path_name
from cpuctl.kubelet.kubelet import NO_CONFIGURATION
from cpuctl.kubelet.validation.later import not_checked
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.operations.command_lines import CONFIG_CHECK, RESERVE_CPUS
from cpuctl.operations.configuration import NO_STATES, NodeStates
from cpuctl.operations.reservable import ReservableCPUs
from cpuctl.phrases import REPAIR_STEPS, all_of, named
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answers import config as answers
    from cpuctl.answers.start import Start
    from cpuctl.answers.values import Sources
    from cpuctl.inputs.configuration import LoadedKubelet
    from cpuctl.operations.configuration import StartOutcome


class CheckedStart(NamedTuple):
    """How a kubelet's start ends on a machine, and what to reserve there if it rejects the reserved CPUs.

    ``numa_nodes`` is how many NUMA nodes the machine has, and ``exceeds`` whether a later check would find
    more reserved than it has. The outcome is that on the files of ``states``.
    """

    outcome: StartOutcome
    reservable: ReservableCPUs
    numa_nodes: int
    exceeds: bool = False
    states: NodeStates = NO_STATES


def check_document(
    loaded: LoadedKubelet,
    start: CheckedStart,
    lints: Sequence[Lint],
    sources: Sources,
    unseen: Sequence[str] = (),
    in_states: Sequence[ConfigRemark] = (),
) -> answers.ConfigCheck:
    """Report whether the kubelet would start, and all other findings, including those *in_states*.

    An error in a state file replaces the failed start that it causes. *unseen* names what was not checked,
    with the command that checks it.
    """
    configuration, outcome = loaded.configuration, start.outcome
    notes = [finding_place(configuration, lint) for lint in lints]
    refused = tuple(_refusal(configuration, start, (*notes, *in_states)))
    errors, warnings = _attributed((*refused, *notes), configuration.warnings)
    if start.states.files and isinstance(outcome, Started):
        errors, warnings = [*map(_with_repair, errors)], [*map(_with_repair, warnings)]
    findings = worst_first((*errors, *warnings, *in_states))
    ending = start_to_fix(configuration, start.states.doubted(outcome))
    document = _document(sources, loaded.kubelet.version, ending, findings)
    if isinstance(outcome, Started):
        document["node"] = _node(outcome)
    inputs: list[answers.NotChecked] = [
        {"settings": [], "what": each} for each in unread_inputs(sources, *unseen)
    ]
    document["notChecked"] = [*inputs, *document["notChecked"]]
    return document


def _refusal(
    loaded: LoadedConfiguration, start: CheckedStart, notes: Sequence[ConfigRemark]
) -> Iterator[ConfigRemark]:
    """Add a failed start with its fix to the findings as an error, unless a finding already reports it.

    A start whose outcome is unknown is not an error.
    """
    outcome = start.outcome
    if isinstance(outcome, Started):
        return
    paths = settings_to_fix(outcome)
    severity, code = start_finding(outcome)
    names = [path_name(path) for path in paths]
    if severity is Severity.ERROR and any(_concerns(note, names) for note in notes):
        return
    finding = Lint(
        severity=severity,
        code=code,
        place=gate_by_flag(loaded, paths[0], start_text(outcome)) if paths else (),
        message=start_text(outcome),
        fix=suggested_fix(start, loaded),
    )
    yield finding_place(loaded, finding)
    if isinstance(outcome, Undetermined) and outcome.without_flags is not None:
        yield from _without_flags(loaded, start._replace(outcome=outcome.without_flags), notes)


def _without_flags(
    loaded: LoadedConfiguration, start: CheckedStart, notes: Sequence[ConfigRemark]
) -> Iterator[ConfigRemark]:
    """Add what to change if the kubelet, whose flags are unknown, has none."""
    paths = settings_to_fix(start.outcome)
    fix = suggested_fix(start, loaded)
    if not fix or any(_concerns(note, [path_name(path) for path in paths]) for note in notes):
        return
    finding = Lint(
        severity=Severity.NOTE,
        code="not-started-without-flags",
        place=paths[0] if paths else (),
        message=f"without flags, the kubelet would not start: {start_text(start.outcome)}",
        fix=fix,
    )
    yield finding_place(loaded, finding)


def _attributed(
    errors: Sequence[ConfigRemark], warnings: Sequence[ConfigRemark]
) -> tuple[Sequence[ConfigRemark], Sequence[ConfigRemark]]:
    """Report a misspelt or misplaced setting as the error that its absence causes: one mistake."""
    for missing in errors:
        for each in warnings if missing.severity is Severity.ERROR else ():
            if each.code == "unknown-field" and _needs(missing.place.setting, each.expected):
                error = replace(each, severity=missing.severity, code=missing.code)
                others = [other for other in errors if other is not missing]
                return [error, *others], [other for other in warnings if other is not each]
    return errors, warnings


def _needs(setting: str, ignored: str) -> bool:
    """Return whether a setting is wrong because another, or itself, is *ignored*."""
    if setting == "reservedMemory" and _ADDED_UP.fullmatch(ignored):
        return True
    return ignored != "" and ignored in (setting, _NEEDED_BY.get(setting))


_NEEDED_BY = {"cpuManagerPolicyOptions": "cpuManagerPolicy"}
_ADDED_UP = re.compile(
    r"reservedMemory\[.*|(?:kube|system)Reserved(?:\.memory)?|evictionHard(?:\[\"memory\.available\"\])?"
)
"""Settings whose amounts of memory a kubelet compares."""


def _concerns(note: ConfigRemark, names: Sequence[str]) -> bool:
    """Return whether a finding is an error about one of these settings; without names, any error."""
    setting = note.place.setting
    about = not names or any(_within(setting, name) or _within(name, setting) for name in names)
    return note.severity is Severity.ERROR and about


def _within(part: str, whole: str) -> bool:
    return part == whole or part.startswith((f"{whole}.", f"{whole}["))


def unloaded_document(
    refused: ConfigRefusedError, sources: Sources, release: KubeletVersion | None
) -> answers.ConfigCheck:
    """Describe a configuration that the kubelet cannot even load; its *release* may be unknown."""
    start = start_answer(refused.whole_refusal)
    findings = [_unloaded(refused, "not-loaded", refused.message)]
    later = "checked once the first error is fixed"
    findings += [_unloaded(each, "not-loaded-next", f"{each.message} ({later})") for each in refused.others]
    document = _document(sources, release, start, findings)
    states = "state files, which the kubelet reads after loading its configuration"
    document["notChecked"].insert(0, {"settings": [], "what": states})
    return document


def _unloaded(error: InputError, code: str, message: str) -> ConfigRemark:
    place = setting_place(error.where)
    return ConfigRemark(
        severity=Severity.ERROR,
        code=code,
        place=place,
        message=message,
        fix=error.hint or leave_out(place),
    )


def _document(
    sources: Sources, release: KubeletVersion | None, start: Start, findings: Sequence[ConfigRemark]
) -> answers.ConfigCheck:
    kubelet: answers.KnownRelease = {} if release is None else {"kubelet": {"version": str(release)}}
    parts: answers.CheckParts = {}
    unseen = not_checked(release.minor if release else None)
    return {
        "apiVersion": API_VERSION,
        "kind": "ConfigCheck",
        "sources": sources,
        **kubelet,
        **parts,
        "start": start,
        "summary": counts(findings),
        "findings": [finding_answer(finding) for finding in findings],
        "notChecked": [{"settings": list(each.fields), "what": each.what} for each in unseen],
    }


def _node(started: Started) -> answers.PooledNode | answers.UnpooledNode:
    counted: answers.CountedNode = {
        **topology_counts(started.topology),
        "topologyManagerPolicy": started.topology_manager.policy,
        "reservation": {name: str(amount) for name, amount in started.reserved.items()},
    }
    pools = pools_answer(started)
    if pools is None:
        return {"cpuManagerPolicy": "none", **counted}
    return {"cpuManagerPolicy": "static", **counted, **pools}


def finding_place(loaded: LoadedConfiguration, lint: Lint) -> ConfigRemark:
    """Return where a finding's setting is set; the fix of a setting that a flag sets names the flag."""
    setting, where = path_name(lint.place), place_of(loaded, lint.place) or ""
    moved = _moved_out(setting, loaded) if lint.fix == f"remove {setting}" else ""
    lint = replace(lint, fix=in_flags(moved or lint.fix, where, loaded))
    return lint.at(SettingPlace(setting, where))


def _with_repair(finding: ConfigRemark) -> ConfigRemark:
    """Add what to do with state files after a fix that changes a setting which they have to match."""
    fix = f"{finding.fix}; then {REPAIR_STEPS}"
    return replace(finding, fix=fix) if _IN_STATES.search(finding.fix) else finding


def finding_answer(note: ConfigRemark, *, unwritten: bool = False) -> answers.ConfigFinding:
    """Describe a finding and where its setting is set; if *unwritten*, without a place."""
    place = note.place
    where = None if unwritten else place.where or None
    return {**graded(note), "setting": place.setting or None, "where": where, **found(note)}


RESERVE = "cpuctl config reserve"
_IN_STATES = re.compile(
    r"\b(?:set|use|reserve|add) .*(?:reservedSystemCPUs|--reserved-cpus|reservedMemory|CPUs in total)"
    r"|\b(?:set|use) (?:(?:cpu|memory)ManagerPolicy\b|--(?:cpu|memory)-manager-policy=)"
    r"|strict-cpu-reservation"
)
"""Fixes that change what state files have to match."""
_PICKING = "CPU Manager, "
_ENFORCED = {"kubeReservedCgroup": "kube-reserved", "systemReservedCgroup": "system-reserved"}
"""The groups for reserved resources, with the entry of enforceNodeAllocatable that needs them."""
_KEPT = (*_ENFORCED, "failCgroupV1")
"""Settings that a kubelet also rejects if omitted: because they are required, or because of their default."""
_TO_SPECIFY = {
    option_names.KUBELET_VERSION: "VERSION",
    option_names.KUBELET_ARGS: "FLAGS",
    option_names.MEMORY: "QUANTITY",
}
"""What decides an undetermined start if the reason names the option, and what stands for its value."""
_UNRESERVED = "unable to determine reserved CPU resources for static policy"
_SHORT_OF_CPUS = "unable to reserve the required amount of CPUs"
_BY_COUNT = 'kubeReserved: {cpu: "1"} or systemReserved: {cpu: "1"}'
_OFFLINE = "is not a subset of online-cpus"
_MISSING = re.compile(r"\w+ is enabled, but depends on features that are disabled: \[([^]]*)\]")
_OPTIONS_OFF = re.compile(r'require feature gates .*"(\w+PolicyOptions)" enabled')
_BESIDE_GROUPS = "can't use reservedSystemCPUs"
_GRACELESS = r"grace period must be specified for the soft eviction threshold (\S+)"
_MANY_NODES = "unsupported on machines with more than"

UNSET: Mapping[str, str] = {
    "kubeReservedCgroup": "set kubeReservedCgroup, or remove kube-reserved from enforceNodeAllocatable",
    "systemReservedCgroup": "set systemReservedCgroup, or remove system-reserved from enforceNodeAllocatable",
    "imageGCLowThresholdPercent": "set imageGCHighThresholdPercent above imageGCLowThresholdPercent",
    "containerRuntimeEndpoint": "set containerRuntimeEndpoint, or remove --container-runtime-endpoint",
    "failCgroupV1": "set failCgroupV1: false, or boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)",
    "reservedMemory": f"use the values of this command: {RESERVE}",
}
"""Fixes for a required setting that is missing, or whose default the kubelet refuses."""


def suggested_fix(start: CheckedStart, loaded: LoadedConfiguration) -> str:
    """Return what to change; an empty text if the outcome does not show it."""
    outcome, reservable = start.outcome, start.reservable
    text = start_text(outcome)
    if isinstance(outcome, Undetermined):
        if NO_CONFIGURATION in text:
            return f"{CONFIG_CHECK} {option_names.KUBELET_CONFIG} FILE"
        options = (option for option in _TO_SPECIFY if option in text)
        return next((f"{CONFIG_CHECK} {option} {_TO_SPECIFY[option]}" for option in options), "")
    if fix := _of_reserved(text, reservable, loaded):
        return fix
    if isinstance(outcome, KubeletFault) and outcome.where.startswith(_PICKING):
        # Before any pods exist, the kubelet picks only the reserved CPUs.
        return f"list the reserved CPUs in {RESERVED}: the kubelet then picks none itself"
    if isinstance(outcome, KubeletFault) or getattr(outcome, "stage", "") == "featureGates":
        return _of_gates(text, loaded)
    if not isinstance(outcome, StartRefused):
        return ""
    if outcome.stage == "nodeAllocatable" or (start.exceeds and outcome.stage == "memoryManager"):
        return (
            "reserve less: kubeReserved, systemReserved and evictionHard together exceed the node's capacity"
        )
    if fix := _fix_of_error(text, start.numa_nodes):
        return fix
    if outcome.stage == "memoryManager" and "reserved" in text:
        return UNSET["reservedMemory"]
    paths = settings_to_fix(outcome)
    own = [path for path in paths if path[0] not in _KEPT and _is_set(loaded, *path)]
    corrected = {path: _corrected(loaded, path, text) for path in own}
    wrong = [_written(loaded, path) for path, meant in corrected.items() if not meant]
    own_fixes = (*corrected.values(), *_removals(wrong, loaded, text))
    missing = [path[0] for path in paths if path not in own]
    # Errors caused by another setting are fixed with that setting.
    others = [_unset(loaded, name) or ("" if own else f"set {name}") for name in missing]
    others.sort(key=lambda fix: RESERVE in fix)
    return "; ".join(filter(None, dict.fromkeys((*own_fixes, *others))))


def _removals(settings: Sequence[str], loaded: LoadedConfiguration, text: str) -> Iterator[str]:
    """Yield what to do about settings that have no correct value: some only have to be moved."""
    moved = {each: _moved_out(each, loaded) for each in settings}
    yield from filter(None, moved.values())
    if not (removed := ", ".join(each for each, way in moved.items() if not way)):
        return
    off, needed = _OPTIONS_OFF.search(text), _NEEDED_BY.get(removed, "")
    before = _gate_on(off[1], loaded) if off else ""
    if needed and not off and not _is_set(loaded, needed):
        before = f"set {needed}: static"
    yield ", or ".join(filter(None, (before, f"remove {removed}")))


def _moved_out(setting: str, loaded: LoadedConfiguration) -> str:
    return moved_out(setting, [name for name in loaded.settings if _is_set(loaded, name)])


def _of_gates(text: str, loaded: LoadedConfiguration) -> str:
    """Return what to change about the gates in an error: those that others depend on are enabled."""
    missing = dict.fromkeys(name for found in _MISSING.findall(text) for name in found.split())
    alone = _MISSING.sub("", text)
    names = [name for name in _given_gates(loaded) if re.search(rf"\b{re.escape(name)}\b", alone)]
    enabled = f"set featureGates: {{{', '.join(f'{name}: true' for name in missing)}}}" if missing else ""
    removed = f"remove {all_of(names)} from featureGates" if names else ""
    return "; ".join(filter(None, (enabled, removed)))


def _gate_on(gate: str, loaded: LoadedConfiguration) -> str:
    """Return how to enable a gate, which only the oldest releases disable by default."""
    given = gate in _given_gates(loaded)
    return f"remove {gate} from featureGates" if given else f"set featureGates: {{{gate}: true}}"


def _given_gates(loaded: LoadedConfiguration) -> Collection[str]:
    gates = loaded.settings.get("featureGates")
    return (gates.members if gates else None) or ()


def _of_reserved(text: str, reservable: ReservableCPUs, loaded: LoadedConfiguration) -> str:
    """Return what to change if the kubelet rejects the reserved CPUs; an empty text for other errors.

    Of CPUs that are not online, as little as possible is changed: other CPUs may belong to running pods.
    """
    # No list of CPUs is accepted beside these groups.
    grouped = bool(_groups(loaded))
    if _UNRESERVED in text and grouped:
        return f"reserve CPUs: set {_BY_COUNT}"
    if _UNRESERVED in text:
        return f"reserve CPUs: set {RESERVED} (a list such as 0), {_BY_COUNT}; {_by_list(reservable)}"
    if _SHORT_OF_CPUS in text:
        what = "reserve fewer CPUs than the machine has"
        return what if grouped else f"{what}; {_by_list(reservable)}"
    if _OFFLINE not in text:
        return ""
    online, kept = reservable.online, reservable.kept
    if listed := kept or reservable.others:
        whose = "" if kept else " (CPUs that no container has exclusively)"
        return ", or ".join(filter(None, (online, f"{reserving(str(listed))}{whose}")))
    others = f"{online}, or list other CPUs" if online else "list only online CPUs"
    return f"{others} in {RESERVED}; {_by_list(reservable)}"


def _by_list(reservable: ReservableCPUs) -> str:
    if reservable.others:
        return f"no container has {named(reservable.others)} exclusively"
    return f"for a list of CPUs of this machine: {RESERVE_CPUS} {reservable.size}"


def _corrected(loaded: LoadedConfiguration, path: tuple[str, ...], text: str) -> str:
    if path[0] == "reservedMemory" and loaded.config.memory_manager_policy == "Static":
        # This policy does not start without reserved memory.
        return UNSET["reservedMemory"]
    meant = correction(loaded, path, text)
    if path == (RESERVED,) and _BESIDE_GROUPS in text:
        return "; ".join(filter(None, (_without_groups(loaded), meant)))
    return meant


def _without_groups(loaded: LoadedConfiguration) -> str:
    """Leave out what excludes reservedSystemCPUs: without them, the static policy might reserve no CPUs."""
    groups = _groups(loaded)
    enforced = [entry for name in groups for entry in _enforced(loaded, name)]
    removed = f"remove {', '.join(_written(loaded, (name,)) for name in groups)}"
    return f"{removed}; remove {', '.join(enforced)} from enforceNodeAllocatable" if enforced else removed


def _groups(loaded: LoadedConfiguration) -> list[str]:
    """Name the settings of control groups that have a value."""
    values = (loaded.config.kube_reserved_cgroup, loaded.config.system_reserved_cgroup)
    return [name for name, value in zip(_ENFORCED, values, strict=True) if value]


def _enforced(loaded: LoadedConfiguration, group: str) -> Iterator[str]:
    """Yield the entries of enforceNodeAllocatable that need this group."""
    for entry in loaded.config.enforce_node_allocatable:
        if entry.removesuffix("-compressible") == _ENFORCED[group]:
            yield entry


def _unset(loaded: LoadedConfiguration, name: str) -> str:
    """Return the fix for a setting that is missing; empty if it is just to be set."""
    if name in _ENFORCED and (entries := ", ".join(_enforced(loaded, name))):
        return f"set {name}, or remove {entries} from enforceNodeAllocatable"
    return UNSET.get(name, "")


def _fix_of_error(text: str, numa_nodes: int) -> str:
    """Return the fix for an error that names neither a setting to correct nor one to remove."""
    if _MANY_NODES in text:
        return (
            "set topologyManagerPolicy: none or, from kubelet 1.31 on, set topologyManagerPolicyOptions:"
            f' {{max-allowable-numa-nodes: "{numa_nodes}"}}'
        )
    graceless = re.search(_GRACELESS, text)
    return f"set evictionSoftGracePeriod: {{{graceless[1]}: 1m30s}}" if graceless else ""


def _written(loaded: LoadedConfiguration, path: tuple[str, ...]) -> str:
    """Name a setting as it was given: a flag, or a member of a file."""
    origin = loaded.origin(*path)
    return origin.text if origin.kind is OriginKind.FLAG and len(path) == 1 else path_name(path)


def _is_set(loaded: LoadedConfiguration, *path: str) -> bool:
    return loaded.origin(*path).kind is not OriginKind.DEFAULT
