"""Entries of pods that do not run, and pods that do not hold the number of CPUs they are due."""

from __future__ import annotations

import pytest

from cpuctl.engine.state_checks.findings import StateFinding, StatePlace
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.pods.model import ContainerKind
from cpuctl.records import replace
from tests.support.pods import resources
from tests.support.state_files import CPU_STATE, DB, GONE, WEB, cpus
from tests.support.verifying import PODS, RUNNING, Case, container, cpu_note, cpu_warning, pod, state

ENTRIES = CPU_STATE.entries
LATER = {
    "cpu_manager_state": "its CPUs are released in the CPU Manager's next pass (cpuManagerReconcilePeriod)",
    "memory_manager_state": "its resources are released when the next pod is admitted",
}


KEPT = ", which a restarted kubelet keeps"
ASSIGNED = ": a restarted kubelet assigns it CPUs that it does not run on yet"


def left(what: str, uid: str, name: str, file_name: str = "cpu_manager_state") -> StateFinding:
    return cpu_warning(
        code="owner-gone" if uid == GONE else "container-gone",
        message=f"{what}; {LATER[file_name]}",
        fix="cpuctl checkpoint repair --pods FILE",
    ).at(StatePlace(file_name, uid, name))


def other_size(due: int, holds: str, uid: str, name: str, then: str = KEPT) -> StateFinding:
    return cpu_warning(
        code="other-size",
        message=f"shop/{uid}/{name} should have {due} exclusive CPUs, but holds {len(cpus(holds))}{then}",
        expected=f"{due} CPUs",
        detected=holds,
        pod_uid=uid,
        container=name,
    )


def rejected_again(uid: str, message: str) -> StateFinding:
    return cpu_warning(
        code="rejected-again",
        message=f"shop/{uid} is running, but a restarted kubelet rejects it: TopologyAffinityError: "
        f"{message}",
        pod_uid=uid,
        fix=f"cpuctl explain shop/{uid} --pods FILE",
    )


def not_recorded(due: int, uid: str, name: str, then: str = ASSIGNED) -> StateFinding:
    return cpu_warning(
        code="not-recorded",
        message=f"shop/{uid}/{name} should have {due} exclusive CPUs, but holds none{then}",
        expected=f"{due} CPUs",
        detected="none",
        pod_uid=uid,
        container=name,
    )


LEFT = state(
    "0,4,6-8,12,15",
    entries={
        **ENTRIES,
        GONE: {"d": cpus("11"), "c": cpus("3")},
        DB: {**ENTRIES[DB], "z-old": cpus("14")},
    },
)
EMPTY = state("0-15", entries={})
INIT, SIDECAR = (container("first", 2, kind) for kind in (ContainerKind.INIT, ContainerKind.SIDECAR))
SMALL = replace(container("app", 2), resources=resources("cpu=500m memory=1Gi", "cpu=500m memory=1Gi"))
BURSTABLE = replace(container("app", 2), resources=resources("cpu=2 memory=1Gi", "cpu=3 memory=1Gi"))
DIVIDED = pod(DB, container("server", 4))._replace(
    resources=resources("cpu=6 memory=4Gi", "cpu=6 memory=4Gi")
)
CASES = [
    Case(
        "gone owners",
        LEFT,
        (
            left(f"shop/{DB}/z-old: the pod has no such container", DB, "z-old"),
            left(f"{GONE}/c: the pod is not running", GONE, "c"),
            left(f"{GONE}/d: the pod is not running", GONE, "d"),
        ),
        owners=RUNNING,
    ),
    Case("running pods are unknown", LEFT, ()),
    Case(
        "fewer and more CPUs than due",
        state("0,4,6-8,12-15", entries={WEB: {"app": cpus("5")}, DB: {"server": cpus("1-3,9-11")}}),
        (other_size(4, "1-3,9-11", DB, "server"), other_size(2, "5", WEB, "app")),
        owners=RUNNING,
    ),
    Case(
        "CPUs that are not due at all",
        CPU_STATE,
        (other_size(0, "5,13", WEB, "app"),),
        owners=Owners.of([pod(WEB, BURSTABLE), pod(DB, container("server", 4))]),
    ),
    Case(
        "none of the CPUs that are due",
        EMPTY,
        (not_recorded(4, DB, "server"), not_recorded(2, WEB, "app")),
        owners=Owners.of(reversed([*(RUNNING.pods or {}).values()])),
    ),
    Case(
        "one container holds its CPUs and another does not",
        state("0,3-8,11-15", entries={DB: ENTRIES[DB]}),
        (not_recorded(2, DB, "log"),),
        owners=Owners.of([pod(DB, container("server", 4), container("log", 2))]),
    ),
    Case("a container that is not due any", EMPTY, (), owners=Owners.of([pod(WEB, BURSTABLE)])),
    Case(
        "a pod that does not run yet",
        EMPTY,
        (),
        owners=Owners.of([pod(WEB, container("app", 2), phase="Pending")]),
    ),
    Case(
        "an init container has ended, a sidecar has not",
        EMPTY,
        (not_recorded(2, WEB, "first"),),
        owners=Owners.of(
            [pod(DB, SMALL, inits=(INIT,)), pod(WEB, SMALL, inits=(SIDECAR,))],
        ),
    ),
    Case(
        "a pod with pod-level CPUs divides them freely",
        state(
            "0,6-8,13-15",
            entries={DB: {"server": cpus("1-2,9")}, WEB: {"app": cpus("5")}},
            pod_entries={DB: cpus("1-4,9-12")},
        ),
        (
            cpu_note(
                code="pod-leftover",
                message=f"CPUs 3-4,10-12 of shop/{DB} are held by none of its containers: without "
                "PodLevelResourceManagers, or before 1.36, the kubelet does not start with this file",
                pod_uid=DB,
            ),
            other_size(2, "5", WEB, "app", then=""),
            rejected_again(
                DB,
                "Pod Scope pod with pod-level resources failed admission with a container-level "
                "topology manager",
            ),
            rejected_again(WEB, "Resources cannot be allocated with Topology locality"),
        ),
        replace(PODS, topology_manager_scope="container"),
        owners=Owners.of([DIVIDED, pod(WEB, container("app", 2))]),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_found(case: Case) -> None:
    case.check()
