"""Known defects in how the kubelet reaches a decision, and releases that decide otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cpuctl.departures import RESTARTS, STATIC_MEMORY
from cpuctl.engine.admission import Admission
from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.offers import OfferStatus, Round
from cpuctl.engine.explain.scenario import Replay, SearchBudget, replay_scenario
from cpuctl.engine.memory.manager_start import wrapped_amounts
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, FaultKind, KubeletFault, Rejected
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.releases.behaviours import Behaviours
from cpuctl.kubelet.releases.concerns import FeatureUse, difference_concerns
from cpuctl.kubelet.releases.difference import DECIDING, Difference
from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.pods.model import StoredPod
from cpuctl.records import Record, replace

_VIOLATES = "Allocate failed due to [memorymanager] preferred hint violates NUMA node allocation"


class KnownDefect(Record):
    """A known defect or difference between releases, and its source."""

    text: str
    reference: str


_OF_RULE = {
    Rule.WIDTH_FROM_CAPACITY: KnownDefect(
        "the number of NUMA nodes in a preferred hint depends on their total capacity, used or not: "
        "enough free CPUs on more nodes do not help",
        "kubernetes/kubernetes#84597",
    ),
    Rule.REUSE_BINDS: KnownDefect(
        "CPUs of an init container are reused, so they bind the following containers to their NUMA "
        "nodes, even if these are full",
        "kubernetes/kubernetes#123816",
    ),
    Rule.MASK_INEQUALITY: KnownDefect(
        "hints of several providers are preferred together only if their sets of NUMA nodes "
        "are equal: a subset is not enough",
        "kubernetes/kubernetes#128669",
    ),
    Rule.GROUP_RULE: KnownDefect(
        "while containers use NUMA nodes as a group, none of these nodes is used individually, "
        "and a node that is used individually joins no group",
        "KEP-1769",
    ),
    Rule.NO_OWN_RESOURCES: KnownDefect(
        "KEP-5526 allows Guaranteed pods with spec.resources to have containers without their own "
        "resources in container scope; the CPU Manager lets them share, the Memory Manager allocates memory "
        "for every container or for none",
        f"KEP-5526, Container Scope; {STATIC_MEMORY}",
    ),
}
_ALLOCATED_BEFORE = KnownDefect(
    "the resource managers run before this check: the pod has already been allocated resources",
    "kubelet source, pkg/kubelet/kubelet.go",
)
_CORES_BEFORE_ASSIGNMENT = KnownDefect(
    "the container already has its CPUs, but full-pcpus-only is checked first: a running pod can "
    "be rejected when its kubelet restarts",
    "kubernetes/kubernetes#129078",
)
_CORES_ON_AVERAGE = KnownDefect(
    "CPUs per core is an average, rounded down: with cores of different size or offline CPUs it is wrong",
    "kubelet source, pkg/kubelet/cm/cpumanager/topology/topology.go",
)
_WHOLE_GROUPS = KnownDefect(
    "distribute-cpus-across-numa counts single CPUs but allocates whole cores: it loops forever if the "
    "CPUs left on the NUMA nodes do not make whole cores",
    "kubernetes/kubernetes#140730",
)
_WALKS_ALL_SETS = KnownDefect(
    "hints are generated for every set of NUMA nodes: with many nodes the kubelet practically never "
    "finishes, and blocks all other pods meanwhile",
    "kubernetes/kubernetes#135541",
)
_NO_HINT_IS_ANY = KnownDefect(
    "if the Memory Manager has no hint at all, it does not influence the choice of NUMA nodes either: "
    "the pod is only rejected when memory is allocated",
    "kubelet source, pkg/kubelet/cm/memorymanager/policy_static.go",
)
_DIVIDED_AGAIN = (
    "a pod with pod-level resources is allocated again when the kubelet restarts, as if it held "
    "nothing: it is rejected, or what it held is leaked; fixed in 1.38"
)
_WRAPPED = KnownDefect(
    "a container requests memory or huge pages that the pod's spec.resources does not set: what is left "
    "for the shared containers is not 0 but wraps around to 2^64 minus the request, which is "
    "written to memory_manager_state",
    "kubelet source, pkg/kubelet/cm/memorymanager/policy_static.go",
)
_BOOKS = "the kubelet's sums are unsigned and wrap around, so it hands out memory that does not exist"
_STAYS_TAKEN = KnownDefect(
    "resources allocated to the pod's containers before it was rejected stay allocated: CPUs until the "
    "next pod arrives or the CPU Manager's next reconcile pass (every 10 s), memory until the next pod "
    "arrives",
    "kubernetes/kubernetes#129819",
)
_STAYS_UNTIL_ANOTHER = KnownDefect(
    "resources allocated to the pod's containers before it was rejected stay allocated until another pod "
    "is admitted: up to 1.31 the kubelet considers the last pod it saw as running",
    "kubernetes/kubernetes#107074",
)
_STAYS_DURING_RESTART = KnownDefect(
    "resources allocated to the pod's containers before it was rejected stay allocated until the kubelet has "
    "admitted all of its pods again",
    "kubernetes/kubernetes#129819",
)
_REFUSED_SINCE = KnownDefect(
    "kubelets up to 1.31 admit such a pod, and their groups of NUMA nodes overlap",
    "kubernetes/kubernetes#123443",
)
_OVERLAPS = KnownDefect(
    "the pod's memory is on several NUMA nodes, one of which is already used individually or in another "
    "group: from 1.32 on a kubelet rejects that (preferred hint violates NUMA node allocation)",
    "kubernetes/kubernetes#123443",
)
_OF_FAULT = {FaultKind.ENDLESS_LOOP: _WHOLE_GROUPS, FaultKind.NO_ANSWER: _WALKS_ALL_SETS}


def known_defects(replay: Replay, decision: Decision, rounds: Sequence[Round]) -> Iterator[KnownDefect]:
    """Yield the known defects behind a decision."""
    verdict, pod = replay.admission.verdict, replay.scenario.pod
    if known := _OF_RULE.get(decision.rule):
        yield known
    if decision.rule is Rule.NODE_FIT and _holds_any(replay.after, pod.uid):
        yield _ALLOCATED_BEFORE
    last = rounds[-1].offers if rounds else ()
    refused_late = decision.provider == "memory" and decision.rule is not Rule.NO_OWN_RESOURCES
    if refused_late and any(offer.status is OfferStatus.NO_HINTS for offer in last):
        yield _NO_HINT_IS_ANY
    if decision.rule in (Rule.WHOLE_CORES, Rule.FREE_CORES):
        if replay.before.cpu.state.assigned(pod.uid, decision.container) is not None:
            yield _CORES_BEFORE_ASSIGNMENT
        if replay.before.topology.has_uneven_cores:
            yield _CORES_ON_AVERAGE
    if (
        isinstance(verdict, KubeletFault)
        and decision.rule is Rule.KUBELET_FAULT
        and verdict.kind in _OF_FAULT
    ):
        yield _OF_FAULT[verdict.kind]
    if again := replay.admission.readmission:
        yield KnownDefect(_DIVIDED_AGAIN, ", ".join((*again.held.issues, RESTARTS)))
    yield from _wrapped_sums(replay)
    yield from _of_release(replay, pod)


def _of_release(replay: Replay, pod: StoredPod) -> Iterator[KnownDefect]:
    """Yield what another release would do with the pod, or with what it leaves behind."""
    verdict, uid = replay.admission.verdict, pod.uid
    divided = replay.before.cpu.rules.divides(pod)
    if isinstance(verdict, Rejected) and _holds_cpus_or_memory(replay.after, uid):
        yield _stays_taken(replay)
    if isinstance(verdict, Rejected) and verdict.message.startswith(_VIOLATES) and not divided:
        yield _REFUSED_SINCE
    if isinstance(verdict, Admitted) and _overlaps(replay, uid):
        yield _OVERLAPS


def _stays_taken(replay: Replay) -> KnownDefect:
    if replay.scenario.restarted:
        return _STAYS_DURING_RESTART
    return _STAYS_TAKEN if replay.before.forgets_pods else _STAYS_UNTIL_ANOTHER


def _holds_cpus_or_memory(node: Node, uid: str) -> bool:
    return uid in node.cpu.state.assignments or uid in node.memory.state.blocks


def _holds_any(node: Node, uid: str) -> bool:
    """Return whether a resource manager has allocated something to a pod."""
    return _holds_cpus_or_memory(node, uid) or uid in node.devices.state.held


def _overlaps(replay: Replay, uid: str) -> bool:
    """Return whether a pod got memory on a set of NUMA nodes that later kubelets reject."""
    policy = replay.before.memory.policy
    if policy is None or policy.rejects_overlaps:
        return False
    from cpuctl.engine.memory.tables import violates_groups

    blocks = replay.after.memory.state.blocks.get(uid, {}).values()
    tables = replay.before.memory.state.tables
    groups = (list(block.numa_affinity) for held in blocks for block in held)
    return any(len(group) > 1 and violates_groups(tables, group) for group in groups)


def _wrapped_sums(replay: Replay) -> Iterator[KnownDefect]:
    if replay.admission.wrapped_memory:
        yield _WRAPPED
    if beyond := tuple(wrapped_amounts(replay.before.memory.state.tables)):
        text = f"more is reserved than exists ({', '.join(beyond)}): {_BOOKS}"
        yield KnownDefect(text, _WRAPPED.reference)


# Which release introduced the rule behind a decision, and which one fixes or changes it.


_DEPENDS = "this answer depends on the release"
MOST_PODS = 64
"""With more pods than this, replaying a scenario for every difference takes too long."""

_OF_WORDS = frozenset({"lowers_oom_scores_of_sidecars", "reports_missing_cpu_count", "reports_no_free_cores"})
"""Differences in the text of a refusal, or in what is reported for an admitted pod."""
_OF_INIT_CONTAINERS = frozenset(
    {"ignores_missing_devices_of_inits", "keeps_sidecars_apart", "knows_sidecars"}
)
_OF_POD_LEVEL = frozenset({"skips_pod_level_pods"})


def release_notes(replay: Replay) -> Iterator[KnownDefect]:
    """Yield the differences between releases that decide: each changes the answer if reversed."""
    scenario = replay.scenario
    if len(scenario.pods) > MOST_PODS:
        return
    kubelet, outcome = scenario.kubelet, _outcome(replay.admission)
    passed_over = without_effect(replay)
    for name in noticed(kubelet):
        if name in passed_over:
            continue
        turned = replace(scenario, kubelet=replace(kubelet, turned=frozenset({name})))
        other = replay_scenario(turned, SearchBudget(), 1)
        if isinstance(other, Replay) and _outcome(other.admission) != outcome:
            yield _note(DIFFERENCES[name], kubelet.version)


def without_effect(replay: Replay) -> frozenset[str]:
    """Return the differences that cannot matter for these pods, as trying one requires a kubelet start."""
    names = _OF_WORDS
    pods = (*replay.scenario.pods, *replay.nodes_before[0].active.values())
    if not any(pod.init_containers for pod in pods):
        names |= _OF_INIT_CONTAINERS
    # For a running pod, a kubelet without the gate does not know that it has pod-level resources.
    if not replay.nodes_before[0].active and all(pod.resources is None for pod in pods):
        names |= _OF_POD_LEVEL
    return names


def noticed(kubelet: Kubelet) -> Iterator[str]:
    """Yield the names of the differences that decide on pods and that can affect a configuration."""
    use = FeatureUse.of(kubelet.config, frozenset(), drop_ins=False, gates=kubelet.gates.settings)
    for name in Behaviours._fields:
        difference = DIFFERENCES[name]
        if difference.area in DECIDING and difference_concerns(name, difference, use):
            yield name


def _outcome(admission: Admission) -> object:
    """Summarize a pod's outcome without the text of a refusal, which changes more often than the reason."""
    verdict = admission.verdict
    placed = [(each.cpus, each.exclusive, each.memory, each.devices) for each in admission.placements]
    return type(verdict), verdict.reason if isinstance(verdict, Rejected) else "", placed


def _note(difference: Difference, version: KubeletVersion) -> KnownDefect:
    source = difference.source
    reference = f"kubernetes/kubernetes#{source}" if source.isdecimal() else source
    uncertain = "" if difference.evidence == "verified" else " (not verified)"
    begin = difference.begin
    if difference.holds(*version):
        text = f"{_DEPENDS}: since {begin}{uncertain}, {difference.after}; before: {difference.before}"
        return KnownDefect(text, reference)
    never = (
        "" if difference.known_in(version.minor) else f"; no known patch release of 1.{version.minor} does"
    )
    return KnownDefect(f"{_DEPENDS}: from {begin} on{uncertain}, {difference.after}{never}", reference)
