"""Pods on a fleet: the scheduler's choice, then the kubelet's decision, class by class as node by node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpuctl.errors import InputError, UsageError
from cpuctl.fleet import node_classes, plan, plan_nodes
from cpuctl.fleet.asking import ask, in_this_process
from cpuctl.fleet.collection import Recording
from cpuctl.fleet.plan_answer import fleet_plan_document
from cpuctl.fleet.plan_inputs import FleetPlanInputs, given_pods, load_cluster
from cpuctl.fleet.plan_nodes import FleetInputs, NodeReader, NodeSurveyor
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.operations.plan import Planner
from cpuctl.operations.plan_inputs import PlanningInputs, read_planning
from cpuctl.pods.node_selection import ANY_NODE
from cpuctl.scheduler.decisions import PodNeeds
from cpuctl.scheduler.model import Load

SINGLE = "--cpu-manager-policy=static --reserved-cpus=0-1 --topology-manager-policy=single-numa-node"


def no_progress(_done: int, _total: int) -> None:
    pass


def document(
    fleet: dict[str, str], *, arguments: str = SINGLE, version: str = "1.36", **words: Any
) -> tuple[Any, Sources]:
    """Plan on nodes, given by name and description."""
    inputs = FleetPlanInputs(kubelet=KubeletInputs(arguments=arguments, version=version), **words)
    sources = Sources()
    cluster = load_cluster(inputs, sources)
    surveyor = NodeSurveyor(cluster.fleet_inputs(inputs))
    recordings = [Recording(name, source) for name, source in fleet.items()]
    rows = list(ask(surveyor, recordings, in_this_process, no_progress))
    answer = fleet_plan_document(inputs, given_pods(inputs, sources), cluster, rows, sources, no_progress)  # type: ignore[arg-type]
    return answer, sources


def where(answer: Any) -> dict[str, tuple[str | None, str]]:
    return {pod["name"]: (pod["node"], pod["outcome"]) for pod in answer["pods"]}


def write(path: Path, *objects: dict[str, Any]) -> str:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def node_object(name: str, cpu: str = "14", **more: Any) -> dict[str, Any]:
    labels, taints = more.get("labels", {}), more.get("taints", [])
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable": {"cpu": cpu, "memory": "60Gi", "pods": "110"}},
    }


def pod_object(name: str, cpu: int, node: str = "", **spec: Any) -> dict[str, Any]:
    amounts = {"cpu": str(cpu), "memory": "1Gi"}
    container = {"name": "c", "resources": {"requests": amounts, "limits": {**amounts}}}
    placed = {"nodeName": node} if node else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"containers": [container], **placed, **spec},
    }


def owned(pod: dict[str, Any], kind: str, name: str = "x", **metadata: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner], **metadata}}


def daemon_set(cpu: int = 0, **spec: Any) -> dict[str, Any]:
    container = pod_object("x", cpu)["spec"]["containers"][0] if cpu else {"name": "c"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "log"},
        "spec": {"template": {"spec": {"containers": [container], **spec}}},
    }


def test_pods_are_spread_by_free_resources() -> None:
    answer, _ = document(dict.fromkeys(("n1", "n2"), "synthetic:2s2n4c2t"), templates=("a=2/2,1Gi x4",))
    assert [pod["node"] for pod in answer["pods"]] == ["n1", "n2", "n1", "n2"]
    assert [pod["cpus"]["a"] for pod in answer["pods"]] == ["2,10", "2,10", "3,11", "3,11"]
    assert answer["summary"]["admitted"] == 4


def test_the_kubelet_decides_as_a_plan_of_the_node_alone_does() -> None:
    templates = ("a=3/3,1Gi", "b=2/2,1Gi x2", "big=6/6,1Gi")
    answer, _ = document({"n1": "synthetic:2s2n4c2t"}, templates=templates)
    planning = read_planning(
        PlanningInputs(
            machine="synthetic:2s2n4c2t", templates=templates, kubelet=KubeletInputs(arguments=SINGLE)
        ),
        pods_needed=True,
    )
    alone = Planner(planning).plan(planning.kubelet, Sources()).admissions
    assert [pod["outcome"] for pod in answer["pods"]] == [type(each.verdict).__name__ for each in alone]
    assert [pod["cpus"] for pod in answer["pods"]] == [
        {each.container.name: str_of(each.cpus) for each in admission.placements if each.exclusive}
        if pod["outcome"] == "Admitted"
        else {}
        for pod, admission in zip(answer["pods"], alone, strict=True)
    ]


def str_of(mask: int) -> str:
    from cpuctl.cpuset import CPUSet

    return str(CPUSet(mask))


def test_a_pod_that_the_kubelet_rejects_reports_where_it_would_have_fitted(tmp_path: Path) -> None:
    """The node with the most free CPUs has them split over NUMA nodes: the scheduler does not see that."""
    pods = write(tmp_path / "pods.json", pod_object("x", 8, "n2"))
    replicas = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 1, "template": {"spec": pod_object("t", 8)["spec"]}},
    }
    answer, _ = document(
        {"n1": "synthetic:4s4n4c1t", "n2": "synthetic:1s1n16c1t,mem=256Gi"},
        filenames=(write(tmp_path / "web.json", replicas),),
        pods=pods,
        arguments=SINGLE.replace("0-1", "0"),
    )
    (pod,) = answer["pods"]
    assert (pod["node"], pod["outcome"], pod["reason"]) == ("n1", "Rejected", "TopologyAffinityError")
    assert pod["fits"] == {"tried": 1, "count": 0, "nodes": []}
    assert (
        "replaces the pod immediately, and the scheduler, which is not aware of this, binds"
        in pod["replacement"]
    )

    roomier, _ = document(
        {"n1": "synthetic:4s4n4c1t", "n2": "synthetic:1s1n16c1t,mem=256Gi"},
        filenames=(str(tmp_path / "web.json"),),
        arguments=SINGLE.replace("0-1", "0"),
    )
    assert roomier["pods"][0]["fits"] == {"tried": 2, "count": 1, "nodes": ["n2"]}


def test_no_node_is_large_enough() -> None:
    answer, _ = document({"n1": "synthetic:1s1n4c1t", "n2": "synthetic:1s1n8c1t"}, templates=("a=9/9,1Gi",))
    (pod,) = answer["pods"]
    assert (pod["outcome"], pod["node"]) == ("Pending", None)
    assert pod["message"] == "0/2 nodes are available: 2 Insufficient cpu."


def test_a_node_whose_kubelet_does_not_start_gets_no_pods() -> None:
    answer, _ = document(
        {"n1": "synthetic:1s1n1c1t", "n2": "synthetic:1s1n8c1t"}, templates=("a=2/2,1Gi x9",)
    )
    assert {pod["node"] for pod in answer["pods"]} == {"n2", None}
    last = answer["pods"][-1]["message"]
    assert last == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."


def test_the_scheduler_uses_the_node_objects(tmp_path: Path) -> None:
    taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
    nodes = write(
        tmp_path / "nodes.json",
        node_object("n1", labels={"disk": "ssd"}, taints=[taint]),
        node_object("n2", labels={"disk": "hdd"}),
        node_object("n3", cpu="1"),
    )
    pods = write(
        tmp_path / "pods.json",
        pod_object("any", 2),
        pod_object("ssd", 2, nodeSelector={"disk": "ssd"}),
        pod_object("db", 2, nodeSelector={"disk": "ssd"}, tolerations=[{"key": "dedicated", "value": "db"}]),
        pod_object("there", 2, nodeName="n2"),
    )
    answer, _ = document(
        dict.fromkeys(("n1", "n2", "n3"), "synthetic:2s2n4c2t"), filenames=(pods,), nodes=nodes
    )
    assert where(answer) == {
        "any": ("n2", "Admitted"),
        "ssd": (None, "Pending"),
        "db": ("n1", "Admitted"),
        "there": ("n2", "Admitted"),
    }


def test_the_node_object_provides_the_release_missing_in_its_recording(tmp_path: Path) -> None:
    """State files decide whether a kubelet starts, and a release how it reads them."""
    recording = str(Path(__file__).parents[2] / "fixtures/nodes/v2-2-numa/node.tar.xz")
    reported = node_object("n1")
    reported["status"]["nodeInfo"] = {"kubeletVersion": "v1.34.2+k3s1"}
    nodes = write(tmp_path / "nodes.json", reported)
    words: dict[str, Any] = {"arguments": "", "version": "", "templates": ("a=1/2,1Mi",)}
    unknown, _ = document({"n1": recording}, **words)
    known, _ = document({"n1": recording}, nodes=nodes, **words)
    # In either case the kubelet rejects them.
    assert [each["nodes"][0]["start"]["outcome"] for each in (unknown, known)] == ["Rejected", "Rejected"]
    reported_by_node = FleetInputs(KubeletInputs(), releases={"n1": "v1.34.2"})
    assert str(NodeReader(reported_by_node)(Recording("n1", recording)).kubelet.version) == "1.34.2"
    given = FleetInputs(KubeletInputs(version="1.27"), releases={"n1": "v1.34.2"})
    assert NodeReader(given)(Recording("n1", recording)).kubelet.version.minor == 27


def test_unknown_labels_are_ignored(tmp_path: Path) -> None:
    pods = write(tmp_path / "pods.json", pod_object("ssd", 2, nodeSelector={"disk": "ssd"}))
    answer, sources = document({"n1": "synthetic:2s2n4c2t"}, filenames=(pods,))
    assert where(answer) == {"ssd": ("n1", "Admitted")}
    assert any("node selectors and node affinity are ignored" in text for text in sources.warnings)


def test_pods_of_other_nodes_change_nothing_about_a_node(tmp_path: Path) -> None:
    """The question for a node grows with its own pods, not with the cluster's."""

    def question(*pods: dict[str, Any]) -> str:
        name = write(tmp_path / "running.json", *pods)
        cluster = load_cluster(FleetPlanInputs(KubeletInputs(), pods=name), Sources())
        return NodeSurveyor(FleetInputs(KubeletInputs(), running=cluster.running)).asks("n1")

    alone = question(pod_object("a", 2, "n1"))
    assert question(pod_object("a", 2, "n1"), pod_object("b", 2, "n2")) == alone
    assert question(pod_object("a", 4, "n1")) != alone


def test_pods_of_a_drained_node_are_planned_elsewhere_first(tmp_path: Path) -> None:
    """DaemonSet pods and static pods stay behind, and pods without an owner are not created again."""
    mirror = {"kubernetes.io/config.mirror": "0", "kubernetes.io/config.source": "file"}
    running = write(
        tmp_path / "running.json",
        owned(pod_object("old", 4, "n1"), "ReplicaSet"),
        owned(pod_object("other", 6, "n2"), "ReplicaSet"),
        owned(pod_object("log", 2, "n1"), "DaemonSet"),
        owned(pod_object("proxy", 2, "n1"), "Node", annotations=mirror),
        pod_object("bare", 2, "n1"),
    )
    answer, sources = document(
        dict.fromkeys(("n1", "n2", "n3"), "synthetic:2s2n4c2t"),
        pods=running,
        drained=("n1",),
        templates=("new=2/2,1Gi",),
    )
    assert [pod["name"] for pod in answer["pods"]] == ["old", "new"]
    assert where(answer)["old"] == ("n3", "Admitted")
    assert [node["node"] for node in answer["nodes"]] == ["n2", "n3"]
    assert sources.warnings == [
        (
            "default/bare: no controller recreates it, and kubectl drain deletes it only with --force: not "
            "planned"
        )
    ]


def test_a_lost_node_is_left_out() -> None:
    nodes = dict.fromkeys(("n1", "n2"), "synthetic:1s1n4c1t")
    whole, _ = document(nodes, templates=("a=2/2,1Gi x2",))
    lost, _ = document(nodes, templates=("a=2/2,1Gi x2",), without=("n2",))
    assert (whole["summary"]["admitted"], lost["summary"]["admitted"]) == (2, 1)
    with pytest.raises(UsageError, match="there is no node 'n9' in the fleet"):
        document(nodes, templates=("a=2/2,1Gi",), without=("n9",))
    with pytest.raises(UsageError, match="the pods running on the node are unknown"):
        document(nodes, drained=("n1",))


def test_planning_as_many_copies_as_fit() -> None:
    nodes = dict.fromkeys(("n1", "n2", "n3"), "synthetic:2s2n4c2t")
    answer, _ = document(nodes, templates=("a=4/4,1Gi",), rounds="max")
    # 14 CPUs a node: one NUMA node has 6 for exclusive use, the other 8.
    assert answer["repeat"]["copies"] == 9
    assert answer["repeat"]["stop"]["outcome"] == "Pending"
    few, _ = document(nodes, templates=("a=4/4,1Gi",), rounds=4)
    assert few["repeat"] == {"copies": 4, "stop": None}


def test_running_pods_use_their_share(tmp_path: Path) -> None:
    running = write(tmp_path / "running.json", pod_object("old", 8, "n1"))
    answer, _ = document(
        dict.fromkeys(("n1", "n2"), "synthetic:2s2n4c2t"), pods=running, templates=("a=2/2,1Gi",)
    )
    assert answer["pods"][0]["node"] == "n2"
    assert answer["nodes"][0]["load"]["cpu"] == 8000


def test_without_any_kubelet_there_is_no_plan() -> None:
    with pytest.raises(InputError, match="no node in the fleet has a kubelet"):
        document({"n1": "synthetic:1s1n4c1t"}, arguments="--no-such-flag=1", templates=("a=1/1,1Gi",))


MACHINES = ("synthetic:2s2n4c2t", "synthetic:1s1n8c1t", "synthetic:2s4n8c2t")


@settings(max_examples=25, deadline=None)
@given(
    fleet=st.lists(st.sampled_from(MACHINES), min_size=1, max_size=6),
    pods=st.lists(
        st.sampled_from(("a=2/2,1Gi", "b=3/3,2Gi", "c=6/6,1Gi", "d=1/2,1Gi")), min_size=1, max_size=12
    ),
    tainted=st.sets(st.integers(0, 5)),
    there=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), max_size=6),
)
def test_classes_decide_as_single_nodes_do(
    tmp_path_factory: pytest.TempPathFactory,
    fleet: list[str],
    pods: list[str],
    tainted: set[int],
    there: list[tuple[int, int]],
) -> None:
    """A pod that names a node makes every node a separate class; nothing else changes."""
    from cpuctl.fleet import plan

    nodes = {f"n{number}": machine for number, machine in enumerate(fleet)}
    templates = tuple(f"p{number}-{text}" for number, text in enumerate(pods))
    folder, taint = tmp_path_factory.mktemp("fleet"), {"key": "a", "effect": "NoSchedule"}
    objects = [
        node_object(f"n{at}", "6", taints=[taint] if at in tainted else []) for at in range(len(fleet))
    ]
    running = [pod_object(f"r{number}", cpus, f"n{at}") for number, (at, cpus) in enumerate(there)]
    words: dict[str, Any] = {
        "templates": templates,
        "nodes": write(folder / "nodes.json", *objects),
        "pods": write(folder / "pods.json", *running),
        "filenames": (write(folder / "d.json", daemon_set(1)),),
    }
    together, _ = document(nodes, **words)

    class Alone(plan.FleetPlanner):
        def __init__(self, *words: Any, **more: Any) -> None:
            super().__init__(*words, **more)
            self._classes = [
                node_classes.NodeClass(each.node, each.load, [member])
                for each in self._classes
                for member in each.members
            ]
            self._classes.sort(key=lambda each: each.members[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cpuctl.fleet.plan_answer.FleetPlanner", Alone)
        single, _ = document(nodes, **words)
    assert together["pods"] == single["pods"]
    assert together["daemonSets"] == single["daemonSets"]


def test_copies_are_filtered_and_scored_once_per_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan's run time depends on the states that nodes reach, not on the number of nodes or pods."""
    judge = Mock(side_effect=plan._judge)
    monkeypatch.setattr(plan, "_judge", judge)
    fleet = {f"n{number:03}": "synthetic:2s2n4c2t" for number in range(60)}
    answer, _ = document(fleet, templates=("a=2/2,1Gi x300",))
    assert answer["summary"]["admitted"] == 300
    # Each of 60 nodes takes five pods, so there are the states with none to five.
    assert judge.call_count == 6


def test_states_are_cached_only_for_the_last_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_MOST_REMEMBERED", 2)
    inputs = FleetInputs(KubeletInputs(arguments=SINGLE, version="1.36"))
    rows = [NodeSurveyor(inputs)(Recording("n1", "synthetic:2s2n4c2t"))]
    planner = plan.FleetPlanner(rows, {}, inputs, [])
    for number in range(5):
        planner._remembered(PodNeeds(ANY_NODE, Load(number)))
    assert len(planner._judged) == 2
    assert planner._remembered(PodNeeds(ANY_NODE, Load(4))) is planner._remembered(
        PodNeeds(ANY_NODE, Load(4))
    )


def test_running_pods_of_a_large_cluster_are_read_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Mock(return_value="")
    monkeypatch.setattr(plan_nodes, "content_digest", looked)
    running: dict[str, tuple[Any, ...]] = {"n1": (), "n2": ()}
    surveyor = NodeSurveyor(FleetInputs(KubeletInputs(), running=running))
    for name in ("n1", "n2", "recording-a", "recording-b"):
        surveyor.asks(name)
    assert looked.call_args_list == [call(()), call(()), call((False, [("n1", ""), ("n2", "")]))]
