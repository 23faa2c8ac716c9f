"""All checks of a node, and the verdict on every container."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain

from cpuctl.audit.check_names import CheckName
from cpuctl.audit.claims import check_claims
from cpuctl.audit.containers import (
    check_cpusets,
    check_memory,
    check_mems,
    check_threads,
)
from cpuctl.audit.devices import check_devices
from cpuctl.audit.disturbers import (
    check_foreign_processes,
    check_interrupts,
    check_irqbalance,
    check_isolation,
    check_kernel_threads,
)
from cpuctl.audit.finding import Finding
from cpuctl.audit.huge_pages import allocated_pages, check_huge_pages
from cpuctl.audit.kubelet_state import (
    check_finished_init_containers,
    check_hotplug,
    check_missing_groups,
    check_reserved,
    check_stale,
    check_state,
    check_unclaimed,
)
from cpuctl.audit.origins import check_agents, check_other_agents
from cpuctl.audit.partitions import check_partitions
from cpuctl.audit.pod_resources import check_answers, unnamed_pods
from cpuctl.audit.quotas import check_quota
from cpuctl.audit.shared_cores import check_siblings
from cpuctl.audit.snapshot import POLICY_NONE, NodeSnapshot, ObservedContainer
from cpuctl.audit.volumes import check_volumes
from cpuctl.cgroups.names import ancestors
from cpuctl.diagnostics import worst_first
from cpuctl.dra.driver import DRIVER
from cpuctl.machine.recording_layout import CDI_FILE
from cpuctl.phrases import some_of
from cpuctl.records import Record, replace
from cpuctl.state_names import CLAIMS_FILE, CPU_FILE, DEVICES_FILE, MEMORY_FILE

Check = Callable[[NodeSnapshot], Iterator[Finding]]

CHECKS: Mapping[CheckName, Sequence[Check]] = {
    "state": (check_state,),
    "hotplug": (check_hotplug,),
    "reserved": (check_reserved,),
    "cpusets": (check_cpusets, check_partitions, check_missing_groups, check_agents),
    "mems": (check_mems,),
    "threads": (check_threads,),
    "quota": (check_quota,),
    "memory": (check_memory,),
    "hugepages": (check_huge_pages,),
    "stale": (check_stale, check_finished_init_containers, check_unclaimed),
    "devices": (check_devices,),
    "claims": (check_claims,),
    "answers": (check_answers,),
    "foreign": (check_foreign_processes,),
    "kernel": (check_kernel_threads,),
    "interrupts": (check_interrupts, check_irqbalance),
    "siblings": (check_siblings,),
    "isolation": (check_isolation,),
    "volumes": (check_volumes,),
}
"""The checks by the names that users select."""


def audit(snapshot: NodeSnapshot, wanted: Collection[str] = ()) -> tuple[Finding, ...]:
    """Run the *wanted* checks, or all; the worst findings come first."""
    checks = (check for name, some in CHECKS.items() if not wanted or name in wanted for check in some)
    found = [finding for check in checks for finding in check(snapshot)]
    if any(finding.code in _SET_BY_OTHERS for finding in found) and (others := check_other_agents(snapshot)):
        found.append(others)
    return tuple(worst_first(found))


_SET_BY_OTHERS = frozenset({"cpuset-differs", "effective-differs", "threads-outside"})


def by_cause(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Merge memory on NUMA nodes that a container's list wrongly allows into the finding about that list."""
    spilled = {each.place.path: each for each in findings if each.code == "memory-spill"}
    lists = {each.place.path for each in findings if each.code == "mems-differ"}
    return tuple(
        _with_memory(each, spilled[each.place.path])
        if each.code == "mems-differ" and each.place.path in spilled
        else each
        for each in findings
        if each.code != "memory-spill" or each.place.path not in lists
    )


def _with_memory(differing: Finding, spilled: Finding) -> Finding:
    return replace(
        differing,
        message=f"{differing.message}; {spilled.message} ({spilled.detected})",
        fix=f"{differing.fix}; {spilled.fix}",
    )


class Verdict(StrEnum):
    """An audit's verdict on a container."""

    OK = "ok"
    CPUSET = "cpuset differs"
    EFFECTIVE = "effective differs"
    MEMS = "mems differ"
    THREADS = "threads outside"
    QUOTA = "throttled"
    NOT_CHECKED = "not checked"


_VERDICTS = {
    "cpuset-differs": Verdict.CPUSET,
    "cpuset-left-over": Verdict.CPUSET,
    "effective-differs": Verdict.EFFECTIVE,
    "threads-outside": Verdict.THREADS,
    "mems-differ": Verdict.MEMS,
    "quota-on-exclusive": Verdict.QUOTA,
    "quota-too-low": Verdict.QUOTA,
}
"""The codes that decide the verdict on a container, the worst first."""
_OF_GROUPS_ABOVE = frozenset({"quota-on-exclusive", "quota-too-low"})
"""The codes that concern every container with exclusive CPUs below a group."""
_DECIDING = (check_cpusets, check_mems, check_threads, check_quota)


def verdicts(snapshot: NodeSnapshot) -> dict[str, Verdict]:
    """Return the verdict on every container, by the path of its group, regardless of the selected checks."""
    codes: dict[str, set[str]] = {}
    for check in _DECIDING:
        for finding in check(snapshot):
            codes.setdefault(finding.place.path, set()).add(finding.code)
    return {each.group.path: _verdict(each, _codes(each, codes)) for each in snapshot.containers}


def _paths(observed: ObservedContainer) -> Iterator[str]:
    yield observed.group.path
    yield from (group.path for group in observed.below)


def _codes(observed: ObservedContainer, codes: Mapping[str, Collection[str]]) -> set[str]:
    found = set(chain.from_iterable(codes.get(path, ()) for path in _paths(observed)))
    if observed.expected.exclusive:
        above = chain.from_iterable(codes.get(path, ()) for path in ancestors(observed.group.path))
        found |= _OF_GROUPS_ABOVE.intersection(above)
    return found


def _verdict(observed: ObservedContainer, codes: Collection[str]) -> Verdict:
    for code, verdict in _VERDICTS.items():
        if code in codes:
            return verdict
    known = observed.expected.cpus is not None or observed.expected.choices
    return Verdict.OK if known else Verdict.NOT_CHECKED


class Unchecked(Record):
    """What is unknown about a node, and the names of the checks that need it."""

    missing: str
    checks: tuple[str, ...]


_OF_STATE = (
    "state", "hotplug", "reserved", "cpusets", "mems", "threads", "quota", "memory", "stale",
    "foreign", "kernel", "interrupts", "siblings", "isolation", "volumes",
)  # fmt: skip
_OF_DEVICES = ("devices",)
_OF_ANSWERS = ("answers",)
_OF_GROUPS = ("cpusets", "mems", "threads", "quota", "memory", "hugepages", "stale")
_OF_TASKS = ("threads", "foreign", "kernel")
_OF_INTERRUPTS = ("interrupts",)
_OF_VOLUMES = ("volumes",)
_UNKNOWN_VOLUMES = (
    "the node's pods (--pods): which containers read the list of their CPUs from a downward API volume is "
    "unknown"
)
_OF_PAGES = ("hugepages",)
_OF_CONFIGURATION = ("state", "reserved", "quota", "isolation", "volumes")
_OF_CLAIMS = ("claims",)


def unchecked(snapshot: NodeSnapshot, wanted: Collection[str]) -> tuple[Unchecked, ...]:
    """Return what was not available for the *wanted* checks."""
    gaps = (
        (missing, tuple(name for name in checks if name in wanted)) for missing, checks in _gaps(snapshot)
    )
    return tuple(Unchecked(missing, checks) for missing, checks in gaps if checks)


def _gaps(snapshot: NodeSnapshot) -> Iterator[tuple[str, tuple[str, ...]]]:
    state = snapshot.state.cpu
    yield from _unconfigured(snapshot)
    if state is None and not snapshot.state.cpu_problem:
        yield f"the kubelet's {CPU_FILE}: who has exclusive CPUs is unknown", _OF_STATE
    if snapshot.state.devices is None and not snapshot.state.devices_problem and _ask_for_devices(snapshot):
        yield f"{DEVICES_FILE}: which devices containers hold is unknown", _OF_DEVICES
    yield from _unanswered(snapshot)
    if snapshot.configured.has_assigned and not snapshot.pods_known:
        yield _UNKNOWN_VOLUMES, _OF_VOLUMES
    if not all(file.looked_at for file in snapshot.downward_files):
        yield "volume files: the CPUs that some containers read there are unknown", _OF_VOLUMES
    yield from _uncounted(snapshot)
    yield from _unclaimed(snapshot)
    if snapshot.hierarchies is None:
        with_claims = _OF_CLAIMS if snapshot.prepared is not None else ()
        yield "cgroups: the settings of containers are unknown", _OF_GROUPS + with_claims
    if not snapshot.others and not any(observed.tasks for observed in snapshot.containers):
        yield "processes: where threads may run is unknown", _OF_TASKS
    if state is not None and (state.policy_name == POLICY_NONE or not snapshot.exclusive):
        return  # there is nothing that an interrupt could disturb
    interrupts = snapshot.interrupts
    if not interrupts.known and interrupts.default is None:
        yield "interrupts: where they are delivered is unknown", _OF_INTERRUPTS
    elif interrupts.known and all(each.allowed is None for each in interrupts.known):
        yield "interrupt affinities (/proc/irq): only interrupt counts are known", _OF_INTERRUPTS


def _unconfigured(snapshot: NodeSnapshot) -> Iterator[tuple[str, tuple[str, ...]]]:
    if why := snapshot.configured.why_unknown:
        missing = f"the kubelet's configuration: {why}; reserved CPUs and quotas are unknown"
        # Claims are compared with it if the driver runs.
        yield missing, _OF_CONFIGURATION + (_OF_CLAIMS if snapshot.prepared is not None else ())


def _uncounted(snapshot: NodeSnapshot) -> Iterator[tuple[str, tuple[str, ...]]]:
    """List promised huge pages whose existence is unknown."""
    state = snapshot.state
    if state.memory is None and not state.memory_problem and snapshot.configured.memory_policy == "Static":
        yield f"the kubelet's {MEMORY_FILE}: which huge pages are guaranteed is unknown", _OF_PAGES
    if doubtful := [str(page) for page in allocated_pages(snapshot) if page.doubtful]:
        yield (
            (
                f"huge pages in use: how much is left of {some_of(doubtful)} for pods with guaranteed huge "
                "pages is unknown"
            ),
            _OF_PAGES,
        )


def _unclaimed(snapshot: NodeSnapshot) -> Iterator[tuple[str, tuple[str, ...]]]:
    """List what is unknown about claims if the driver for CPUs has prepared some."""
    state, driver = snapshot.state.claims, f"{DRIVER}/"
    if snapshot.prepared is not None and state is None:
        yield f"the kubelet's {CLAIMS_FILE}: which pods use claims is unknown", _OF_CLAIMS
    if snapshot.prepared is None and any(
        device.startswith(driver) for each in snapshot.claims.values() for device in each.devices
    ):
        yield f"the driver's {CDI_FILE}: which CPUs claims have is unknown", _OF_CLAIMS


def _unanswered(snapshot: NodeSnapshot) -> Iterator[tuple[str, tuple[str, ...]]]:
    if snapshot.answers is None:
        return
    for problem in snapshot.answers.problems:
        yield f"the kubelet's answer (--pod-resources): {problem}", _OF_ANSWERS
    if snapshot.answers.pods and unnamed_pods(snapshot):
        from cpuctl.engine.state_checks.answer_findings import UNKNOWN_PODS

        yield UNKNOWN_PODS, _OF_ANSWERS


def _ask_for_devices(snapshot: NodeSnapshot) -> bool:
    """Return whether a pod requests a resource whose name has a domain, as device plugins' resources do."""
    return any(
        "/" in name
        for pod in snapshot.pods.values()
        if not pod.terminal
        for container in pod.all_containers
        for name in container.resources.requests
    )
