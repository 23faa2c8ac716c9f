"""What no kubelet compares in a state: holders with each other, with their pod and with baselines."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.model import FROM_NODE
from cpuctl.engine.state_checks.findings import MAX_SIMILAR, StateFinding
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.pods.model import ContainerKind
from cpuctl.records import replace
from tests.support.state_files import CPU_STATE, DB, GONE, WEB, cpus
from tests.support.verifying import (
    PODS,
    Case,
    container,
    cpu_note,
    cpu_warning,
    pod,
    state,
    verify,
)

REPAIR = "cpuctl checkpoint repair"
ENTRIES = CPU_STATE.entries
WHOLE = replace(PODS, topology_manager_scope="container")


def twice(which: str, who: str, uid: str) -> StateFinding:
    return cpu_warning(
        code="held-twice",
        message=f"CPUs {which} are held by more than one pod ({who}), which the kubelet does not notice",
        fix=REPAIR,
        pod_uid=uid,
    )


def outside(which: str, name: str) -> StateFinding:
    return cpu_warning(
        code="outside-pod",
        message=f"CPUs {which} of {DB}/{name} do not belong to its pod: they are not released when the pod "
        "ends",
        fix=REPAIR,
        pod_uid=DB,
        container=name,
    )


def leftover(which: str, uid: str) -> StateFinding:
    return cpu_note(
        code="pod-leftover",
        message=f"CPUs {which} of {uid} are held by none of its containers: without "
        "PodLevelResourceManagers, or before 1.36, the kubelet does not start with this file",
        pod_uid=uid,
    )


def guaranteed(message: str, holder: tuple[str, str], allocation: str, now: str = "") -> StateFinding:
    return cpu_warning(
        code="baseline-outside",
        message=message,
        expected=f"CPUs of {now}" if now else "",
        detected=allocation,
        fix=REPAIR,
        pod_uid=holder[0],
        container=holder[1],
    )


CASES = [
    Case(
        "two pods with the same CPUs",
        state(entries={**ENTRIES, GONE: {"c": cpus("2,10"), "d": cpus("9")}}),
        (twice("2,9-10", f"{DB}/server, {GONE}/c, {GONE}/d", GONE),),
    ),
    Case(
        "more overlapping pods than are listed",
        state(entries={**ENTRIES, GONE: {"c": cpus("2,5")}, "4": {"c": cpus("5,9")}}),
        (
            twice("2,5", f"{DB}/server, {WEB}/app, {GONE}/c and 1 more", GONE),
            twice("5,9", f"{DB}/server, {WEB}/app, {GONE}/c and 1 more", "4"),
        ),
    ),
    Case(
        "overlapping pod-level CPUs",
        state("0,4,6-8,12,14-15", pod_entries={DB: cpus("1-3,9-11"), WEB: cpus("3,5,11,13")}),
        (
            twice("3,11", f"{DB}, {WEB}", WEB),
            leftover("3,11", DB),
            leftover("3,11", WEB),
        ),
        WHOLE,
    ),
    Case(
        "pod-level CPUs of which no container holds any",
        state("0,4,6-8,11-12,14-15", pod_entries={GONE: cpus("3-4")}),
        (
            cpu_warning(
                code="held-and-shared",
                message=f"CPU 4 is held by {GONE} and also in the shared pool",
                fix=REPAIR,
                pod_uid=GONE,
            ),
            cpu_warning(
                code="pod-without-containers",
                message=f"CPUs 3-4 of {GONE} are held by none of its containers: the kubelet never "
                "releases them",
                fix=REPAIR,
                pod_uid=GONE,
            ),
        ),
        WHOLE,
    ),
    Case(
        "containers outside of their pod",
        state(
            "0,4,6-8,12,14-15",
            entries={**ENTRIES, DB: {**ENTRIES[DB], "log": cpus("1,3"), "old": cpus("2,11")}},
            pod_entries={DB: cpus("1-2")},
        ),
        (outside("3", "log"), outside("11", "old"), outside("9-10", "server")),
        WHOLE,
    ),
    Case(
        "baselines",
        state(
            baselines={
                WEB: {"app": cpus("4-5"), "old": cpus("4")},
                DB: {"old": cpus("1"), "server": cpus("1-2"), "z": cpus("2")},
            }
        ),
        (
            guaranteed(f"a baseline 1 is left for {DB}/old, which holds no CPUs", (DB, "old"), "1"),
            guaranteed(f"a baseline 2 is left for {DB}/z, which holds no CPUs", (DB, "z"), "2"),
            guaranteed(
                f"{WEB}/app was guaranteed CPUs 4 at admission, but does not hold them",
                (WEB, "app"),
                "4-5",
                "5,13",
            ),
            guaranteed(f"a baseline 4 is left for {WEB}/old, which holds no CPUs", (WEB, "old"), "4"),
        ),
    ),
    Case(
        "a baseline of a pod that holds nothing",
        state(baselines={GONE: {"c": cpus("4")}}),
        (guaranteed(f"a baseline 4 is left for {GONE}/c, which holds no CPUs", (GONE, "c"), "4"),),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_found(case: Case) -> None:
    case.check()


def inside(which: str, name: str) -> StateFinding:
    return cpu_warning(
        code="held-twice",
        message=f"CPUs {which} of shop/{DB}/{name} are also held by another container of the pod, which the "
        "kubelet does not notice; which entry is correct is unknown",
        fix=f"remove this pod {FROM_NODE}, list its pods again, then {REPAIR} --pods FILE",
        pod_uid=DB,
        container=name,
    )


def test_overlaps_in_a_pod() -> None:
    """A container is compared with all that run before it, but not with those of other pods."""
    names = ("a", "b", "c", "d")
    running = Owners.of([pod(DB, *(container(name, 2) for name in names)), pod(WEB, container("app", 2))])
    entries = {
        DB: {"0": cpus("1-3"), "a": cpus("1-2"), "b": cpus("2-3"), "c": cpus("1,4"), "d": cpus("9-10")},
        WEB: ENTRIES[WEB],
    }
    held = state("0,6-8,11-12,14-15", entries=entries)
    findings = verify(held, owners=running).findings
    assert [each for each in findings if each.code == "held-twice"] == [inside("2", "b"), inside("1", "c")]


def test_containers_of_a_pod_with_pod_level_cpus_share_them() -> None:
    running = Owners.of([pod(DB, container("server", 4), container("log", 4))])
    held = state(
        "0,3-4,6-8,11-12,14-15",
        entries={DB: {"server": cpus("1-2,9-10"), "log": cpus("1-2,9-10")}, WEB: ENTRIES[WEB]},
        pod_entries={DB: cpus("1-2,9-10")},
    )
    codes = [each.code for each in verify(held, config=WHOLE, owners=running).findings]
    assert codes == ["owner-gone"]


@pytest.mark.parametrize(
    ("kind", "twice"),
    [(ContainerKind.INIT, []), (ContainerKind.SIDECAR, ["server"]), (ContainerKind.APP, ["server"])],
)
def test_overlaps_in_a_pod_count_if_containers_run_at_the_same_time(
    kind: ContainerKind, twice: list[str]
) -> None:
    """Later containers get the CPUs of an ordinary init container."""
    entries = {DB: {"first": cpus("1-2"), "server": cpus("1-2,9-10")}}
    owners = Owners.of([pod(DB, container("server", 4), inits=(container("first", 2, kind),))])
    verdict = verify(state("0,3-8,11-15", entries=entries), owners=owners)
    assert [found.place.container for found in verdict.findings if found.code == "held-twice"] == twice


def test_overlapping_holders_are_named_in_every_finding() -> None:
    many = {f"{number:03}": {"c": cpus("1")} for number in range(MAX_SIMILAR + 3)}
    twice = [each for each in verify(state("0,2-15", entries=many)).findings if each.code == "held-twice"]
    assert len(twice) == MAX_SIMILAR + 1
    who = f"000/c, 001/c, 002/c and {MAX_SIMILAR} more"
    message = f"CPU 1 is held by more than one pod ({who}), which the kubelet does not notice"
    assert {each.message for each in twice[:-1]} == {message}
