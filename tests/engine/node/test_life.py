"""A node's life: pods end, clean-up is lazy, and the kubelet restarts with its state file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile, UnreadableState
from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.engine.node_fit import Allocatable
from cpuctl.engine.outcome import Admitted, Rejected, StartRefused, Undetermined
from cpuctl.pods.model import Container, ResourceRequirements
from tests.engine.node.test_node import named, started, whole
from tests.support.pods import app, init


def pool(node: Node) -> str:
    return str(node.state_file().default_cpu_set)


def restarted(node: Node, **config: Any) -> Node:
    """Start a new kubelet with the state file of the old one."""
    new = started(**config)
    assert new.restore(read_cpu_state(write_cpu_state(node.state_file()))) is None
    return new


def test_a_pod_that_ended_holds_its_cpus_until_the_next_pod_is_admitted() -> None:
    node = started()
    node.admit(named("p", whole(4)))
    node.remove("p")
    assert pool(node) == "0,3-4,7"
    node.admit(named("q", app()))
    assert pool(node) == "0-7"


def test_clean_up_on_demand() -> None:
    node = started()
    node.admit(named("p", whole(4)))
    node.clean_up()
    assert pool(node) == "0,3-4,7"
    node.remove("p")
    node.clean_up()
    assert pool(node) == "0-7"


def test_a_rejected_pod_returns_its_cpus_when_the_next_pod_is_admitted() -> None:
    node = started()
    node.admit(named("p", whole(2, "fits"), whole(9, "does-not")))
    assert node.state.assigned("p", "fits") is not None
    node.admit(named("q", whole(2)))
    assert node.state.assigned("p", "fits") is None


def test_removing_a_container_keeps_cpus_that_others_of_its_pod_use() -> None:
    both = "cpu=4 memory=1Gi"
    node = started()
    node.admit(named("p", init(both, both, "i"), whole(2, "a")))
    assert (node.state.assigned("p", "i"), node.state.assigned("p", "a")) == (0b1100110, 0b0100010)
    node.remove_container("p", "i")
    assert pool(node) == "0,2-4,6-7"
    node.remove_container("p", "a")
    assert node.state_file().entries == {}


def test_a_restart_restores_the_state_unchanged() -> None:
    node = started()
    node.admit(named("p", whole(2)))
    node.admit(named("q", whole(3)))
    assert restarted(node).state_file() == node.state_file()


def test_running_pods_are_admitted_again_with_the_same_cpus() -> None:
    node = started()
    pods = [named("p", whole(2)), named("q", whole(3))]
    for pod in pods:
        node.admit(pod)
    again = restarted(node)
    admissions = list(again.readmit(pods))
    assert all(isinstance(admission.verdict, Admitted) for admission in admissions)
    assert again.state.assignments == node.state.assignments


def test_nothing_is_cleaned_up_while_running_pods_are_admitted_again() -> None:
    node = started()
    node.admit(named("gone", whole(2)))
    kept = named("kept", whole(2))
    node.admit(kept)
    again = restarted(node)
    list(again.readmit([kept]))
    assert "gone" in again.state.assignments
    again.clean_up()
    assert set(again.state.assignments) == {"kept"}


def test_a_running_pod_may_be_rejected_after_a_restart() -> None:
    """Free cores are counted before the container's own CPUs are considered (kubernetes issue 129078)."""
    whole_cores = {"cpu_manager_policy_options": {"full-pcpus-only": "true"}}
    node = started(**whole_cores)
    pod = named("p", whole(4))
    node.admit(pod)
    (admission,) = restarted(node, **whole_cores).readmit([pod])
    assert isinstance(admission.verdict, Rejected)
    assert admission.verdict.reason == "SMTAlignmentError"


def test_running_pods_are_admitted_again_as_long_as_they_fit() -> None:
    """Each pod only sees those before it: the kubelet adds pods one by one, the oldest first."""
    node = started()
    pods = [named("old", whole(2)), named("young", whole(2))]
    for pod in pods:
        node.admit(pod)
    first, second = fitting(restarted(node), pods=1).readmit(pods)
    assert isinstance(first.verdict, Admitted)
    assert isinstance(second.verdict, Rejected)
    assert second.verdict.reason == "OutOfpods"


def test_a_pod_admitted_again_with_fewer_containers_returns_the_rest() -> None:
    node = started()
    node.admit(named("p", whole(2, "stays"), whole(2, "goes")))
    node.admit(named("p", whole(2, "stays")))
    assert set(node.state.assignments["p"]) == {"stays"}


@dataclass(frozen=True, slots=True)
class BadFile:
    name: str
    default: str
    error: str
    entries: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    policy: str = "static"


STRICT = {"cpu_manager_policy_options": {"strict-cpu-reservation": "true"}}
BAD_FILES = [
    BadFile("nothing shared", "", "default cpuset cannot be empty", {"p": {"c": "0-7"}}),
    BadFile(
        "reserved CPUs are not shared",
        "1-7",
        'not all reserved cpus: "0" are present in defaultCpuSet: "1-7"',
    ),
    BadFile(
        "strict reservation was enabled later",
        "0-7",
        'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-7"',
        config=STRICT,
    ),
    BadFile(
        "shared and exclusive",
        "0-7",
        'pod: p, container: c cpuset: "1" overlaps with default cpuset "0-7"',
        {"p": {"c": "1"}},
    ),
    BadFile(
        "a CPU was removed",
        "0-8",
        'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-8"',
    ),
    BadFile(
        "a CPU was added",
        "0-6",
        'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-6"',
    ),
]


@pytest.mark.parametrize("case", BAD_FILES, ids=lambda case: case.name)
def test_a_file_that_does_not_match_stops_the_kubelet(case: BadFile) -> None:
    entries = {
        uid: {name: CPUSet.parse(cpus) for name, cpus in containers.items()}
        for uid, containers in case.entries.items()
    }
    saved = CPUStateFile(policy_name="static", default_cpu_set=CPUSet.parse(case.default), entries=entries)
    refused = started(**case.config).restore(saved)
    # No settings: fixing one would not help.
    assert refused == StartRefused(stage="cpuManagerStart", error=case.error, settings=())


@pytest.mark.parametrize(
    ("saved", "error"),
    [
        (UnreadableState("checkpoint is corrupted"), "checkpoint is corrupted"),
        (
            CPUStateFile(policy_name="none", default_cpu_set=CPUSet()),
            'configured policy "static" differs from state checkpoint policy "none"',
        ),
    ],
    ids=["corrupt", "other policy"],
)
def test_a_file_that_cannot_be_loaded_requires_a_drain(
    saved: CPUStateFile | UnreadableState, error: str
) -> None:
    refused = started().restore(saved)
    assert isinstance(refused, StartRefused)
    assert refused.error == (
        f"could not restore state from checkpoint: {error}, please drain this node and delete the CPU "
        'manager checkpoint file "/var/lib/kubelet/cpu_manager_state" before restarting Kubelet'
    )


def test_an_empty_pool_without_assignments_becomes_a_fresh_one() -> None:
    node = started()
    assert node.restore(CPUStateFile(policy_name="static", default_cpu_set=CPUSet())) is None
    assert pool(node) == "0-7"


def fitting(node: Node, pods: int = 110, **amounts: int) -> Node:
    node.allocatable = Allocatable(amounts=amounts, pods=pods)
    return node


def test_a_pod_that_does_not_fit_is_rejected_after_it_got_its_cpus() -> None:
    node = fitting(started(), cpu=7000, memory=1 << 30)
    assert isinstance(node.admit(named("p", whole(2))).verdict, Admitted)
    verdict = node.admit(named("q", whole(2))).verdict
    assert verdict == Rejected(
        reason="OutOfmemory",
        message=(
            "Node didn't have enough resource: memory, requested: 1073741824, used: 1073741824, "
            "capacity: 1073741824"
        ),
        details={"requested": 1 << 30, "used": 1 << 30, "capacity": 1 << 30},
    )
    assert node.state.assigned("q", "main") is not None
    node.clean_up()
    assert node.state.assigned("q", "main") is None


def test_cpu_is_counted_in_milli_and_comes_first() -> None:
    node = fitting(started(cpu_manager_policy="none"), cpu=1500, memory=0)
    verdict = node.admit(named("p", app("cpu=1600m memory=1Gi"))).verdict
    assert isinstance(verdict, Rejected)
    assert (verdict.reason, verdict.details["requested"]) == ("OutOfcpu", 1600)
    assert verdict.container == "", "the pod as a whole does not fit"


def test_too_many_pods() -> None:
    node = fitting(started(), pods=1)
    node.admit(named("p", app()))
    verdict = node.admit(named("q", app())).verdict
    assert isinstance(verdict, Rejected)
    assert verdict.message == "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1"


def test_a_node_without_huge_pages_has_none() -> None:
    node = fitting(started(), cpu=8000)
    verdict = node.admit(
        named("p", app("hugepages-2Mi=2Mi memory=1Gi", "hugepages-2Mi=2Mi memory=1Gi"))
    ).verdict
    assert isinstance(verdict, Rejected)
    assert verdict.reason == "OutOfhugepages-2Mi"


@pytest.mark.parametrize(
    ("container", "what"),
    [
        (app("example.com/gpu=1"), "example.com/gpu"),
        (Container(name="main", resources=ResourceRequirements(claims=("nic",))), "claim nic"),
    ],
    ids=["extended resource", "claim"],
)
def test_a_pod_with_undescribed_devices_is_undetermined(container: Container, what: str) -> None:
    verdict = started().admit(named("p", container)).verdict
    assert verdict == Undetermined(f"requests {what}, which is not described (use --devices)")
