"""What a repair of ``cpu_manager_state`` changes, for which pod, and why: every change is reported."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS, Owners
from cpuctl.engine.state_repair import (
    ActionKind,
    CPURules,
    RepairAction,
    Repaired,
    repair_cpu_state,
)
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.reservations import CPUReservation
from cpuctl.records import replace
from tests.support.pods import app
from tests.support.state_files import cpus
from tests.support.topologies import regular
from tests.support.verifying import pod

MACHINE = regular(cores=4, threads=2)
"""CPUs n and n+4 are one core."""


def rules(*, strict: bool = False, keeps_pods: bool = False, keeps_baselines: bool = False) -> CPURules:
    """Describe a CPU Manager with CPU 0 reserved."""
    policy = StaticPolicy.construct(
        MACHINE,
        CPUPolicyOptions(strict_cpu_reservation=strict),
        CPUReservation(1, cpus("0")),
        behaviours(36),
    )
    return CPURules(policy=policy, keeps_pods=keeps_pods, keeps_baselines=keeps_baselines)


RUNNING = Owners.of([pod("p", app(name="a"), app(name="b")), pod("q", app(name="a"))])
STATE = CPUStateFile(
    policy_name="static",
    default_cpu_set=cpus("0,3-4,7"),
    entries={"p": {"a": cpus("1,5")}, "q": {"a": cpus("2,6")}},
)
P, Q = STATE.entries["p"], STATE.entries["q"]


def pool(why: str, before: str, after: str) -> RepairAction:
    return RepairAction(did=ActionKind.POOL, reason=why, before=before, after=after)


def whole(why: str, uid: str, before: str, after: str = "") -> RepairAction:
    return RepairAction(did=ActionKind.POD, reason=why, pod_uid=uid, before=before, after=after)


def baseline(why: str, uid: str, name: str, before: str, after: str = "") -> RepairAction:
    return RepairAction(
        did=ActionKind.BASELINE, reason=why, pod_uid=uid, container=name, before=before, after=after
    )


def moved(why: str, uid: str, name: str, before: str, after: str) -> RepairAction:
    return RepairAction(
        did=ActionKind.MOVED, reason=why, pod_uid=uid, container=name, before=before, after=after
    )


def removed(why: str, uid: str, name: str, before: str) -> RepairAction:
    return RepairAction(did=ActionKind.REMOVED, reason=why, pod_uid=uid, container=name, before=before)


def policy(before: str, after: str) -> RepairAction:
    return RepairAction(
        did=ActionKind.POLICY, reason=f"policy {after} is configured", before=before, after=after
    )


ENDS = "policy none has no exclusive CPUs; the container keeps running on them until it is restarted"
NOT_READ = "this kubelet does not read pod-level CPUs: containers keep theirs, and the remaining CPUs"


@dataclass(frozen=True)
class Case:
    """A state, the repaired state, and the actions of the repair."""

    name: str
    state: CPUStateFile
    after: CPUStateFile
    actions: tuple[RepairAction, ...] = ()
    rules: CPURules = field(default_factory=rules)
    owners: Owners = UNKNOWN_OWNERS


CASES = [
    Case("nothing to do", STATE, STATE),
    Case("nothing to do for running pods", STATE, STATE, owners=RUNNING),
    Case(
        "another policy before",
        replace(STATE, policy_name="none"),
        CPUStateFile(policy_name="static", default_cpu_set=cpus("0-7")),
        (
            policy("none", "static"),
            removed("policy none has no entries", "p", "a", "1,5"),
            removed("policy none has no entries", "q", "a", "2,6"),
            pool("CPUs 1-2,5-6 are added", "0,3-4,7", "0-7"),
        ),
    ),
    Case(
        "the policy none",
        STATE,
        CPUStateFile(policy_name="none", default_cpu_set=CPUSet()),
        (policy("static", "none"), removed(ENDS, "p", "a", "1,5"), removed(ENDS, "q", "a", "2,6")),
        CPURules(policy=None),
    ),
    Case(
        "the policy none as before",
        replace(STATE, policy_name="none"),
        replace(STATE, policy_name="none"),
        rules=CPURules(policy=None),
    ),
    Case(
        "gone owners",
        replace(
            STATE,
            default_cpu_set=cpus("0,4"),
            entries={"p": {**P, "old": cpus("3")}, "q": Q, "r": {"a": cpus("7")}},
        ),
        STATE,
        (
            removed("the pod has no such container", "p", "old", "3"),
            removed("the pod is not running", "r", "a", "7"),
            pool("CPUs 3,7 are added", "0,4", "0,3-4,7"),
        ),
        owners=RUNNING,
    ),
    Case(
        "a pool with too many and too few CPUs",
        replace(STATE, default_cpu_set=cpus("0-3,9")),
        STATE,
        (
            pool(
                "CPUs 4,7 are added; CPUs 1-2 are exclusive; CPU 9 is not online",
                "0-3,9",
                "0,3-4,7",
            ),
        ),
    ),
    Case(
        "reserved CPUs are kept out of the pool",
        STATE,
        replace(STATE, default_cpu_set=cpus("3-4,7")),
        (pool("CPU 0 is reserved", "0,3-4,7", "3-4,7"),),
        rules(strict=True),
    ),
    Case(
        "CPUs that cannot be kept",
        replace(
            STATE, default_cpu_set=cpus("4,7"), entries={"p": {"a": cpus("0-1,9")}, "q": {"a": cpus("1-2")}}
        ),
        replace(
            STATE, default_cpu_set=cpus("0,3,7"), entries={"p": {"a": cpus("1,4-5")}, "q": {"a": cpus("2,6")}}
        ),
        (
            moved("CPU 9 is not online; CPU 0 is reserved", "p", "a", "0-1,9", "1,4-5"),
            moved("CPU 1 is also held by another pod", "q", "a", "1-2", "2,6"),
            pool("CPUs 0,3 are added; CPU 4 is exclusive", "4,7", "0,3,7"),
        ),
    ),
    Case(
        "pod-level CPUs are not read",
        replace(STATE, default_cpu_set=cpus("0,4"), pod_entries={"q": cpus("2-3,6-7"), "p": cpus("1,5")}),
        replace(STATE, pod_entries={"p": cpus("1,5")}),
        (
            whole(f"{NOT_READ} 3,7 are released", "q", "2-3,6-7"),
            pool("CPUs 3,7 are added", "0,4", "0,3-4,7"),
        ),
    ),
    Case(
        "pod-level CPUs are read",
        replace(STATE, default_cpu_set=cpus("0,4"), pod_entries={"q": cpus("2-3,6-7"), "p": cpus("1,5")}),
        replace(STATE, default_cpu_set=cpus("0,4"), pod_entries={"q": cpus("2-3,6-7"), "p": cpus("1,5")}),
        rules=rules(keeps_pods=True),
    ),
    Case(
        "a pod without containers, and one that holds less than they do",
        replace(STATE, default_cpu_set=cpus("0,4"), pod_entries={"r": cpus("3,7"), "p": cpus("1")}),
        replace(STATE, pod_entries={"p": cpus("1,5")}),
        (
            whole("its containers hold more than the pod", "p", "1", "1,5"),
            whole("no container of the pod holds any of them: the kubelet never releases them", "r", "3,7"),
            pool("CPUs 3,7 are added", "0,4", "0,3-4,7"),
        ),
        rules(keeps_pods=True),
    ),
    Case(
        "baselines are kept as far as containers hold them",
        replace(
            STATE,
            baselines={
                "q": {"a": cpus("2-3"), "old": cpus("4")},
                "p": {"a": cpus("1"), "b": cpus("3")},
                "r": {"a": cpus("7")},
            },
        ),
        replace(STATE, baselines={"p": {"a": cpus("1")}, "q": {"a": cpus("2")}}),
        (
            baseline("it holds no CPUs", "p", "b", "3"),
            baseline("it does not hold all of them", "q", "a", "2-3", "2"),
            baseline("it holds no CPUs", "q", "old", "4"),
            baseline("it holds no CPUs", "r", "a", "7"),
        ),
        rules(keeps_baselines=True),
    ),
    Case(
        "a container that holds nothing of its baseline gets its CPUs as one",
        replace(STATE, baselines={"p": {"a": cpus("3")}}),
        replace(STATE, baselines={"p": {"a": cpus("1,5")}}),
        (baseline("it does not hold all of them", "p", "a", "3", "1,5"),),
        rules(keeps_baselines=True),
    ),
    Case(
        "baselines move with their containers and are removed with them",
        replace(
            STATE,
            entries={"p": {"a": cpus("0-1")}, "q": Q, "r": {"a": cpus("7")}},
            baselines={"p": {"a": cpus("0")}, "r": {"a": cpus("7")}},
        ),
        replace(STATE, default_cpu_set=cpus("0,3-4,7"), baselines={"p": {"a": cpus("5")}}),
        (
            removed("the pod is not running", "r", "a", "7"),
            moved("CPU 0 is reserved", "p", "a", "0-1", "1,5"),
        ),
        rules(keeps_baselines=True),
        RUNNING,
    ),
    Case(
        "baselines that this kubelet does not read are left unchanged",
        replace(STATE, baselines={"p": {"a": cpus("1")}}),
        replace(STATE, baselines={"p": {"a": cpus("1")}}),
    ),
    Case(
        "a baseline that is lost is named as in the file, although its container has moved",
        replace(STATE, entries={"p": {"a": cpus("0-1")}, "q": Q}, baselines={"p": {"a": cpus("0")}}),
        replace(STATE, default_cpu_set=cpus("0,3-4,7")),
        (
            moved("CPU 0 is reserved", "p", "a", "0-1", "1,5"),
            baseline(
                "this kubelet does not keep the CPUs guaranteed at admission: the container can no longer "
                "shrink below 1,5",
                "p",
                "a",
                "0",
            ),
        ),
    ),
    Case(
        "baselines are lost if the file has to be written",
        replace(
            STATE,
            default_cpu_set=cpus("0"),
            baselines={"q": {"a": cpus("2")}, "p": {"a": cpus("1,5"), "b": cpus("3")}, "r": {"a": cpus("7")}},
        ),
        STATE,
        (
            pool("CPUs 3-4,7 are added", "0", "0,3-4,7"),
            baseline(
                "this kubelet does not keep the CPUs guaranteed at admission: the container can no longer "
                "shrink below 2,6",
                "q",
                "a",
                "2",
            ),
        ),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_done(case: Case) -> None:
    assert repair_cpu_state(case.state, case.rules, case.owners) == Repaired(case.after, case.actions)


def test_an_action_on_the_whole_file_has_no_owner() -> None:
    action = RepairAction(did=ActionKind.TABLES, reason="drift")
    assert (action.pod_uid, action.container, action.before, action.after) == ("", "", "", "")
