"""The scheduler's rules for pods on a fleet: DaemonSets, spreading, pods that name their node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fleet.test_plan import daemon_set, document, node_object, owned, pod_object, where, write

HOST, ZONE = {"kubernetes.io/hostname": "x"}, "topology.kubernetes.io/zone"


def shares(answer: Any) -> dict[str, list[str]]:
    (found,) = answer["daemonSets"]
    return {each.get("message", each["outcome"]): each["nodes"] for each in found["outcomes"]}


def test_every_node_gets_a_pod_of_a_daemon_set_before_other_pods(tmp_path: Path) -> None:
    answer, _ = document(
        {"n1": "synthetic:1s1n8c1t", "n2": "synthetic:4s4n4c1t", "n3": "synthetic:1s1n8c1t"},
        filenames=(write(tmp_path / "d.json", daemon_set(5)),),
        templates=("a=2/2,1Gi x3",),
    )
    assert shares(answer) == {
        "Admitted": ["n1", "n3"],
        "Resources cannot be allocated with Topology locality": ["n2"],
    }
    # Of the small nodes' 6 CPUs for pods one is left: the large one gets all other pods.
    assert {pod["node"] for pod in answer["pods"]} == {"n2"}
    assert (answer["summary"]["pods"], answer["summary"]["admitted"]) == (6, 5)


def test_a_daemon_set_runs_on_nodes_that_it_selects_and_with_taints_that_it_tolerates(
    tmp_path: Path,
) -> None:
    def tainted(name: str, key: str, effect: str, **labels: str) -> dict[str, Any]:
        return node_object(name, labels=labels, taints=[{"key": key, "effect": effect}])

    nodes = write(
        tmp_path / "nodes.json",
        tainted("cordoned", "node.kubernetes.io/unschedulable", "NoSchedule", disk="ssd"),
        tainted("gone", "node.kubernetes.io/unreachable", "NoExecute", disk="ssd"),
        tainted("starting", "node.kubernetes.io/not-ready", "NoSchedule", disk="ssd"),
        tainted("offline", "node.kubernetes.io/network-unavailable", "NoSchedule", disk="ssd"),
        tainted("gpu", "nvidia.com/gpu", "NoSchedule", disk="ssd"),
        node_object("other", labels={"disk": "hdd"}),
        node_object("full", cpu="1", labels={"disk": "ssd"}),
        node_object("has", labels={"disk": "ssd"}),
    )
    names = ("cordoned", "gone", "starting", "offline", "gpu", "other", "full", "has")
    fleet = dict.fromkeys(names, "synthetic:2s2n4c2t")
    running = write(tmp_path / "running.json", owned(pod_object("log-1", 2, "has"), "DaemonSet", "log"))
    words = {"nodes": nodes, "pods": running}
    manifest = write(tmp_path / "d.json", daemon_set(2, nodeSelector={"disk": "ssd"}))
    answer, _ = document(fleet, filenames=(manifest,), **words)
    short = "0/8 nodes are available: 1 Insufficient cpu, 7 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    assert shares(answer) == {"Admitted": ["cordoned", "gone"], short: ["full"]}
    (found,) = answer["daemonSets"]
    assert (found["namespace"], found["name"], found["running"]) == ("default", "log", ["has"])
    assert found["excluded"] == ["starting", "offline", "gpu", "other"]

    on_host = write(tmp_path / "h.json", daemon_set(2, hostNetwork=True, nodeSelector={"disk": "ssd"}))
    assert "offline" in shares(document(fleet, filenames=(on_host,), **words)[0])["Admitted"]


def test_replicas_are_spread_over_zones_and_nodes_with_those_that_run(tmp_path: Path) -> None:
    """A small node in another zone beats larger ones with siblings, except for a pod without siblings."""
    zones = {"n1": "a", "n2": "a", "n3": "b"}
    objects = [
        node_object(name, "14" if zone == "a" else "8", labels={**HOST, ZONE: zone})
        for name, zone in zones.items()
    ]
    running = [
        owned(pod_object(f"old{number}", 1, name), "ReplicaSet") for number, name in enumerate(("n1", "n2"))
    ]
    for each in running:
        each["metadata"]["ownerReferences"][0]["name"] = "web"
    incoming = [owned(pod_object(name, 1), "ReplicaSet") for name in ("web", "other")]
    answer, _ = document(
        dict.fromkeys(zones, "synthetic:2s2n4c2t,mem=64Gi"),
        filenames=(write(tmp_path / "new.json", *incoming),),
        nodes=write(tmp_path / "nodes.json", *objects),
        pods=write(tmp_path / "running.json", *running),
    )
    assert where(answer) == {"web": ("n3", "Admitted"), "other": ("n1", "Admitted")}


def test_new_replicas_are_siblings_of_each_other(tmp_path: Path) -> None:
    """Bare pods crowd the larger node, replicas take turns."""
    nodes = write(
        tmp_path / "nodes.json", *(node_object(name, cpu, labels=HOST) for name, cpu in SIZES.items())
    )
    web = write(tmp_path / "web.json", {**deployment(4), "metadata": {"name": "web"}})
    words: dict[str, Any] = {"fleet": dict.fromkeys(SIZES, "synthetic:2s2n4c2t,mem=64Gi"), "nodes": nodes}
    replicas, _ = document(filenames=(web,), **words)
    bare, _ = document(templates=("web=1/1,1Gi x4",), **words)
    assert [pod["node"] for pod in bare["pods"]] == ["n1", "n1", "n2", "n1"]
    assert [pod["node"] for pod in replicas["pods"]] == ["n1", "n2", "n1", "n2"]


SIZES = {"n1": "14", "n2": "6"}


def deployment(replicas: int) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"replicas": replicas, "template": {"spec": pod_object("x", 1)["spec"]}},
    }


def test_a_daemon_set_is_not_repeated(tmp_path: Path) -> None:
    answer, _ = document(
        dict.fromkeys(("n1", "n2"), "synthetic:1s1n8c1t"),
        filenames=(write(tmp_path / "d.json", daemon_set(1)),),
        templates=("a=2/2,1Gi",),
        rounds="max",
    )
    assert shares(answer) == {"Admitted": ["n1", "n2"]}
    assert answer["repeat"]["copies"] == 4
    alone, _ = document({"n1": "synthetic:1s1n8c1t"}, filenames=(str(tmp_path / "d.json"),), rounds="max")
    assert alone["repeat"] == {"copies": 0, "stop": None}


def test_a_pod_that_names_its_node_bypasses_the_scheduler(tmp_path: Path) -> None:
    nodes = write(tmp_path / "nodes.json", node_object("n1", taints=[{"key": "a", "effect": "NoSchedule"}]))
    pods = write(
        tmp_path / "pods.json",
        pod_object("tainted", 2, nodeName="n1"),
        pod_object("large", 14, nodeName="n1"),
        pod_object("nowhere", 2, nodeName="n9"),
    )
    answer, _ = document({"n1": "synthetic:2s2n4c2t"}, filenames=(pods,), nodes=nodes)
    assert where(answer) == {
        "tainted": ("n1", "Admitted"),
        "large": ("n1", "Rejected"),
        "nowhere": (None, "Pending"),
    }
    assert answer["pods"][1]["reason"] == "TopologyAffinityError"
    assert answer["pods"][2]["message"] == "its node, n9, is not in the fleet"


def test_a_pod_that_tolerates_everything_waits_on_a_node_whose_kubelet_does_not_start(tmp_path: Path) -> None:
    nodes = write(tmp_path / "nodes.json", node_object("n1"), node_object("n2", cpu="1"))
    everything: dict[str, Any] = {"tolerations": [{"operator": "Exists"}]}
    files = (
        write(tmp_path / "p.json", pod_object("p", 2, **everything)),
        write(tmp_path / "d.json", daemon_set(**everything)),
    )
    answer, _ = document(
        {"n1": "synthetic:1s1n1c1t", "n2": "synthetic:1s1n8c1t"}, filenames=files, nodes=nodes
    )
    waits = "it is bound, but the kubelet of its node does not start"
    assert shares(answer) == {waits: ["n1"], "Admitted": ["n2"]}
    (pod,) = answer["pods"]
    assert (pod["node"], pod["outcome"], pod["message"]) == ("n1", "Pending", waits)
    assert answer["summary"]["pending"] == 2


def test_ignored_scheduling_rules_are_reported(tmp_path: Path) -> None:
    heeded = pod_object("heeded", 1, schedulerName="default-scheduler", affinity={"nodeAffinity": {}})
    choosy = pod_object(
        "choosy",
        1,
        affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}},
        topologySpreadConstraints=[{}],
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}],
        schedulingGates=[{"name": "g"}],
        schedulerName="volcano",
    )
    choosy["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    pods = write(tmp_path / "pods.json", heeded, choosy)
    running = write(tmp_path / "running.json", pod_object("elsewhere", 1, "n9"), pod_object("waits", 1))
    _, sources = document({"n1": "synthetic:2s2n4c2t"}, filenames=(pods,), pods=running, asks_server=False)
    assert sources.warnings == [
        "default/waits: not on a node yet, and not planned (use -f FILE to plan pods)",
        (
            "default/choosy: the scheduler may choose differently because these are ignored: affinity to "
            "other pods, topology spread constraints, host ports, volume claims, scheduling gates, scheduler "
            "volcano"
        ),
        "no pod of --pods runs on any of these nodes: check that the recordings are named after their nodes",
    ]


def test_a_pod_that_the_api_server_rejects_is_not_scheduled(tmp_path: Path) -> None:
    bad = pod_object("bad", 2)
    bad["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
    answer, _ = document({"n1": "synthetic:2s2n4c2t"}, filenames=(write(tmp_path / "p.json", bad),))
    assert (answer["pods"][0]["outcome"], answer["pods"][0]["node"]) == ("Forbidden", None)
