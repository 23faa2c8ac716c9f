"""What a kubelet rejects at start: misplaced CPUs, reported for every CPU and owner."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.model import FROM_NODE
from cpuctl.departures import ROLLBACK
from cpuctl.engine.state_checks.findings import StateFinding
from cpuctl.phrases import are
from cpuctl.records import replace
from tests.support.state_files import CPU_STATE, DB, GONE, WEB, cpus
from tests.support.verifying import STRICT, Case, cpu_error, cpu_warning, state

REPAIR = "cpuctl checkpoint repair"
POOL = str(CPU_STATE.default_cpu_set)
ENTRIES = CPU_STATE.entries
BUBBLE = state("0,4,8,12,15", pod_entries={WEB: cpus("5-6,13"), DB: cpus("1-3,9-11"), GONE: cpus("14")})


def taken(which: str, pool: str) -> StateFinding:
    return cpu_error(
        code="reserved-not-in-pool",
        message=f"reserved {which}: the reserved CPUs or strict-cpu-reservation have changed since the "
        "file was written",
        expected="all of 0,8",
        detected=pool,
        fix=REPAIR,
    )


def only_reserved(pool: str) -> StateFinding:
    return cpu_warning(
        code="pool-only-reserved",
        message=f"containers without exclusive CPUs can only run on the reserved {pool}",
    )


def unaccounted(which: str) -> StateFinding:
    return cpu_error(
        code="unaccounted-cpus",
        message=f"{are(cpus(which))} neither in the shared pool nor assigned: new on this machine, "
        "or missing from the file",
        fix=REPAIR,
    )


def shared(which: str, who: str, uid: str, name: str) -> StateFinding:
    message = f"{are(cpus(which))} held by {who} and also in the shared pool"
    return cpu_error(code="held-and-shared", message=message, fix=REPAIR, pod_uid=uid, container=name)


def unknown(which: str, detected: str) -> StateFinding:
    return cpu_error(
        code="no-such-cpus",
        message=f"{which} not on this machine, or offline",
        expected="only 0-15",
        detected=detected,
        fix=REPAIR,
    )


def passed_over(which: str, who: str) -> tuple[StateFinding, StateFinding]:
    return (
        cpu_warning(
            code="part-unread",
            message="this kubelet does not read podEntries of the file, and rewrites the file without them "
            f"({ROLLBACK})",
            detected="podEntries",
        ),
        cpu_error(
            code="pod-cpus-unread",
            message=f"{are(cpus(which))} held by pods as a whole, but by none of their containers ({who}), "
            f"which this kubelet does not read ({ROLLBACK})",
            fix=f"enable PodLevelResourceManagers, or {REPAIR}",
        ),
    )


CASES = [
    Case("nothing is held", state("0-15", entries={}), ()),
    Case("an empty pool, and nothing is held", state("", entries={}), ()),
    Case(
        "an empty pool",
        state("", entries={DB: {"server": cpus("1-7,9-15")}}),
        (
            cpu_error(
                code="pool-empty",
                message="the shared pool is empty: with strict-cpu-reservation the kubelet can cause this "
                "itself, and then does not start with its own file again (kubernetes issue 141196)",
                expected="at least one CPU",
                detected="none",
                fix=f"remove a pod that has exclusive CPUs {FROM_NODE}, list its pods again, then "
                f"{REPAIR} --pods FILE",
            ),
        ),
        STRICT,
    ),
    Case(
        "an empty pool although CPUs are free",
        state("", entries={DB: {"server": cpus("1-7,9-15")}}),
        (
            cpu_error(
                code="pool-empty",
                message="the shared pool is empty, although no container has CPUs 0,8",
                expected="at least one CPU",
                detected="none",
                fix=REPAIR,
            ),
        ),
    ),
    Case(
        "a pool of reserved CPUs only",
        state("0,8", entries={DB: {"server": cpus("1-7,9-15")}}),
        (only_reserved("CPUs 0,8"),),
    ),
    Case(
        "a pool of one of two reserved CPUs",
        state("0", entries={DB: {"server": cpus("1-7,9-15")}}),
        (only_reserved("CPU 0"), taken("CPU 8 is not in the shared pool", "0")),
    ),
    Case(
        "reserved CPUs are held",
        state("3-4,6-7,11-12,14-15", entries={**ENTRIES, GONE: {"c": cpus("8"), "d": cpus("0")}}),
        (
            taken(
                f"CPUs 0,8 are not in the shared pool but held by {GONE}/c, {GONE}/d",
                "3-4,6-7,11-12,14-15",
            ),
        ),
    ),
    Case(
        "reserved CPUs are missing",
        state("3-4,6-7,11-12,14-15"),
        (taken("CPUs 0,8 are not in the shared pool", "3-4,6-7,11-12,14-15"),),
    ),
    Case(
        "strictly reserved CPUs are shared",
        state(POOL.removeprefix("0,")),
        (
            cpu_error(
                code="reserved-in-pool",
                message="reserved CPU 8 is in the shared pool, which strict-cpu-reservation does not "
                "allow: the option or the reserved CPUs have changed since the file was written",
                expected="none of 0,8",
                detected="3-4,6-8,11-12,14-15",
                fix=REPAIR,
            ),
        ),
        STRICT,
    ),
    Case("strictly reserved CPUs are missing", state("3-4,6-7,11-12,14-15"), (), STRICT),
    Case(
        "strictly reserved CPUs are held",
        state("3-4,6-7,11-12,14-15", entries={**ENTRIES, GONE: {"c": cpus("8")}}),
        (cpu_error(code="reserved-held", message=f"CPU 8 is reserved, but held by {GONE}/c", fix=REPAIR),),
        STRICT,
    ),
    Case(
        "held and shared",
        state("0-4,6-12,14-15", entries={**ENTRIES, GONE: {"c": cpus("4")}}),
        (
            shared("1-2,9-10", f"{DB}/server", DB, "server"),
            shared("4", f"{GONE}/c", GONE, "c"),
        ),
    ),
    Case(
        "CPUs that are not there",
        state(f"{POOL},20", entries={**ENTRIES, GONE: {"c": cpus("21"), "d": cpus("21-22")}}),
        (
            unknown("CPU 20 of the shared pool is", "20"),
            unknown(f"CPU 21 of {GONE}/c is", "21"),
            unknown(f"CPUs 21-22 of {GONE}/d are", "21-22"),
        ),
    ),
    Case("CPUs without an owner", state("0,3-4,6-8,11-12"), (unaccounted("14-15"),)),
    Case("a new CPU while none are held", state("0-14", entries={}), (unaccounted("15"),)),
    Case(
        "pod-level CPUs are not read",
        replace(BUBBLE, pod_entries={}),
        (*passed_over("3,6,11,14", f"{DB}, {WEB}, {GONE}"), unaccounted("7")),
        whole=BUBBLE,
    ),
    Case(
        "pods that hold no more than their containers lose nothing",
        state(),
        passed_over("", "")[:1],
        whole=state(pod_entries={DB: cpus("1-2,9-10")}),
    ),
    Case(
        "only pods that hold more are named",
        state("0,4,6-8,11-12,14-15"),
        passed_over("3", DB),
        whole=state("0,4,6-8,11-12,14-15", pod_entries={DB: cpus("1-3,9-10"), WEB: cpus("5,13")}),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_found(case: Case) -> None:
    case.check()
