"""The reading of KEP-5554 at every recorded resize, compared with the codes of the recordings.

The recorded answers are those of a reference implementation. It is played, so that the state is the recorded
one before each resize; the KEP's reading is tried on a copy. Codes (``defects``) say where the two differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.resizing.kep import resize_by_kep
from cpuctl.engine.cpu.resizing.request import Resized
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.pods.model import ContainerKind, StoredPod
from tests.conformance.corpus import Json, Recorded
from tests.conformance.node_scenario import _Scenario, read_pod
from tests.conformance.resize_steps import resized_pod, status_of

POSSIBLE = frozenset(
    {"downsizeRefused", "upsizeRefused", "unchangedRefused", "finishedInitRefused", "podScopeRefused"}
)
"""The resize is possible, at least for the container that was rejected."""
EITHER = frozenset({"downsizeRefusedByPolicy", "unchangedRefusedByPolicy"})
"""The KEP leaves open whether the Topology Manager's policy may reject the resize."""
FORBIDDEN = frozenset({"infeasibleAccepted", "errorType"})
FORBIDDEN_REASONS = frozenset({"prohibitedCPUAllocationError", "inconsistentCPUAllocationError"})
LEFT_ALONE = "finishedInitReallocated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One resize under the KEP's reading, the node before and after it, and the recorded answer."""

    pod: StoredPod
    before: Node
    after: Node
    resized: Resized
    recorded: Json

    @property
    def admitted(self) -> bool:
        return isinstance(self.resized.verdict, Admitted)

    @property
    def codes(self) -> frozenset[str]:
        """The recorded codes except ``condition``, which is not about the allocator."""
        return frozenset(self.recorded.get("defects", ())) - {"condition"}

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the KEP's answer."""
        yield from self._against_the_recording()
        yield from self._kept_sets() if self.admitted else self._changes()

    def _against_the_recording(self) -> Iterator[str]:
        codes = self.codes
        if codes & POSSIBLE:
            if not (self.admitted or self._gets_further()):
                yield f"possible, but {self.resized.verdict}"
        elif codes & FORBIDDEN:
            if self.refusal.get("reason") not in FORBIDDEN_REASONS:
                yield f"forbidden, but {self.resized.verdict}"
        elif LEFT_ALONE in codes:
            if not self.admitted or self._reallocated():
                yield f"an init container that ended is not left alone: {self.resized.verdict}"
        elif not codes & EITHER:
            yield from self._differences()

    def _differences(self) -> Iterator[str]:
        """Compare if no code applies: verdict and words, or verdict and CPUs."""
        recorded = self.recorded
        if self.admitted != recorded["admitted"]:
            yield f"admitted: {self.admitted}"
        elif not self.admitted:
            reported = {name: recorded[name] for name in ("reason", "message", "failedContainer")}
            if self.refusal != reported:
                yield f"{self.refusal} instead of {reported}"
        else:
            own = {name: each["cpuset"] for name, each in recorded["containers"].items() if each["assigned"]}
            if self._sets(self.after) != own:
                yield f"{self._sets(self.after)} instead of {own}"

    @property
    def refusal(self) -> Json:
        verdict = self.resized.verdict
        if not isinstance(verdict, Rejected):
            return {}
        failed = verdict.container or None
        return {"reason": str(verdict.reason), "message": verdict.message, "failedContainer": failed}

    def _gets_further(self) -> bool:
        """Return whether a later container is rejected now than in the recording."""
        order = [None, *(each.name for each in self.pod.all_containers)]
        now, then = self.refusal.get("failedContainer"), self.recorded["failedContainer"]
        return bool(self.refusal) and order.index(now) > order.index(then)

    def _reallocated(self) -> bool:
        before, after = self._sets(self.before), self._sets(self.after)
        inits = [each.name for each in self.pod.init_containers if each.kind is ContainerKind.INIT]
        return any(name in after and name not in before for name in inits)

    def _sets(self, node: Node) -> dict[str, str]:
        return {
            name: str(CPUSet(cpus)) for name, cpus in node.state.assignments.get(self.pod.uid, {}).items()
        }

    def _kept_sets(self) -> Iterator[str]:
        """Check the laws of an accepted resize for every container, and for the node as a whole."""
        uid, old, new = self.pod.uid, self.before.state, self.after.state
        for name, after in new.assignments.get(uid, {}).items():
            before, baseline = old.assigned(uid, name), new.baseline(uid, name) or 0
            if baseline & ~after:
                yield f"{name} lost CPUs {CPUSet(baseline & ~after)} that it was promised"
            if before is not None and before & ~after and after & ~before:
                yield f"{name} swapped CPUs: {CPUSet(before)} became {CPUSet(after)}"
        if _shared_and_owned(self.before) != _shared_and_owned(self.after):
            yield "CPUs are lost, or have two owners"

    def _changes(self) -> Iterator[str]:
        if self.before.state != self.after.state:
            yield "a rejection has changed the state"


def _shared_and_owned(node: Node) -> tuple[int, int]:
    """Return all CPUs of a state, and those that are both shared and owned."""
    owned = 0
    for containers in node.state.assignments.values():
        for cpus in containers.values():
            owned |= cpus
    return owned | node.state.default, owned & node.state.default


class _Asking(_Scenario):
    """A scenario that tries the KEP's reading before each recorded resize."""

    def __init__(self, recorded: Recorded) -> None:
        super().__init__(recorded.case)
        self.answers = iter(recorded.expect["steps"])
        self.requested: list[Asked] = []

    def _step(self, step: Json) -> Json:
        answer: Json = next(self.answers, {})
        if self.node is not None and step["op"] == "resize" and "admitted" in answer:
            self._ask(self.node, step, answer)
        return super()._step(step)

    def _ask(self, node: Node, step: Json, answer: Json) -> None:
        node.clean_up()
        pod = read_pod({"pod": resized_pod(self.manifests[step["podUID"]], step)})
        status = status_of(node.active[pod.uid], step)
        before, after = node.copy(), node.copy()
        resized = after.resize(pod, resize_by_kep, status)
        self.requested.append(Asked(pod=pod, before=before, after=after, resized=resized, recorded=answer))


def answers_of_the_kep(recorded: Recorded) -> list[Asked]:
    """Play a case and return the KEP's answer to each of its resizes."""
    scenario = _Asking(recorded)
    scenario.play()
    return scenario.requested
