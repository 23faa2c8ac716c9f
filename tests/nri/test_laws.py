"""In any order of creations, stops, losses and restarts, CPUs never overlap, and the pool is the rest."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cpuctl.cpuset import CPUSet
from cpuctl.nri.model import Answer, RuntimeContainer, Sandbox, Setting
from cpuctl.nri.planned import CarriedPlan, PlannedContainer, PlannedPlaces, PlannedPod
from cpuctl.nri.reconciler import Reconciler

PODS, NAMES = ("one", "two", "three", "other"), ("a", "b", "c")


def own(text: str, *, init: bool = False) -> PlannedContainer:
    return PlannedContainer(CPUSet.parse(text), init=init)


PLAN = CarriedPlan(
    pods={
        ("x", "one"): PlannedPod({"a": own("0-3", init=True), "b": own("0-1"), "c": own("4-5")}),
        ("x", "two"): PlannedPod({"a": own("10-12"), "b": PlannedContainer(None)}),
        ("x", "three"): PlannedPod({"a": own("20-23"), "b": own("26-27")}, cpus=CPUSet.parse("20-27")),
    },
    pool=CPUSet.parse("6-9,13-19,28-31"),
    nodes={},
)
ALL = CPUSet.parse("0-31")


def planned(pod: str) -> Mapping[str, PlannedContainer]:
    found = PLAN.pods.get(("x", pod))
    return found.containers if found else {}


def init(pod: str) -> set[str]:
    return {name for name, each in planned(pod).items() if each.init}


class Containers(RuleBasedStateMachine):
    """A runtime that applies answers, or misses them."""

    def __init__(self) -> None:
        super().__init__()
        self.places = PlannedPlaces(PLAN)
        self.reconciler = Reconciler(self.places)
        self.running: dict[str, RuntimeContainer] = {}
        self.sets: dict[str, Setting] = {}
        self.ended: dict[str, set[str]] = {}
        """The pods of the plan that exist, with their containers that have ended."""
        self.numbers = count()

    def heard(self, answer: Answer, *, lost: bool = False) -> None:
        """Apply an answer, or lose it and let the plugin compensate."""
        if not lost:
            self.apply(answer)
            return
        for each in self.running:
            self.reconciler.created(each)
        self.apply(self.reconciler.behind())

    def apply(self, answer: Answer) -> None:
        if answer.container is not None and answer.adjust is not None:
            self.sets[answer.container.id] = answer.adjust.over(Setting())
        for each in answer.updates:
            assert each.container.id in self.running, "only running containers may be updated"
            self.sets[each.container.id] = each.setting.over(self.sets[each.container.id])
        self.reconciler.delivered(answer)

    @rule(pod=st.sampled_from(PODS), name=st.sampled_from(NAMES), lost=st.booleans())
    def create(self, pod: str, name: str, lost: bool) -> None:
        there = [each for each in self.running.values() if (each.pod.name, each.name) == (pod, name)]
        if there or (pod == "one" and self.conflicts_with_init(name)):
            return
        new = RuntimeContainer(f"{pod}-{name}-{next(self.numbers)}", name, Sandbox(pod, pod, "x", pod))
        self.running[new.id], self.sets[new.id] = new, Setting()
        if name in planned(pod):
            self.ended.setdefault(pod, set()).discard(name)
        answer = self.reconciler.create(new)
        self.heard(answer, lost=lost)
        self.reconciler.created(new.id)

    def conflicts_with_init(self, name: str) -> bool:
        """Return whether its init container would run together with the others, as no kubelet allows."""
        names = {each.name for each in self.running.values() if each.pod.name == "one"}
        return bool(names) if name == "a" else "a" in names

    @precondition(lambda self: self.running)
    @rule(data=st.data(), lost=st.booleans())
    def stop(self, data: st.DataObject, lost: bool) -> None:
        gone = data.draw(st.sampled_from(sorted(self.running)))
        self.end(self.running[gone])
        del self.running[gone], self.sets[gone]
        self.heard(self.reconciler.stop(gone), lost=lost)

    def end(self, gone: RuntimeContainer) -> None:
        """Note an end: a pod with no running container stays if an init container was its last."""
        pod = gone.pod.name
        if pod not in self.ended:
            return
        self.ended[pod].add(gone.name)
        others = any(each.pod.name == pod for each in self.running.values() if each.id != gone.id)
        if not others and not self.ended[pod] <= init(pod):
            del self.ended[pod]

    @precondition(lambda self: self.running or self.ended)
    @rule(data=st.data())
    def stop_pod(self, data: st.DataObject) -> None:
        there = {each.pod.id for each in self.running.values()} | set(self.ended)
        pod = data.draw(st.sampled_from(sorted(there)))
        self.ended.pop(pod, None)
        for each in [each.id for each in self.running.values() if each.pod.id == pod]:
            del self.running[each], self.sets[each]
        self.heard(self.reconciler.pod_gone(pod))

    @precondition(lambda self: self.running)
    @rule(data=st.data(), cpus=st.sampled_from(("0-31", "4-9", "")))
    def another_component_writes(self, data: st.DataObject, cpus: str) -> None:
        changed = data.draw(st.sampled_from(sorted(self.running)))
        wanted = Setting(cpus)
        answer = self.reconciler.update(self.running[changed], wanted)
        self.sets[changed] = wanted.over(self.sets[changed])
        self.heard(answer)

    @rule()
    def killed_and_started_again(self) -> None:
        """Start with only the runtime's report: if others run, init containers have ended."""
        names: dict[str, set[str]] = {}
        for each in self.running.values():
            if each.name in planned(each.pod.name):
                names.setdefault(each.pod.name, set()).add(each.name)
        self.ended = {pod: init(pod) - there if there - init(pod) else set() for pod, there in names.items()}
        self.places = PlannedPlaces(PLAN)
        self.reconciler = Reconciler(self.places)
        reported = [each._replace(setting=self.sets[each.id]) for each in self.running.values()]
        self.heard(self.reconciler.synchronize(reported))

    @invariant()
    def exclusive_cpus_do_not_overlap_and_the_pool_is_the_rest(self) -> None:
        taken, pool = CPUSet(), self.places.pool
        for each in self.running.values():
            container = planned(each.pod.name).get(each.name)
            cpus = CPUSet.parse(self.sets[each.id].cpus)
            if container is None or container.cpus is None:
                assert cpus == pool
            else:
                assert cpus == container.cpus
                assert not cpus & taken
                taken |= cpus
        assert not pool & taken
        assert pool == ALL - self.kept()

    def kept(self) -> CPUSet:
        """Return all exclusive CPUs: of running containers, and of those still to be created."""
        kept = CPUSet()
        for name, ended in self.ended.items():
            pending = planned(name).keys() - ended
            for each in pending:
                kept |= planned(name)[each].cpus or CPUSet()
            if pending:
                kept |= PLAN.pods["x", name].cpus
        return kept


TestContainers = Containers.TestCase
