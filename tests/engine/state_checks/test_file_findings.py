"""State files as files: what cannot be loaded, what is not read, and what is ignored."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile, PodsStateFile, UnreadableState
from cpuctl.departures import ROLLBACK
from cpuctl.diagnostics import Severity
from cpuctl.engine.state_checks.file_findings import FileFacts, FoundFile, file_findings
from cpuctl.engine.state_checks.findings import StateFinding, StatePlace
from cpuctl.records import replace
from tests.support.state_files import CPU_STATE, DB, MEMORY_STATE, WEB, block, cpus

REPAIR = "cpuctl checkpoint repair"
CORRUPT = UnreadableState("checkpoint is corrupted")
ERROR = "cannot be loaded: checkpoint is corrupted"


@pytest.mark.parametrize(
    ("facts", "whole", "format_", "message", "fix"),
    [
        (FileFacts(), None, "", ERROR, "drain the node and delete the file"),
        (
            FileFacts(wrong_checksums=("checksum",), readable_by=("to 1.35",)),
            CPU_STATE,
            "",
            f"{ERROR}; checksum does not match the content",
            REPAIR,
        ),
        (
            FileFacts(wrong_checksums=("checksum", "dataChecksum")),
            CPU_STATE,
            "",
            f"{ERROR}; checksum and dataChecksum do not match the content",
            REPAIR,
        ),
        (
            FileFacts(format="V4", readable_by=("1.37 on", "1.37 on, gates")),
            CPU_STATE,
            "V4",
            f"{ERROR}; format V4 is read by 1.37 on, 1.37 on, gates",
            "cpuctl checkpoint migrate --to 1.36",
        ),
        (FileFacts(format="V1"), CPU_STATE, "V1", ERROR, ""),
    ],
    ids=[
        "by no kubelet",
        "a wrong checksum",
        "two wrong checksums",
        "by other kubelets",
        "for an unknown reason",
    ],
)
def test_a_file_that_cannot_be_loaded(
    facts: FileFacts, whole: CPUStateFile | None, format_: str, message: str, fix: str
) -> None:
    file = FoundFile(read=CORRUPT, whole=whole, facts=facts)
    assert [*file_findings("cpu_manager_state", file, None, "1.36")] == [
        StateFinding(
            severity=Severity.ERROR,
            code="unreadable",
            place=StatePlace("cpu_manager_state"),
            message=message,
            detected=format_,
            fix=fix,
        )
    ]


def policy_differs(found: str, wanted: str, fix: str) -> StateFinding:
    return StateFinding(
        severity=Severity.ERROR,
        code="policy-differs",
        place=StatePlace("x"),
        message=f'the file was written with policy "{found}", but "{wanted}" is configured',
        expected=wanted,
        detected=found,
        fix=fix,
    )


def unread(member: str) -> StateFinding:
    departs = f" ({ROLLBACK})" if member == "podEntries" else ""
    guaranteed = "the CPUs guaranteed at admission (baselines in the file)"
    part = {"podEntries": "podEntries of the file", "baselines": guaranteed}[member]
    return StateFinding(
        severity=Severity.WARNING,
        code="part-unread",
        place=StatePlace("x"),
        message=f"this kubelet does not read {part}, and rewrites the file without them{departs}",
        detected=member,
    )


EMBEDDED = StateFinding(
    severity=Severity.WARNING,
    code="embedded-differs",
    place=StatePlace("x"),
    message="the copy for kubelets before 1.37 differs from the file: they would start with a "
    "different state",
    fix=REPAIR,
)
UNSEEN = StateFinding(
    severity=Severity.WARNING,
    code="checksum-unseen",
    place=StatePlace("x"),
    message="checksum and dataChecksum do not match the content: this kubelet does not check it, but "
    "others reject the file",
    fix=REPAIR,
)
FULL = replace(CPU_STATE, pod_entries={DB: cpus("1-2,9-10")}, baselines={WEB: {"app": cpus("5")}})
POD_MEMORY = replace(MEMORY_STATE, pod_entries={DB: (block(1),)})


@pytest.mark.parametrize(
    ("file", "policy", "found"),
    [
        (FoundFile(read=CPU_STATE, whole=CPU_STATE), "static", []),
        (FoundFile(read=CPU_STATE, whole=CPU_STATE), None, []),
        (FoundFile(read=FULL, whole=FULL), "static", []),
        (FoundFile(read=CPU_STATE), "static", []),
        (
            FoundFile(read=CPU_STATE),
            "none",
            [policy_differs("static", "none", f"configure policy static (with reserved CPUs), or {REPAIR}")],
        ),
        (
            FoundFile(read=replace(CPU_STATE, policy_name="")),
            "static",
            [policy_differs("", "static", REPAIR)],
        ),
        (FoundFile(read=PodsStateFile()), "static", []),
        (
            FoundFile(read=CPU_STATE, facts=FileFacts(wrong_checksums=("checksum", "dataChecksum"))),
            None,
            [UNSEEN],
        ),
        (
            FoundFile(read=CPU_STATE, facts=FileFacts(wrong_checksums=("checksum",), zero_sum=True)),
            None,
            [replace(UNSEEN, message="checksum 0: the kubelet does not check the content")],
        ),
        (FoundFile(read=CPU_STATE, facts=FileFacts(embedded_differs=True)), None, [EMBEDDED]),
        (FoundFile(read=CPU_STATE, whole=FULL), None, [unread("podEntries"), unread("baselines")]),
        (
            FoundFile(read=CPU_STATE, whole=replace(FULL, baselines={})),
            "static",
            [unread("podEntries")],
        ),
        (FoundFile(read=replace(FULL, baselines={}), whole=FULL), "static", [unread("baselines")]),
        (FoundFile(read=MEMORY_STATE, whole=POD_MEMORY), "Static", [unread("podEntries")]),
        (FoundFile(read=POD_MEMORY, whole=POD_MEMORY), "Static", []),
    ],
    ids=[
        "fine",
        "no policy known",
        "all is read",
        "nothing more known",
        "another policy",
        "without a policy",
        "a file without policies",
        "checksums unseen",
        "checksum 0",
        "another copy",
        "two parts unread",
        "pods unread",
        "baselines unread",
        "memory of pods unread",
        "memory of pods read",
    ],
)
def test_a_file_that_is_loaded(
    file: FoundFile[CPUStateFile] | FoundFile[MemoryStateFile] | FoundFile[PodsStateFile],
    policy: str | None,
    found: list[StateFinding],
) -> None:
    assert [*file_findings("x", file, policy, "1.36")] == found


def test_the_policy_of_a_file_that_cannot_be_loaded_is_checked() -> None:
    """The policy is reported at once, for the repair; what the kubelet ignores does not matter then."""
    file = FoundFile(read=CORRUPT, whole=FULL, facts=FileFacts(wrong_checksums=("checksum",)))
    found = [*file_findings("x", file, "none", "1.36")]
    assert [finding.code for finding in found] == ["unreadable", "policy-differs"]
