"""Pods planned on a fleet: the scheduler's choice of a node, then the full decision of the kubelet there.

Nodes that neither scheduler nor kubelet could distinguish are one class: filter, score and admission are
computed once for each, so that the time for a plan depends on the kinds of nodes, not on their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.engine.capacity.probe import shape_of
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.fleet.claims import ClaimFit, FleetClaims, ServedClaims, served
from cpuctl.fleet.collection import Recording, file_digest
from cpuctl.fleet.node_classes import ClassTopologies, NodeClass, as_new_pod, best, domain_of, first, load_of
from cpuctl.fleet.placed import Everywhere, Fitting, Placed, Share
from cpuctl.fleet.plan_nodes import FleetInputs, NodeReader
from cpuctl.fleet.topology_plugin import PluginView, Topologies, WronglyFiltered, why_filtered, why_passed
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.starting_state import overlap_warnings
from cpuctl.pods.node_selection import Taint
from cpuctl.records import replace
from cpuctl.scheduler.decisions import (
    Candidate,
    PodNeeds,
    Score,
    daemon_pod_message,
    filter_reasons,
    gets_daemon_pod,
    no_node_message,
    totals,
)
from cpuctl.scheduler.model import HOSTNAME, ZONE, Load, NodeObject, Siblings, siblings_of, spread_scores
from cpuctl.scheduler.topology_match import TopologyRequest, Unaligned

if TYPE_CHECKING:
    from cpuctl.answers.fleet_plan import PlannedNode
    from cpuctl.engine.admission import Admission
    from cpuctl.operations.policies import ChosenPolicy
    from cpuctl.pods.model import StoredPod

_NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")
"""The taint that keeps pods off a node whose kubelet does not run."""
_NOT_STARTED = "it is bound, but the kubelet of its node does not start"
_MOST_TRIED = 64
"""The most classes on which a rejected pod is tried, to show where it would have fitted."""
_MOST_REMEMBERED = 64
"""The most pods, distinct to the scheduler, for which every class's filter and score are kept."""
_SHOWN = 10
_NO_CLAIMS = ClaimFit()


class _Judged(NamedTuple):
    """The scheduler's verdict on a pod for the nodes of a class: why they cannot take it, or their score."""

    reasons: tuple[str, ...]
    score: Score | None


class FleetPlanner:
    """Plans one pod after another on the nodes of a fleet."""

    def __init__(  # noqa: PLR0913  # a fleet has this many parts
        self,
        nodes: Sequence[PlannedNode],
        objects: Mapping[str, NodeObject],
        inputs: FleetInputs,
        pods: Iterable[StoredPod],
        topologies: Topologies | None = None,
        claims: FleetClaims | None = None,
        *,
        policy: ChosenPolicy | None = None,
    ) -> None:
        """Take surveyed nodes; *objects* are Nodes by name, *pods* all that will be planned.

        For nodes without a source, only objects are known: the scheduler chooses, and no kubelet decides. On
        all others, a *policy* decides in place of the kubelet's.
        """
        self._policy = policy
        self.unnecessary: list[str] = []
        """Nodes on which a policy has no effect, because the CPU Manager's is ``none``."""
        self.overlaps: list[str] = []
        """Warnings about running pods of a node that share exclusive CPUs, for one of equal nodes."""
        self._nodes = nodes
        self._plugin = None if topologies is None else ClassTopologies(topologies, self._kubelet)
        self._reader = NodeReader(inputs)
        self._claims = claims
        pods = list(pods)
        selections = [pod.node_selection for pod in pods if pod.node_selection is not None]
        self._labels = frozenset(label for each in selections for label in each.labels)
        self._by_name = any(each.looks_at_names for each in selections) or any(pod.node_name for pod in pods)
        self._spreads = {each for each in map(siblings_of, pods) if each}
        self._classes = list(self._first_classes(objects, inputs))
        self._judged: dict[str, dict[NodeClass, _Judged]] = {}

    def _first_classes(self, objects: Mapping[str, NodeObject], inputs: FleetInputs) -> Iterator[NodeClass]:
        found: dict[Hashable, NodeClass] = {}
        for index, row in enumerate(self._nodes):
            node = self._as_scheduled(row, objects.get(row["node"]))
            load = load_of(row["load"])
            siblings = self._siblings_on(row["node"], inputs)
            key = (
                frozenset(siblings.items()),
                row["state"],
                node.name if self._by_name else "",
                frozenset(node.labels.items()),
                node.taints,
                node.unschedulable,
                frozenset(node.allocatable.items()),
                repr(load),
                self._plugin and self._plugin.key(row["node"]),
                self._claims and self._claims.key(row["node"]),
            )
            if key not in found:
                starts = row["start"]["outcome"] == "Started"
                found[key] = NodeClass(node, load, starts=starts, alone=not row["source"])
                found[key].siblings = siblings
                if self._plugin:
                    self._plugin.begin(found[key], row["node"])
                yield found[key]
            found[key].members.append(index)

    def _siblings_on(self, name: str, inputs: FleetInputs) -> Mapping[Siblings, int]:
        """Count the replicas on a node of controllers whose pods will be planned."""
        if not self._spreads or inputs.running is None:
            return {}
        running = map(siblings_of, inputs.running.get(name, ()))
        return Counter(each for each in running if each in self._spreads)

    def _as_scheduled(self, row: PlannedNode, node_object: NodeObject | None) -> NodeObject:
        """Return a node as the scheduler sees it: its object, or what its kubelet would report."""
        # Every kubelet sets the hostname as a label.
        node = node_object or NodeObject(row["node"], row["allocatable"], {HOSTNAME: row["node"]})
        relevant = {*self._labels, *((HOSTNAME, ZONE) if self._spreads else ())}
        labels = {name: value for name, value in node.labels.items() if name in relevant}
        if HOSTNAME in labels and HOSTNAME not in self._labels:
            labels[HOSTNAME] = ""  # only its existence matters, and its value would make every node different
        ready = row["start"]["outcome"] == "Started" or not row["source"]
        return node._replace(labels=labels, taints=node.taints if ready else (*node.taints, _NOT_READY))

    def stale(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the nodes whose NodeResourceTopologies do not match them, with the differences."""
        if self._plugin is None:
            return
        for node_class in self._classes:
            yield from self._plugin.stale(
                node_class, (self._nodes[index]["node"] for index in node_class.members)
            )

    def plan(self, pod: StoredPod) -> Placed:
        """Choose a node, and let its kubelet decide; a pod that it admits stays there.

        A pod that names its node bypasses the scheduler.
        """
        needs = PodNeeds.of(pod)
        if pod.node_name:
            classes = [each for each in self._classes if each.members and each.node.name == pod.node_name]
            if not classes:
                return Placed(pod, message=f"its node, {pod.node_name}, is not in the fleet")
            return self._bound(classes[0], pod, needs)
        classes, scores, reasons = self._filtered(needs)
        refused = {each: fit.reasons for each, fit in self._claim_fits(classes, pod).items() if fit.reasons}
        reasons += [(why, len(each.members)) for each, why in refused.items()]
        scores = [score for each, score in zip(classes, scores, strict=True) if each not in refused]
        classes = [each for each in classes if each not in refused]
        if self._claims is not None and refused and not classes:
            node_class = next(iter(refused))
            self._claims.explain(pod, self._kubelet(node_class), self._nodes[first(node_class)]["node"])
        if self._plugin is not None:
            passed = dict(zip(classes, scores, strict=True))
            return self._planned_with(self._plugin, passed, reasons, pod, needs)
        if not classes:
            return Placed(pod, message=no_node_message(reasons, len(self._nodes)))
        node_class = best(classes, self._totals(classes, scores, pod, needs))
        return self._chosen(node_class, classes, pod, needs)

    def _chosen(
        self, node_class: NodeClass, classes: Sequence[NodeClass], pod: StoredPod, needs: PodNeeds
    ) -> Placed:
        """Bind a pod to the first node of a class that was chosen among *classes*."""
        placed = self._bound(node_class, pod, needs)
        stays = placed.admitted or placed.admission is None
        return placed if stays else placed._replace(fitting=self._fitting(classes, pod, needs))

    def _bound(self, node_class: NodeClass, pod: StoredPod, needs: PodNeeds) -> Placed:
        """Bind a pod to the first node of a class."""
        admission, after = self._admitted(node_class, pod, needs)
        if after is None:
            return Placed(pod, self._nodes[first(node_class)]["node"], admission=admission)
        index = heappop(node_class.members)
        heappush(after.members, index)
        message = "" if admission or node_class.alone else _NOT_STARTED
        return Placed(
            pod, self._nodes[index]["node"], message, admission, claims=self._served(after, admission)
        )

    def plan_everywhere(self, pod: StoredPod, running: Container[str] = ()) -> Everywhere:
        """Create a pod of a DaemonSet for every node that should have one, unless it is *running* there."""
        needs = PodNeeds.of(pod)
        shares, there, left_out = [], [], []
        for node_class, members in [(each, sorted(each.members)) for each in self._classes if each.members]:
            names = {index: self._nodes[index]["node"] for index in members}
            incoming = [index for index, name in names.items() if name not in running]
            there += [index for index, name in names.items() if name in running]
            if not gets_daemon_pod(needs.selection, node_class.node):
                left_out += incoming
            elif incoming:
                placed = self._bound_everywhere(node_class, incoming, pod, needs)
                shares.append(Share(placed, tuple(names[index] for index in incoming)))
        return Everywhere(pod, tuple(shares), self._names(there), self._names(left_out))

    def _bound_everywhere(
        self, node_class: NodeClass, members: Sequence[int], pod: StoredPod, needs: PodNeeds
    ) -> Placed:
        reasons = filter_reasons(needs, node_class.node, node_class.load)
        if not reasons and self._plugin is not None:
            refusal = self._plugin.refusal(node_class, TopologyRequest.of(pod))
            reasons = (refusal.message,) if refusal else ()
        reasons = reasons or self._claim_fit(node_class, pod, self._shape(pod)).reasons
        if reasons:
            return Placed(pod, message=daemon_pod_message(reasons, len(self._nodes)))
        admission, after = self._admitted(node_class, pod, needs)
        if after is not None:
            node_class.members = sorted(set(node_class.members).difference(members))
            after.members = sorted((*after.members, *members))
        message = "" if admission or node_class.alone else _NOT_STARTED
        name = self._nodes[members[0]]["node"]
        return Placed(pod, name, message, admission, claims=self._served(after, admission))

    def _served(self, after: NodeClass | None, admission: Admission | None) -> ServedClaims | None:
        """Return what a bound pod gets for its claims, and remember that they are allocated."""
        if self._claims is None or after is None or after.kubelet is None or admission is None:
            return None
        self._claims.bind(admission.pod)
        return served(after.kubelet, admission.pod)

    def _claim_fits(self, classes: Sequence[NodeClass], pod: StoredPod) -> dict[NodeClass, ClaimFit]:
        shape = self._shape(pod) if pod.resource_claims else None
        return {each: self._claim_fit(each, pod, shape) for each in classes}

    def _claim_fit(self, node_class: NodeClass, pod: StoredPod, shape: Hashable) -> ClaimFit:
        """Return the verdict on a pod's claims on nodes of a class; unknown if their kubelet does not run."""
        if self._claims is None or not pod.resource_claims or not node_class.starts or node_class.alone:
            return _NO_CLAIMS
        if shape not in node_class.claimed:
            kubelet = self._kubelet(node_class)
            incoming, node = as_new_pod(pod, kubelet), node_class.node
            node_class.claimed[shape] = self._claims.fit(incoming, kubelet, node, node_class.load)
        return node_class.claimed[shape]

    def _totals(
        self, classes: Sequence[NodeClass], scores: Sequence[Score], pod: StoredPod, needs: PodNeeds
    ) -> list[int]:
        """Return the total scores of classes, including parts that depend on all of them."""
        claims = [fit.preference for fit in self._claim_fits(classes, pod).values()]
        return totals(scores, self._spread(classes, pod, needs), claims)

    def _names(self, indexes: Iterable[int]) -> tuple[str, ...]:
        return tuple(self._nodes[index]["node"] for index in sorted(indexes))

    def _spread(self, classes: Sequence[NodeClass], pod: StoredPod, needs: PodNeeds) -> list[int] | None:
        """Score how well each class that can take a replica spreads it; None if the pod is not a replica."""
        siblings = siblings_of(pod)
        if siblings is None:
            return None
        taken = set(classes)
        others = (
            domain_of(each, siblings)
            for each in self._classes
            if each not in taken
            and siblings in each.siblings
            and needs.selection.selects(each.node.name, each.node.labels)
        )
        return spread_scores([domain_of(each, siblings) for each in classes], others)

    def _filtered(
        self, needs: PodNeeds
    ) -> tuple[list[NodeClass], list[Score], list[tuple[tuple[str, ...], int]]]:
        """Return the classes that can take a pod, their scores, and why the others cannot."""
        judged = self._remembered(needs)
        classes, scores, reasons = [], [], []
        for node_class in self._classes:
            if not node_class.members:
                continue
            found = judged.get(node_class) or judged.setdefault(node_class, _judge(needs, node_class))
            if found.score is None:
                reasons.append((found.reasons, len(node_class.members)))
            else:
                classes.append(node_class)
                scores.append(found.score)
        return classes, scores, reasons

    def _remembered(self, needs: PodNeeds) -> dict[NodeClass, _Judged]:
        """Return what is known for pods that are equal to the scheduler; a class's state never changes."""
        key = repr(needs)
        if key not in self._judged and len(self._judged) >= _MOST_REMEMBERED:
            del self._judged[next(iter(self._judged))]
        return self._judged.setdefault(key, {})

    def _admitted(
        self, node_class: NodeClass, pod: StoredPod, needs: PodNeeds
    ) -> tuple[Admission | None, NodeClass | None]:
        """Return the decision of a class's kubelet, and the class of a node that has admitted the pod.

        If no kubelet runs, a pod is bound, and waits.
        """
        shape, siblings = self._shape(pod), siblings_of(pod)
        if (shape, siblings) not in node_class.next:
            admission, kubelet = self._decided(node_class, pod, shape) if node_class.starts else (None, None)
            after = None
            if admission is None or isinstance(admission.verdict, Admitted):
                more = self._claim_fit(node_class, pod, shape).load or needs.load
                after = self._successor(node_class, node_class.load.plus(more), kubelet, pod)
                if siblings is not None:
                    after.siblings = Counter(node_class.siblings) + Counter([siblings])
            node_class.next[shape, siblings] = (admission, after)
        return node_class.next[shape, siblings]

    def _shape(self, pod: StoredPod) -> Hashable:
        """Return what determines the outcome for a pod on a node: also names, if a policy sees them."""
        claims = self._claims.shape(pod) if self._claims is not None else None
        shape = (shape_of(pod), pod.restart_policy, claims)
        if self._policy is None:
            return shape
        return (*shape, pod.full_name, pod.uid, pod.priority, tuple(each.name for each in pod.all_containers))

    def _successor(
        self, node_class: NodeClass, load: Load, kubelet: Node | None, pod: StoredPod
    ) -> NodeClass:
        """Create the class of nodes after a pod is bound to them; the plugin learns about it."""
        after = node_class.successor(load, kubelet)
        if self._plugin:
            self._plugin.learn(node_class, after, pod)
        self._classes.append(after)
        return after

    def _decided(self, node_class: NodeClass, pod: StoredPod, shape: Hashable) -> tuple[Admission, Node]:
        """Return the decision of a class's kubelet on a pod, for any owner, and the kubelet afterwards."""
        if shape not in node_class.decided:
            after = self._kubelet(node_class).copy()
            node_class.decided[shape] = (after.admit(as_new_pod(pod, after)), after)
        return node_class.decided[shape]

    def _kubelet(self, node_class: NodeClass) -> Node:
        """Return the kubelet of a class, starting it at the first call."""
        if node_class.kubelet is None:
            row = self._nodes[first(node_class)]
            source = row["source"]
            planning = self._reader(Recording(row["node"], source, file_digest(source)))
            started = replace(planning, policy=self._policy).start(planning.kubelet, Sources())
            assert isinstance(started, Node), "only kubelets that start are asked"
            if self._claims is not None:
                alike = [row["node"], *(self._nodes[index]["node"] for index in node_class.members)]
                self._claims.serve(list(dict.fromkeys(alike)), planning, started)
            if self._policy is not None and started.policy is None:
                self.unnecessary.append(row["node"])
            overlaps = overlap_warnings(started, lambda: planning.initial.full_names)
            self.overlaps += (f"{row['node']}: {text}" for text in overlaps)
            node_class.kubelet, node_class.planning = started, planning
        return node_class.kubelet

    def _fitting(self, classes: Sequence[NodeClass], pod: StoredPod, needs: PodNeeds) -> Fitting:
        """Try a pod on all nodes that the scheduler could have chosen."""
        tried = classes[:_MOST_TRIED]
        admitting = [each for each in tried if self._would_admit(each, pod, needs)]
        indexes = sorted(index for each in admitting for index in each.members)
        return Fitting(
            tried=sum(len(each.members) for each in tried),
            admitting=len(indexes),
            nodes=tuple(self._nodes[index]["node"] for index in indexes[:_SHOWN]),
        )

    def _would_admit(self, node_class: NodeClass, pod: StoredPod, needs: PodNeeds) -> bool:
        admission, _ = self._admitted(node_class, pod, needs)
        return admission is not None and isinstance(admission.verdict, Admitted)

    # The scheduler's plugin

    def _planned_with(
        self,
        plugin: ClassTopologies,
        passed: Mapping[NodeClass, Score],
        reasons: Sequence[tuple[tuple[str, ...], int]],
        pod: StoredPod,
        needs: PodNeeds,
    ) -> Placed:
        """Choose among the nodes that the plugin also passes, and compare the plugin with the kubelets."""
        request = TopologyRequest.of(pod)
        refusals = {each: refusal for each in passed if (refusal := plugin.refusal(each, request))}
        view = self._filtered_by(plugin, refusals, request, pod, needs)
        classes = [each for each in passed if each not in refusals]
        if view.crash or not classes:
            all_reasons = [*reasons, *(((refusal.message,), count) for refusal, count in view.filtered)]
            message = view.crash or no_node_message(all_reasons, len(self._nodes))
            return Placed(pod, message=message, plugin=view)
        added = plugin.scores(classes, request, shape_of(pod))
        if failure := next((each.failure for each in added if each.failure), ""):
            return Placed(pod, message=failure, plugin=view)
        own = self._totals(classes, [passed[each] for each in classes], pod, needs)
        node_class = best(classes, [score + more.value for score, more in zip(own, added, strict=True)])
        placed = self._chosen(node_class, classes, pod, needs)
        if placed.admission is not None and not placed.admitted:
            if plugin.comparable(node_class):
                why = why_passed(
                    placed.admission.verdict, request, plugin.topology(node_class), plugin.now(node_class)
                )
                view = view._replace(wrongly_passed=why)
            if plugin.reserves:
                self._reserve(node_class, pod)
        return placed._replace(plugin=view)

    def _filtered_by(
        self,
        plugin: ClassTopologies,
        refusals: Mapping[NodeClass, Unaligned],
        request: TopologyRequest,
        pod: StoredPod,
        needs: PodNeeds,
    ) -> PluginView:
        """Return what the plugin filters, rightly or not."""
        counts: Counter[Unaligned] = Counter()
        for node_class, refusal in refusals.items():
            counts[refusal] += len(node_class.members)
        view = PluginView(tuple(counts.items()))
        wrongly = [
            each
            for each in list(refusals)[:_MOST_TRIED]
            if self._would_admit(each, pod, needs) and plugin.comparable(each)
        ]
        if not wrongly:
            return view
        names = self._names(index for each in wrongly for index in each.members)
        topology = plugin.topology(wrongly[0])
        assert topology is not None, "the plugin filters by an object"
        now, reserves = plugin.now(wrongly[0]), plugin.reserves
        why = why_filtered(refusals[wrongly[0]], request, topology, now, reserves=reserves)
        return view._replace(wrongly_filtered=WronglyFiltered(len(names), names[:_SHOWN], why))

    def _reserve(self, node_class: NodeClass, pod: StoredPod) -> None:
        """Let the reserve cache keep a pod that the kubelet has rejected: it does not learn about that."""
        shape = shape_of(pod)
        if shape not in node_class.rejecting:
            node_class.rejecting[shape] = self._successor(
                node_class, node_class.load, node_class.kubelet, pod
            )
        heappush(node_class.rejecting[shape].members, heappop(node_class.members))


def _judge(needs: PodNeeds, node_class: NodeClass) -> _Judged:
    reasons = filter_reasons(needs, node_class.node, node_class.load)
    return _Judged(reasons, None if reasons else Score.of(needs, Candidate(node_class.node, node_class.load)))
