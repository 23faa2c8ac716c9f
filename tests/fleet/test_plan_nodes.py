"""Nodes at the start of a plan: what distinguishes their states, and decisions as of each node alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.engine.outcome import Admitted
from cpuctl.fleet import plan_nodes
from cpuctl.fleet.asking import ask, in_this_process
from cpuctl.fleet.collection import Recording
from cpuctl.fleet.plan_answer import fleet_plan_document
from cpuctl.fleet.plan_inputs import FleetPlanInputs, given_pods, load_cluster
from cpuctl.fleet.plan_nodes import FleetInputs, NodeSurveyor
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.operations.plan import Planner
from cpuctl.operations.plan_inputs import PlanningInputs, read_planning
from tests.machine.support.archives import write_tree
from tests.machine.sysfs_writer import small_machine

KUBELET = KubeletInputs(version="1.36")
CONFIG = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0-1",
    "topologyManagerPolicy": "single-numa-node",
}
ALL = CPUSet.parse("0-15")
HELD = ("", "2-3", "4-5", "2-3;4-5", "10-11", "2-3;10-11;12-13", "6-7,14-15")
"""Exclusive CPUs of each pod that runs on a node with 16 CPUs."""


def recorded(folder: Path, name: str, held: str, prefix: str = "") -> Path:
    """Write a recording of a node whose pods hold these CPUs; pod names begin with *prefix*."""
    sets = {
        f"{prefix}{number}": CPUSet.parse(cpus) for number, cpus in enumerate(filter(None, held.split(";")))
    }
    taken = CPUSet()
    for cpus in sets.values():
        taken |= cpus
    state = CPUStateFile("static", ALL - taken, {uid: {"c": cpus} for uid, cpus in sets.items()})
    files = {
        **small_machine("2s2n4c2t,mem=64Gi"),
        "var/lib/kubelet/config.yaml": json.dumps(CONFIG),
        "var/lib/kubelet/cpu_manager_state": write_cpu_state(state),
    }
    write_tree(files, folder / name)
    return folder / name


def running(node: str, held: str, prefix: str = "") -> list[dict[str, Any]]:
    """Return the pods that hold these CPUs as the API server stores them."""
    return [
        pod(f"{prefix}{number}", len(CPUSet.parse(cpus)), node)
        for number, cpus in enumerate(filter(None, held.split(";")))
    ]


def pod(name: str, cpus: int, node: str = "") -> dict[str, Any]:
    amounts = {"cpu": str(cpus), "memory": "1Gi"}
    container = {"name": "c", "resources": {"requests": amounts, "limits": dict(amounts)}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"containers": [container], **({"nodeName": node} if node else {})},
        **({"status": {"phase": "Running", "qosClass": "Guaranteed"}} if node else {}),
    }


def write(path: Path, *objects: Mapping[str, Any]) -> str:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def surveyed(fleet: Mapping[str, str], inputs: FleetPlanInputs) -> list[Any]:
    surveyor = NodeSurveyor(load_cluster(inputs, Sources()).fleet_inputs(inputs))
    nodes = [Recording(name, source) for name, source in fleet.items()]
    return list(ask(surveyor, nodes, in_this_process, lambda *_: None))


def states(folder: Path, *nodes: tuple[str, str], known: bool) -> list[str]:
    """Survey nodes, each with its pods' CPUs and the prefix of their names, and return their states."""
    fleet = {
        f"n{number}": str(recorded(folder, f"n{number}", held, prefix))
        for number, (held, prefix) in enumerate(nodes)
    }
    pods = [each for number, node in enumerate(nodes) for each in running(f"n{number}", *node)]
    inputs = FleetPlanInputs(KUBELET, pods=write(folder / "pods.json", *pods) if known else "")
    return [row["state"] for row in surveyed(fleet, inputs)]


@pytest.mark.parametrize("known", [True, False])
def test_names_of_pods_do_not_make_a_separate_state(tmp_path: Path, *, known: bool) -> None:
    one, same, swapped, other, fresh = states(
        tmp_path,
        ("2-3;4-5", "a"),
        ("2-3;4-5", "b"),
        ("4-5;2-3", "c"),
        ("2-3;6-7", "d"),
        ("", ""),
        known=known,
    )
    assert one == same == swapped
    assert len({one, other, fresh}) == 3


def test_pods_with_other_requests_make_a_separate_state(tmp_path: Path) -> None:
    fleet = dict.fromkeys(("n1", "n2", "n3"), "synthetic:2s2n4c2t,mem=64Gi")
    pods = write(tmp_path / "pods.json", pod("a", 2, "n1"), pod("b", 2, "n2"), pod("c", 3, "n3"))
    one, same, other = (row["state"] for row in surveyed(fleet, FleetPlanInputs(KUBELET, pods=pods)))
    assert one == same != other


def test_names_count_if_the_scheduler_reads_fingerprints_or_devices_are_in_use(tmp_path: Path) -> None:
    held = (("2-3", "a"), ("2-3", "b"))
    fleet = {name: str(recorded(tmp_path, name, *each)) for name, each in zip("xy", held, strict=True)}
    surveyor = NodeSurveyor(FleetInputs(KUBELET, by_name=True))
    one, other = (surveyor(Recording(name, source))["state"] for name, source in fleet.items())
    assert one != other


def test_equal_recordings_are_read_once_with_any_pods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Mock(side_effect=read_planning)
    monkeypatch.setattr(plan_nodes, "read_planning", read)
    monkeypatch.setattr(plan_nodes, "_MOST_KEPT", 2)
    pods = write(tmp_path / "pods.json", *(pod(f"p{number}", 1, f"n{number}") for number in range(4)))
    inputs = FleetPlanInputs(KUBELET, pods=pods)
    surveyor = NodeSurveyor(load_cluster(inputs, Sources()).fleet_inputs(inputs))
    for number, digest in enumerate(("d1", "d2", "d1", "d1", "d3", "d1", "d2")):
        row = surveyor(Recording(f"n{number % 4}", "synthetic:2s2n4c2t", digest))
        assert (row["node"], row["load"]["cpu"]) == (f"n{number % 4}", 1000)
    assert read.call_count == 4  # d2 was evicted for d3


def test_a_planned_pod_is_new_although_one_with_its_uid_runs(tmp_path: Path) -> None:
    """A manifest may have been read from the running pod: it is planned as another one, with its own CPUs."""
    fleet = {"n1": str(recorded(tmp_path, "n1", "2-3", "a"))}
    there = write(tmp_path / "pods.json", *running("n1", "2-3", "a"))
    again = write(tmp_path / "new.json", pod("a0", 2))
    answer = planned(fleet, FleetPlanInputs(KUBELET, filenames=(again,), pods=there))
    assert [each["cpus"] for each in answer["pods"]] == [{"c": "8-9"}]
    assert answer["pods"][0]["uid"] == "a0"


def planned(fleet: Mapping[str, str], inputs: FleetPlanInputs) -> Any:
    sources = Sources()
    cluster = load_cluster(inputs, sources)
    return fleet_plan_document(
        inputs, given_pods(inputs, sources), cluster, surveyed(fleet, inputs), sources, lambda *_: None
    )


@settings(max_examples=15, deadline=None)
@given(
    held=st.lists(st.sampled_from(HELD), min_size=1, max_size=5),
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=10),
    known=st.booleans(),
)
def test_every_node_decides_as_a_plan_of_it_alone_does(
    tmp_path_factory: pytest.TempPathFactory, held: list[str], sizes: list[int], *, known: bool
) -> None:
    """Nodes in every state, with known or unknown pods: each decides the same on the pods sent to it."""
    folder = tmp_path_factory.mktemp("fleet")
    fleet = {
        f"n{number}": str(recorded(folder, f"n{number}", each, f"{number}-"))
        for number, each in enumerate(held)
    }
    there = {name: running(name, each, f"{name[1:]}-") for name, each in zip(fleet, held, strict=True)}
    incoming = [pod(f"new-{number}", size) for number, size in enumerate(sizes)]
    all_pods = (
        write(folder / "all.json", *(each for pods in there.values() for each in pods)) if known else ""
    )
    answer = planned(
        fleet, FleetPlanInputs(KUBELET, filenames=(write(folder / "new.json", *incoming),), pods=all_pods)
    )
    for name, source in fleet.items():
        sent = {each["name"]: each for each in answer["pods"] if each["node"] == name}
        if not sent:
            continue
        words = PlanningInputs(
            machine=source,
            kubelet=KUBELET,
            filenames=(write(folder / f"{name}.json", *(each for each in incoming if _name(each) in sent)),),
            pods=write(folder / f"{name}-pods.json", *there[name]) if known and there[name] else "",
        )
        planning = read_planning(words, pods_needed=True)
        for each in Planner(planning).plan(planning.kubelet, Sources()).admissions:
            found = sent.pop(each.pod.name)
            assert found["outcome"] == type(each.verdict).__name__
            cpus = {
                place.container.name: str(CPUSet(place.cpus)) for place in each.placements if place.exclusive
            }
            assert found["cpus"] == (cpus if isinstance(each.verdict, Admitted) else {})
        assert not sent


def _name(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"]["name"])
