"""A policy that assigns CPUs as containers arrive, takes them back, and remembers across restarts."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cpuctl.cpuset import CPUSet, union
from cpuctl.errors import InputError, NodeAccessError, UsageError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.nri.allocating import AllocatedPlaces, LeftNode
from cpuctl.nri.model import SHARES, Answer, RuntimeContainer, Sandbox, Setting
from cpuctl.nri.reconciler import Reconciler
from cpuctl.operations.nri_policy import PolicyInputs, allocated_places
from tests.nri.conftest import Play
from tests.nri.runtime import FakeRuntime, Running, pod

MACHINE = "synthetic:2s2n4c2t,mem=64Gi"
RESERVED = KubeletInputs(arguments="--reserved-cpus=0,8", version="1.36")
EIGHT_NODES = "synthetic:2s8n16c2t,mem=64Gi"
GUARANTEED, BURSTABLE = "/kubepods/podu", "/kubepods/burstable/podu"

Places = Callable[..., AllocatedPlaces]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    def start(policy: str = "static", machine: str = MACHINE, **more: Any) -> AllocatedPlaces:
        kubelet = more.pop("kubelet", RESERVED)
        inputs = PolicyInputs(policy, machine, kubelet, str(tmp_path / "state"), **more)
        return allocated_places(inputs, Sources())

    return start


def resources(cpus: float) -> dict[str, int]:
    return {"shares": int(cpus * 1024), "quota": int(cpus * 100_000), "memory": 1 << 30}


def test_guaranteed_containers_get_exclusive_cpus_and_others_share(play: Play, places: Places) -> None:
    scene = play(places())
    runtime = scene.runtime
    log = runtime.create(pod("log", parent=BURSTABLE), "main", **resources(2))
    web = pod("web", parent=GUARANTEED)
    app = runtime.create(web, "app", **resources(4))
    half = runtime.create(web, "half", **resources(0.5))
    assert (log.cpus, app.cpus, half.cpus) == ("0,3-8,11-15", "1-2,9-10", "0,3-8,11-15")
    free = runtime.create(pod("cri"), "main", **resources(2))  # no kubelet has created it
    assert (free.cpus, log.cpus) == ("3,11", "0,4-8,12-15")
    none = runtime.create(pod("none", parent=GUARANTEED), "main", **resources(16))
    assert none.cpus == "0,4-8,12-15"
    assert scene.log.says("default/none/main gets no exclusive CPUs and runs in the shared pool: ")
    runtime.stop_container(app)
    assert (half.cpus, log.cpus, none.cpus) == ("0-2,4-10,12-15",) * 3


def test_held_cpus_outlive_the_plugin(play: Play, places: Places, tmp_path: Path) -> None:
    first = play(places())
    runtime = first.runtime
    app = runtime.create(pod("web", parent=GUARANTEED), "app", **resources(4))
    db = runtime.create(pod("db", parent=GUARANTEED), "main", **resources(2))
    first.plugin.stop()
    saved = json.loads((tmp_path / "state").read_bytes())
    assert {each["id"] for each in saved["containers"]} == {app.id, db.id}
    runtime.close()
    del runtime.containers[app.id]  # it ended while no plugin listened
    (tmp_path / "second").mkdir()
    again = FakeRuntime(tmp_path / "second" / "nri.sock", containers=runtime.containers, pods=runtime.pods)
    (tmp_path / ".state.lock").unlink()  # the first one lives on in this process
    scene = play(places(), again)
    assert db.cpus == "3,11", "it keeps what it has"
    new = scene.runtime.create(pod("new", parent=GUARANTEED), "main", **resources(4))
    assert new.cpus == "1-2,9-10"


def test_without_its_state_it_does_not_move_containers_with_exclusive_cpus(
    play: Play, places: Places, tmp_path: Path
) -> None:
    """A container that already has its number of CPUs keeps them; shared and reserved ones do not count."""
    runtime = FakeRuntime(tmp_path / "nri.sock")
    for name, given, parent in (
        ("a", "3,11", GUARANTEED),
        ("b", "4-5", GUARANTEED),
        ("c", "5-6", GUARANTEED),
        ("d", "0,8", GUARANTEED),
        ("few", "7", GUARANTEED),
        ("all", "", GUARANTEED),
        ("log", "0-15", BURSTABLE),
    ):
        sandbox = runtime.run_pod(pod(name, parent=parent))
        runtime.containers[name] = Running(name, "main", sandbox, given, "", **resources(2))
    scene = play(places(), runtime)
    sets = {name: each.cpus for name, each in runtime.containers.items()}
    assert sets["a"] == "3,11"
    own = [CPUSet.parse(sets[name]) for name in ("a", "b", "c", "d", "few", "all")]
    assert [len(each) for each in own] == [2] * 6
    assert CPUSet.parse(sets["log"]) == CPUSet.parse("0-15") - union(own)
    assert len(union(own)) == 12
    (event,) = scene.log.reported(1)
    assert event[1].notes[0] == "default/a/main already runs on CPUs 3,11, and keeps them exclusively"
    assert [each.partition(" to ")[0] for each in event[1].notes[1:]] == [
        f"default/{name}/main is moved from CPUs {given}"
        for name, given in (("b", "4-5"), ("c", "5-6"), ("d", "0,8"))
    ]


def test_of_two_containers_with_the_same_name_one_has_exclusive_cpus(
    play: Play, places: Places, tmp_path: Path
) -> None:
    """As when a container is created again while the old one is still terminating."""
    runtime = FakeRuntime(tmp_path / "nri.sock")
    sandbox = runtime.run_pod(pod("a", parent=GUARANTEED))
    for name, given in (("old", "1-2"), ("new", "4-5")):
        runtime.containers[name] = Running(name, "main", sandbox, given, "", **resources(2))
    log = runtime.containers["log"] = Running("log", "main", runtime.run_pod(pod("log", parent=BURSTABLE)))
    play(places(), runtime)
    sets = {CPUSet.parse(each.cpus) for each in runtime.containers.values()}
    own, pool = sorted(sets, key=len)
    assert (len(own), pool, log.cpus) == (2, CPUSet.parse("0-15") - own, str(pool))


def test_running_containers_stay_although_the_policy_would_not_place_them_there(
    play: Play, places: Places, tmp_path: Path
) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "reservedSystemCPUs: 0,8\ntopologyManagerPolicy: single-numa-node\n"
    )
    runtime = FakeRuntime(tmp_path / "nri.sock")
    sandbox = runtime.run_pod(pod("a", parent=GUARANTEED))
    runtime.containers["a"] = Running("a", "main", sandbox, "1,7", "", **resources(2))
    scene = play(places(kubelet=KubeletInputs(config=str(config), version="1.36")), runtime)
    assert runtime.containers["a"].cpus == "1,7"
    assert scene.log.says(
        "a/main already runs on CPUs 1,7, and keeps them exclusively, although the policy would not allow "
        "it: "
    )
    more = scene.runtime.create(pod("b", parent=GUARANTEED), "main", **resources(4))
    assert more.cpus == "2-3,10-11"
    assert json.loads((tmp_path / "state").read_bytes())["containers"] != []


def test_a_dry_run_reads_the_state_and_does_not_change_it(places: Places, tmp_path: Path) -> None:
    """A dry run next to an active plugin gives the same answers."""

    def container(name: str) -> RuntimeContainer:
        sandbox = Sandbox(name, name, "x", name, GUARANTEED)
        return RuntimeContainer(name, "main", sandbox, shares=2048, quota=200_000, memory=1 << 30)

    first, second, third = map(container, ("first", "second", "third"))
    run = places()
    Reconciler(run).synchronize([first, second])
    left = (tmp_path / "state").read_bytes()
    dry = places(dry_run=True)
    reconciler = Reconciler(dry)
    reconciler.synchronize([second])
    assert (str(dry.place(second).cpus), dry.place(second)) == ("2,10", run.place(second))
    assert reconciler.create(third).adjust == Setting("1,9")
    assert (tmp_path / "state").read_bytes() == left
    (tmp_path / "state").unlink()
    (tmp_path / ".state.lock").unlink()
    Reconciler(places(dry_run=True)).synchronize([second])
    assert list(tmp_path.iterdir()) == []


WITH_MEMORY = (
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    "reservedSystemCPUs: 0,8\nmemoryManagerPolicy: Static\ntopologyManagerPolicy: single-numa-node\n"
    "systemReserved: {memory: 900Mi}\n"
    "reservedMemory: [{numaNode: 0, limits: {memory: 1000Mi}}]\n"
)


def test_memory_nodes_come_with_a_static_memory_manager(play: Play, places: Places, tmp_path: Path) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text(WITH_MEMORY)
    scene = play(places(kubelet=KubeletInputs(config=str(config), version="1.36")))
    app = scene.runtime.create(pod("web", parent=GUARANTEED), "app", **resources(4))
    big = scene.runtime.create(pod("big", parent=GUARANTEED), "app", **resources(8))
    assert (app.cpus, app.mems) == ("1-2,9-10", "0")
    assert (big.cpus, big.mems) == ("4-7,12-15", "1")


def test_without_its_state_it_does_not_move_memory(play: Play, places: Places, tmp_path: Path) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text(WITH_MEMORY)
    runtime = FakeRuntime(tmp_path / "nri.sock")
    for name, given, nodes in (("near", "1-2", "0"), ("far", "5-6", "0")):
        sandbox = runtime.run_pod(pod(name, parent=GUARANTEED))
        runtime.containers[name] = Running(name, "main", sandbox, given, nodes, **resources(2))
    scene = play(places(kubelet=KubeletInputs(config=str(config), version="1.36")), runtime)
    assert [(each.cpus, each.mems) for each in runtime.containers.values()] == [("1-2", "0"), ("5-6", "0")]
    (event,) = scene.log.reported(1)
    near, far = event[1].notes
    assert near == "default/near/main already runs on CPUs 1-2, and keeps them exclusively"
    kept = "default/far/main already runs on CPUs 5-6, and keeps them exclusively"
    assert far == f"{kept}, with its memory on NUMA node 0"


def test_another_policy_chooses(play: Play, places: Places) -> None:
    scene = play(places("koordinator,bind=spread"))
    app = scene.runtime.create(pod("web", parent=GUARANTEED), "app", **resources(2))
    scene.runtime.serve(0.1)
    assert len(CPUSet.parse(app.cpus)) == 2
    assert app.cpus != "1,9", "not the two threads of a core, as the kubelet would"


def test_a_state_of_another_program_is_rejected(places: Places, tmp_path: Path) -> None:
    empty = {"files": {"cpu_manager_state": "", "memory_manager_state": ""}, "containers": []}
    for text in (
        "{",
        "[]",
        "[" * 100_000,
        json.dumps({**empty, "kind": "Plan"}),
        '{"kind": "NRIState", "files": {}, "containers": []}',
    ):
        (tmp_path / "state").write_text(text)
        with pytest.raises(InputError, match="is not a state file of cpuctl nri run"):
            places()


def test_a_link_in_place_of_the_state_is_rejected_at_once(places: Places, tmp_path: Path) -> None:
    (tmp_path / "state").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="exists and is not a regular file"):
        places()
    (tmp_path / "state").unlink()
    (tmp_path / ".state.lock").unlink()
    (tmp_path / ".state.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NodeAccessError):
        places()
    assert not (tmp_path / "elsewhere").exists()


def test_two_plugins_never_share_a_state(places: Places) -> None:
    first = places()
    with pytest.raises(NodeAccessError, match="another cpuctl nri run is using it"):
        places()
    del first


def test_settings_with_which_no_kubelet_starts_are_rejected(places: Places) -> None:
    with pytest.raises(InputError, match="the kubelet would not start") as raised:
        places(kubelet=KubeletInputs(version="1.36"))
    assert "--reserved-cpus=0" in raised.value.hint
    arguments = "--reserved-cpus=0 --cpu-manager-policy-options=full-pcpus-onl=true"
    with pytest.raises(InputError, match="the kubelet would not start") as raised:
        places(kubelet=KubeletInputs(arguments=arguments, version="1.36"))
    assert raised.value.hint == (
        f"cpuctl config check -m {MACHINE} --kubelet-args '--reserved-cpus=0 "
        "--cpu-manager-policy-options=full-pcpus-onl=true --cpu-manager-policy=static' "
        "--kubelet-version 1.36 shows what to change"
    )


def test_an_unknown_policy_is_reported_before_any_other_error(places: Places) -> None:
    with pytest.raises(UsageError, match="statc"):
        places(policy="statc", kubelet=KubeletInputs(version="1.36"))


class Saved:
    """Keeps a state in memory, as the file would have it."""

    def __init__(self) -> None:
        self.left: LeftNode | None = None
        self.times = 0

    def save(self, node: Any, held: Any) -> None:
        self.left = LeftNode(node.copy(), dict(held))
        self.times += 1


def test_many_existing_containers_are_saved_at_once(places: Places) -> None:
    """A file synced for each of them would take longer than the runtime waits."""
    fresh, saved = places(), Saved()
    reconciler = Reconciler(AllocatedPlaces(LeftNode(fresh._node, {}), fresh._rules, saved))
    there = [
        RuntimeContainer(
            name,
            "main",
            Sandbox(name, name, "x", name, GUARANTEED),
            shares=1024,
            quota=100_000,
            memory=1 << 20,
        )
        for name in "abcd"
    ]
    reconciler.synchronize(there)
    assert saved.left is not None
    assert (len(saved.left.held), saved.times) == (4, 1)
    reconciler.create(there[0]._replace(id="e", name="e"))
    assert (len(saved.left.held), saved.times) == (5, 2)
    reconciler.create(there[0]._replace(id="f", name="f", memory=None))
    assert saved.times == 2, "one in the pool changes nothing"
    reconciler.pod_gone("a")
    assert (len(saved.left.held), saved.times) == (3, 3)


class Allocations(RuleBasedStateMachine):
    """Containers on 64 CPUs and 8 nodes; the plugin is killed before or after it has saved."""

    def __init__(self) -> None:
        super().__init__()
        kubelet = KubeletInputs(arguments="--reserved-cpus=0", version="1.36")
        inputs = PolicyInputs("static", EIGHT_NODES, kubelet, state_file="/nowhere/state", dry_run=True)
        fresh = allocated_places(inputs, Sources())
        self.pod_rules = fresh._rules
        self.saved = Saved()
        self.saved.save(fresh._node, {})
        self.empty = self.saved.left
        self.begin()
        self.running: dict[str, RuntimeContainer] = {}
        self.sets: dict[str, Setting] = {}
        self.numbers = count()

    def begin(self) -> None:
        assert self.saved.left is not None
        left = LeftNode(self.saved.left.node.copy(), self.saved.left.held)
        self.places = AllocatedPlaces(left, self.pod_rules, self.saved)
        self.reconciler = Reconciler(self.places)

    def apply(self, answer: Answer) -> None:
        if answer.container is not None and answer.adjust is not None:
            self.sets[answer.container.id] = answer.adjust
        for each in answer.updates:
            self.sets[each.container.id] = each.setting.over(self.sets[each.container.id])
        self.reconciler.delivered(answer)

    @rule(
        name=st.sampled_from("abc"),
        container=st.sampled_from("xy"),
        cpus=st.integers(0, 24),
        killed=st.booleans(),
    )
    def create(self, name: str, container: str, cpus: int, killed: bool) -> None:
        if any((each.pod.name, each.name) == (name, container) for each in self.running.values()):
            return
        sandbox = Sandbox(name, name, "x", name, GUARANTEED)
        new = RuntimeContainer(f"{name}-{container}-{next(self.numbers)}", container, sandbox)
        if cpus:
            new = new._replace(shares=cpus * 1024, quota=cpus * 100_000, period=100_000, memory=1 << 20)
        answer = self.reconciler.create(new)
        self.running[new.id], self.sets[new.id] = new, Setting("0-63")
        if killed:  # the state is saved, but the answer never arrives: the runtime lets the container pass
            self.killed_and_started_again(state_lost=False)
            return
        self.apply(answer)
        self.reconciler.created(new.id)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), heard=st.booleans())
    def stop(self, data: st.DataObject, heard: bool) -> None:
        gone = data.draw(st.sampled_from(sorted(self.running)))
        del self.running[gone], self.sets[gone]
        if heard:
            self.apply(self.reconciler.stop(gone))
        else:
            self.killed_and_started_again(state_lost=False)

    @rule(state_lost=st.booleans())
    def killed_and_started_again(self, state_lost: bool) -> None:
        if state_lost:
            self.saved.left = self.empty
        self.begin()
        reported = [each._replace(setting=self.sets[each.id]) for each in self.running.values()]
        before = {each.id: self.places.place(each).cpus for each in reported if self.places.place(each).own}
        if state_lost:
            before = {each.id: each.setting.cpu_set for each in reported if self.is_exclusive(each)}
        self.apply(self.reconciler.synchronize(reported))
        for each, had in before.items():
            assert self.places.place(self.running[each]).cpus == had, "containers with CPUs keep them"

    def is_exclusive(self, one: RuntimeContainer) -> bool:
        """Return whether a container has exclusively as many CPUs as it requests."""
        own = {
            each: self.sets[each].cpu_set
            for each, running in self.running.items()
            if len(self.sets[each].cpu_set) * SHARES == running.shares
        }
        has = own.pop(one.id, None)
        return has is not None and 0 not in has and not any(has & each for each in own.values())

    @invariant()
    def exclusive_cpus_do_not_overlap_and_the_pool_is_the_rest(self) -> None:
        taken = CPUSet()
        for each in self.running.values():
            place, cpus = self.places.place(each), CPUSet.parse(self.sets[each.id].cpus)
            assert cpus == place.cpus
            if place.own:
                assert len(cpus) * 1024 == each.shares
                assert not cpus & taken
                taken |= cpus
        assert self.places.pool == CPUSet.parse("0-63") - taken


TestAllocations = Allocations.TestCase
