"""Exclusive CPUs that settings should have aligned: split cores, and more NUMA nodes than needed."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.engine.state_checks.findings import StateFinding
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.machine.sources import read_machine
from cpuctl.records import replace
from tests.support.state_files import DB, MACHINE, WEB, cpus
from tests.support.verifying import CONFIG, INFO, PODS, RUNNING, cpu_warning, state, verify

WHOLE = {"full-pcpus-only": "true"}
CORES = replace(CONFIG, cpu_manager_policy_options=WHOLE)
NODES = replace(CONFIG, topology_manager_policy="single-numa-node")
CODES = ("split-core", "spans-nodes")


def found(held: CPUStateFile, config: KubeletConfiguration, machine: str = MACHINE) -> list[StateFinding]:
    info = INFO if machine == MACHINE else read_machine(machine).info
    verdict = verify(held, info=info, config=config, owners=RUNNING)
    return [each for each in verdict.findings if each.code in CODES]


def split(who: str, uid: str, container: str, held: str) -> StateFinding:
    return cpu_warning(
        code="split-core",
        message=f"{who}, which full-pcpus-only should prevent",
        expected="whole cores",
        detected=held,
        pod_uid=uid,
        container=container,
    )


def spans(who: str, held: str, container: str = "server", policy: str = "single-numa-node") -> StateFinding:
    return cpu_warning(
        code="spans-nodes",
        message=f"{who} has CPUs of NUMA nodes 0-1, which {policy} should prevent: "
        f"{len(cpus(held))} CPUs would fit on one node",
        expected="CPUs of one NUMA node",
        detected=held,
        pod_uid=DB,
        container=container,
    )


OF_POOL = state("0,3-4,6-8,10-15", entries={DB: {"server": cpus("1-2,5,9")}})
OF_POD = state(
    "0,3-4,6-8,11-12,14-15", entries={DB: {"server": cpus("1-2,9,13")}, WEB: {"app": cpus("5,10")}}
)
APART = state("0,2-4,6-8,10-12,14-15", entries={DB: {"server": cpus("1,5,9,13")}})


def test_a_core_that_is_shared_with_the_pool() -> None:
    who = f"shop/{DB}/server shares the cores of CPUs 2,5,10,13 with the shared pool"
    assert found(OF_POOL, CORES) == [split(who, DB, "server", "1-2,5,9")]


def test_a_core_that_is_shared_with_another_pod() -> None:
    one, other = f"shop/{DB}/server", f"shop/{WEB}/app"
    assert found(OF_POD, CORES) == [
        split(f"{one} shares the cores of CPUs 2,5,10,13 with {other}", DB, "server", "1-2,9,13"),
        split(f"{other} shares the cores of CPUs 2,5,10,13 with {one}", WEB, "app", "5,10"),
    ]


def test_cpus_of_more_nodes_than_needed() -> None:
    assert found(APART, NODES) == [spans(f"shop/{DB}/server", "1,5,9,13")]


def test_a_pod_gets_its_nodes_as_a_whole_in_its_scope() -> None:
    """Its containers are each on one node, but one hint is for all of them."""
    by_pod = replace(NODES, topology_manager_policy="restricted", topology_manager_scope="pod")
    held = state("0,2-4,6-8,10-12,14-15", entries={DB: {"server": cpus("1,9"), "log": cpus("5,13")}})
    assert found(held, by_pod) == [spans(f"shop/{DB}", "1,5,9,13", "", "restricted")]
    assert found(held, replace(by_pod, topology_manager_scope="container")) == []


@pytest.mark.parametrize(
    ("held", "config", "machine"),
    [
        pytest.param(state(), CORES, MACHINE, id="whole cores"),
        pytest.param(OF_POOL, CONFIG, MACHINE, id="without full-pcpus-only"),
        pytest.param(OF_POOL, CORES, f"{MACHINE},offline=15", id="cores of different sizes"),
        pytest.param(
            OF_POOL,
            replace(CORES, cpu_manager_policy_options={**WHOLE, "distribute-cpus-across-numa": "true"}),
            MACHINE,
            id="distributed, which takes parts of cores",
        ),
        pytest.param(
            state("0,2-7,9-15", entries={DB: {"server": cpus("1,8")}}),
            replace(CORES, reserved_system_cpus="0,9"),
            MACHINE,
            id="the other half of a core is reserved",
        ),
        pytest.param(
            state("0,3-8,11-15", entries={DB: {"server": cpus("1,10"), "log": cpus("2,9")}}),
            CORES,
            MACHINE,
            id="a core of two containers of a pod",
        ),
        pytest.param(APART, CONFIG, MACHINE, id="without a Topology Manager policy"),
        pytest.param(
            state("0,4,8,12", entries={DB: {"server": cpus("1-3,5-7,9-11,13-15")}}),
            NODES,
            MACHINE,
            id="more CPUs than a node has",
        ),
        pytest.param(
            APART,
            replace(
                CONFIG,
                topology_manager_policy="restricted",
                cpu_manager_policy_options={"align-by-socket": "true"},
            ),
            MACHINE,
            id="aligned by socket",
        ),
        pytest.param(
            replace(APART, pod_entries={DB: cpus("1,5,9,13")}), PODS, MACHINE, id="a pod as a whole"
        ),
    ],
)
def test_what_a_kubelet_may_assign_itself(
    held: CPUStateFile, config: KubeletConfiguration, machine: str
) -> None:
    assert found(held, config, machine) == []
