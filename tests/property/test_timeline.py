"""Random histories: no CPU is owned twice or lost, none is taken early, and changes are published first."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.golang.durations import MILLISECOND
from cpuctl.timeline.model import Timeline
from cpuctl.timeline.pods.downward import assigned_cpuset
from cpuctl.timeline.reading.document import read_timeline
from cpuctl.timeline.report.views import VIEWS
from cpuctl.timeline.simulation import Simulation
from cpuctl.timeline.world.world import World, cpus_text
from tests.timeline.replaying import OUTSIDE, config, replay

DELAYS = [5000, 1500, 0]
VOLUME_SYNC = 100
PODS = ("one", "two", "duo", "shared")
END = 31_000


def pod(name: str, *containers: tuple[str, str]) -> dict[str, Any]:
    fields = [{"containerName": each, "resource": "assigned.cpuset"} for each, _ in containers]
    return {
        "metadata": {"name": name},
        "spec": {
            "containers": [
                {"name": each, "resources": {"limits": {"cpu": cpus, "memory": "1Gi"}}}
                for each, cpus in containers
            ],
            "volumes": [
                {
                    "name": "podinfo",
                    "downwardAPI": {
                        "items": [
                            {"path": each["containerName"], "resourceFieldRef": each} for each in fields
                        ]
                    },
                }
            ],
        },
    }


def resizes(name: str, *containers: str) -> st.SearchStrategy[dict[str, Any]]:
    sizes = st.fixed_dictionaries(
        {}, optional={each: st.sampled_from([2, 2, 3, 4, 5, 6, 1, 9]) for each in containers}
    )
    return sizes.filter(bool).map(
        lambda chosen: {
            "resize": {"pod": name, "containers": {each: {"cpu": cpus} for each, cpus in chosen.items()}}
        }
    )


RESIZES = st.one_of(resizes("one", "app"), resizes("duo", "rx", "tx"), resizes("two", "app"))
OTHERS = st.one_of(
    st.sampled_from(PODS).map(lambda name: {"admit": name}),
    st.sampled_from(PODS).map(lambda name: {"remove": name}),
    st.sampled_from(["one/app", "duo/rx"]).map(lambda name: {"exit": name}),
    st.sampled_from(["one/app", "duo/rx"]).map(lambda name: {"start": name}),
    st.sampled_from(["stop", "start", "restart"]).map(lambda action: {"kubelet": action}),
)
ACTIONS = st.one_of(RESIZES, RESIZES, RESIZES, OTHERS)
BEGINNING: list[dict[str, Any]] = [
    *({"at": "0s", "admit": name} for name in PODS),
    {"at": "0s", "resize": {"pod": "one", "containers": {"app": {"cpu": 6}}}},
    {"at": "0s", "resize": {"pod": "duo", "containers": {"rx": {"cpu": 4}, "tx": {"cpu": 4}}}},
]
"""All pods have more than their baselines, so that there are CPUs to take away."""


@st.composite
def timelines(draw: st.DrawFn) -> tuple[Timeline, int]:
    """Draw a timeline and its delay in milliseconds."""
    delay = draw(st.sampled_from(DELAYS))
    options = {"scale-delay-time": f"{delay}ms"} | draw(
        st.sampled_from([{}, {}, {"distribute-cpus-across-numa": "true"}, {"full-pcpus-only": "true"}])
    )
    # Around whole seconds: just before, at, and just after passes and the ends of delays.
    times = st.builds(
        lambda at, alongside: f"{at * 1000 + alongside}ms",
        st.integers(0, 30),
        st.sampled_from([0, 1, 501, 999]),
    )
    happens = draw(st.lists(st.tuples(times, ACTIONS), min_size=6, max_size=25))
    written = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Timeline",
        "machine": draw(st.sampled_from(["synthetic:1s1n10c2t", "synthetic:2s2n5c2t"])),
        "kubelet": {
            "version": "1.37",
            "config": config(
                cpuManagerPolicyOptions=options,
                cpuManagerReconcilePeriod=draw(st.sampled_from(["1s", "500ms", "1700ms", "10s"])),
                topologyManagerPolicy=draw(st.sampled_from(["none", "best-effort", "restricted"])),
            ),
        },
        "apiServer": {"featureGates": {"DownwardAPIAssignedResources": True}},
        "timing": {"volumeSync": f"{VOLUME_SYNC}ms"},
        "pods": [
            pod("one", ("app", "2")),
            pod("two", ("app", "4")),
            pod("duo", ("rx", "2"), ("tx", "2")),
            pod("shared", ("app", "500m")),
        ],
        "events": BEGINNING + [{"at": at, **action} for at, action in happens],
        "until": f"{END + 20_000}ms",
    }
    return read_timeline(json.dumps(written), "timeline.json", OUTSIDE), delay


Key = tuple[str, str]


@dataclass
class Watcher:
    """Checks a world after every step; ``left`` is since when each CPU is no longer meant for a container."""

    delay: int
    meant: dict[Key, int] = field(default_factory=dict)
    left: dict[Key, dict[int, int]] = field(default_factory=dict)
    cgroups: dict[Key, int] = field(default_factory=dict)
    owned: dict[Key, int] = field(default_factory=dict)

    def look(self, world: World) -> None:
        self.nothing_is_owned_twice_or_lost(world)
        self.nothing_is_taken_early(world)
        self.baselines_are_kept(world)

    def nothing_is_owned_twice_or_lost(self, world: World) -> None:
        if world.kubelet is None:
            return
        state = world.kubelet.node.state
        seen = state.default
        for containers in state.assignments.values():
            for cpus in containers.values():
                assert not cpus & seen, str(CPUSet(cpus & seen))
                seen |= cpus
        assert seen == world.kubelet.node.topology.cpus

    def nothing_is_taken_early(self, world: World) -> None:
        for life in world.pods.values():
            for name, container in life.containers.items():
                key = (life.uid, name)
                exclusive = self.note_what_is_meant(world, key)
                cgroup = container.cgroup if container.runs else 0
                before = self.cgroups.get(key, 0)
                if exclusive and container.runs and before:
                    self.cpus_leave_only_after_the_delay(world, key, before & ~cgroup)
                    if container.file is not None:
                        self.leaving_cpus_were_published(container.file, before & ~cgroup)
                self.cgroups[key] = cgroup

    def note_what_is_meant(self, world: World, key: Key) -> bool:
        """Note which CPUs a container is to have; without a kubelet these are the ones it had."""
        owned = meant = self.owned.get(key, 0)
        if world.kubelet is not None:
            state = world.kubelet.node.state
            assigned, awaited = state.assigned(*key) or 0, state.awaited(*key)
            meant = assigned if awaited is None else awaited
            self.owned[key] = assigned
        times = self.left.setdefault(key, {})
        for cpu in CPUSet(self.meant.get(key, 0) & ~meant):
            times[cpu] = world.now
        for cpu in CPUSet(meant):
            times.pop(cpu, None)
        self.meant[key] = meant
        if self.owned.get(key):
            self.cpus_leave_only_after_the_delay(world, key, owned & ~self.owned[key])
        return bool(self.owned.get(key))

    def cpus_leave_only_after_the_delay(self, world: World, key: Key, leaving: int) -> None:
        for cpu in CPUSet(leaving):
            assert world.now - self.left[key][cpu] >= self.delay, f"CPU {cpu} of {key} at {world.now}"

    def leaving_cpus_were_published(self, file: str, leaving: int) -> None:
        """The volume is updated faster than any delay, but not without a delay."""
        if self.delay > VOLUME_SYNC * MILLISECOND:
            assert not CPUSet.parse(file).mask & leaving

    def baselines_are_kept(self, world: World) -> None:
        if world.kubelet is None:
            return
        state = world.kubelet.node.state
        for uid, containers in state.assignments.items():
            for name, cpus in containers.items():
                baseline, awaited = state.baseline(uid, name), state.awaited(uid, name)
                assert baseline is not None
                assert not baseline & ~cpus
                assert awaited is None or not baseline & ~awaited
                assert awaited is None or awaited.bit_count() < cpus.bit_count()


@given(timelines())
def test_cpus_change_owners_as_the_proposals_say(drawn: tuple[Timeline, int]) -> None:
    timeline, delay = drawn
    simulation, watcher = Simulation(timeline), Watcher(delay * MILLISECOND)
    watcher.look(simulation.world)
    for _ in simulation.play(timeline.moments, timeline.until):
        watcher.look(simulation.world)
    assert not [each for each in simulation.world.scale_downs.all if each.late and delay > VOLUME_SYNC]


@given(timelines(), st.integers(0, END + 20_000))
def test_a_replay_continues_from_where_it_ended(drawn: tuple[Timeline, int], cut: int) -> None:
    """The simulation can be pickled at any moment, and the rest is the same as without that."""
    timeline, _ = drawn
    whole = replay(timeline)
    first = Simulation(timeline)
    at = cut * MILLISECOND
    for _ in first.play([moment for moment in timeline.moments if moment.at <= at], at):
        pass
    rest: Simulation = pickle.loads(pickle.dumps(first))  # noqa: S301  # written just now
    for _ in rest.play([moment for moment in timeline.moments if moment.at > at], timeline.until):
        pass
    assert rest.world.entries == whole.world.entries
    assert rest.samples == whole.samples
    for view in VIEWS.values():
        assert view(rest.world) == view(whole.world)


@given(timelines())
def test_pending_changes_are_always_settled_in_the_end(drawn: tuple[Timeline, int]) -> None:
    """If a kubelet runs, all running pods have what the state says twenty seconds after the last event."""
    timeline, _ = drawn
    world = replay(timeline).world
    if world.kubelet is None:
        return
    assert world.kubelet.node.state.pending == {}
    for life in world.on_node():
        models = {each.name: each for each in life.running.allocated.all_containers}
        for name, container in life.containers.items():
            assigned = world.kubelet.node.state.assigned(life.uid, name)
            if container.runs:
                assert container.cgroup == (
                    world.kubelet.node.state.default if assigned is None else assigned
                )
                assert container.file in (
                    None,
                    cpus_text(assigned_cpuset(world.kubelet.node.state, life.uid, models[name])),
                )
        if life.admitted:
            assert "PodResizeInProgress" not in life.conditions
