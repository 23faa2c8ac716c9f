"""Checks of a node in a fleet, and how findings of many nodes are merged."""

from __future__ import annotations

import shutil
import tarfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cpuctl.errors import InputError, UsageError
from cpuctl.fleet.checking import (
    CHECKS,
    NodeChecker,
    fleet_check_document,
    fleet_findings,
    is_clean,
    named_checks,
)
from cpuctl.fleet.collection import Recording
from cpuctl.fleet.varying_text import in_common, skeleton
from cpuctl.inputs.configuration import KubeletInputs

if TYPE_CHECKING:
    from cpuctl.answers.fleet import CheckedNode, FleetCheckName, NodeFinding

FIXTURES = Path(__file__).parents[2] / "fixtures"
NODE = FIXTURES / "nodes/v2-2-numa/node.tar.xz"
MACHINE = FIXTURES / "machines/2s-2numa-32cpu.tar.xz"
STATIC = str(FIXTURES / "kubelet/static.yaml")


def checked(
    source: Path,
    *checks: FleetCheckName,
    config: str | None = None,
    arguments: str | None = None,
    version: str = "",
) -> CheckedNode:
    kubelet = KubeletInputs(config=config, arguments=arguments, version=version)
    return NodeChecker(kubelet, checks or CHECKS)(Recording("node", str(source)))


def finding(message: str, code: str = "a-code", about: str = "") -> NodeFinding:
    return {
        "check": "audit",
        "severity": "warning",
        "code": code,
        "subject": about,
        "where": "",
        "expected": "",
        "detected": "",
        "message": message,
        "fix": "",
    }


def node(name: str, *findings: NodeFinding) -> CheckedNode:
    return {
        "node": name,
        "source": f"{name}.tar",
        "answerKey": None,
        "outcome": "Read",
        "start": {"outcome": "Started"},
        "summary": {"error": 0, "warning": len(findings), "note": 0},
        "findings": list(findings),
        "unchecked": [],
        "assumed": {},
    }


def test_each_check_finds_what_its_command_finds() -> None:
    found = checked(NODE, version="1.36", arguments="--v=2")
    codes = {(each["check"], each["code"]) for each in found["findings"]}
    assert {
        ("config", "eviction-defaults-dropped"),
        ("state", "no-such-cpus"),
        ("audit", "quota-on-exclusive"),
    } <= codes
    # The check of the state files has found it.
    assert ("audit", "cpus-offline") not in codes
    assert "cpus-offline" in {each["code"] for each in checked(NODE, "audit", version="1.36")["findings"]}
    assert found["start"] is not None
    assert found["start"]["outcome"] == "Rejected"
    severities = [each["severity"] for each in found["findings"]]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert found["summary"]["error"] == severities.count("error")


def test_findings_do_not_name_the_recording() -> None:
    found = checked(NODE)
    texts = [text for each in found["findings"] for text in (each["message"], each["where"], each["fix"])]
    assert not any(str(NODE) in text for text in texts)
    assert "var/lib/kubelet/config.yaml:18" in texts


@pytest.mark.parametrize("check", CHECKS)
def test_only_the_named_check_runs(check: FleetCheckName) -> None:
    found = checked(NODE, check, version="1.36")
    assert {each["check"] for each in found["findings"]} == {check}
    assert (found["start"] is None) == (check == "audit")


def test_the_reason_for_a_failed_start_is_reported_once() -> None:
    """A configuration that prevents a start is a finding of config; the state is then unchecked."""
    found = checked(MACHINE, "config", "state", arguments="--cpu-manager-policy=static", version="1.36")
    errors = [each for each in found["findings"] if each["severity"] == "error"]
    assert [each["check"] for each in errors] == ["config"]
    assert "unable to determine reserved CPU resources" in errors[0]["message"]
    alone = checked(NODE, "state", version="1.36", arguments="--cpu-manager-policy=nonsense")
    assert [each["check"] for each in alone["findings"] if each["code"] == "not-started"] == ["state"]
    assert ["the kubelet exits before" in each["missing"] for each in alone["unchecked"]] == [True]


def test_a_configuration_that_cannot_be_loaded_leaves_the_rest_unchecked() -> None:
    """Everything independent of it is audited nevertheless."""
    found = checked(NODE, arguments="--no-such-flag", version="1.36")
    reported = [(each["check"], each["code"]) for each in found["findings"] if each["check"] != "audit"]
    assert reported == [("config", "not-loaded")]
    assert {each["check"] for each in found["unchecked"]} >= {"state", "audit"}
    audited = [
        [each["code"] for each in one["findings"] if each["check"] == "audit"]
        for one in (found, checked(NODE, "audit", version="1.36"))
    ]
    assert audited[0] == audited[1] != []
    assert not is_clean(found, strict=False)


def test_unrecorded_parts_are_never_clean() -> None:
    found = checked(MACHINE)
    reported = {(each["check"], each["missing"].partition(":")[0]) for each in found["unchecked"]}
    assert ("config", "the kubelet's configuration") in reported
    assert ("state", "state files") in reported
    assert ("audit", "cgroups") in reported
    assert found["summary"]["error"] == 0
    assert not is_clean(found, strict=False)
    assert is_clean(checked(MACHINE, "config", config=STATIC, version="1.36"), strict=False)


def test_a_description_has_nothing_to_audit() -> None:
    found = NodeChecker(KubeletInputs(config=STATIC))(Recording("node", "synthetic:2s4n16c2t"))
    assert any("not a running node" in each["missing"] for each in found["unchecked"])


def test_a_broken_state_file_fails_only_that_check(tmp_path: Path) -> None:
    shutil.copy(NODE, tmp_path / "node.tar.xz")
    with tarfile.open(NODE) as before, tarfile.open(tmp_path / "broken.tar", "w") as after:
        for member in before:
            data = before.extractfile(member)
            content = data.read() if data else b""
            if member.name.endswith("cpu_manager_state"):
                content = b"{"
                member.size = len(content)
            after.addfile(member, BytesIO(content))
    found = checked(tmp_path / "broken.tar", version="1.36")
    assert any(each["check"] == "state" and each["severity"] == "error" for each in found["findings"])


def test_a_recording_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "node.tar").write_bytes(b"\x1f\x8bnothing")
    with pytest.raises(InputError):
        checked(tmp_path / "node.tar")


def test_the_question_distinguishes_checks_and_kubelets() -> None:
    askings = {
        NodeChecker(KubeletInputs(version=version), checks).asks("node")
        for version in ("1.35", "1.36")
        for checks in (CHECKS, ("audit",))
    }
    assert len(askings) == 4


def test_checks_are_named_in_any_order_and_unknown_ones_rejected() -> None:
    assert named_checks("") == CHECKS
    assert named_checks("audit, config") == ("config", "audit")
    with pytest.raises(UsageError, match="unknown check 'x'"):
        named_checks("config,x")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CPU 15 is offline, but in the state", "CPUs 3-4,9 are offline, but in the state"),
        ("held by a/b/c", "held by a/b/c, d/e/f and 3 more"),
        ('available CPUs "0-14" and "0-15"', 'available CPUs "0-3" and "0-7"'),
        ("1 thread of 1 process may run", "12 threads of 3 processes may run"),
        ("it is throttled at 1.5 CPUs", "it is throttled at 2 CPUs"),
    ],
)
def test_texts_that_differ_only_in_names_and_numbers_are_the_same(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


def test_different_words_are_a_different_finding() -> None:
    assert skeleton("policy static is configured") != skeleton("policy none is configured")


def test_differences_are_left_out_of_the_text() -> None:
    assert in_common(["CPUs 2-3 of node 1", "CPUs 2-3 of node 7"]) == "CPUs 2-3 of node ..."
    assert in_common(['with "0-14" (a/b)', 'with "0-15" (c/d)']) == 'with "..." (...)'
    assert in_common(["CPU 1 is gone", "CPUs 1, 2 are gone"]) == "CPU ... is gone"
    assert in_common(["CPU 1 is gone", "CPUs 1-2 are gone"]) == "CPUs ... are gone"
    assert in_common(["static: 2 CPUs", "none: 3 CPUs"]) == "... CPUs"
    assert in_common(["same", "same"]) == "same"
    assert in_common(["x", ""]) == "..."


def test_findings_of_many_nodes_are_listed_once_the_most_frequent_first() -> None:
    one, other = finding("CPU 3 is lost", "lost"), finding("CPU 4 is lost", "lost")
    found = fleet_findings(
        [node("n1", finding("odd")), node("n2", one, other), node("n3", other), node("n4", one)]
    )
    assert [(each["message"], each["count"], each["nodes"]) for each in found] == [
        ("CPU ... is lost", 4, ["n2", "n3", "n4"]),
        ("odd", 1, ["n1"]),
    ]


def test_the_most_severe_finding_comes_first_even_if_rare() -> None:
    bad: NodeFinding = {**finding("bad"), "severity": "error"}
    found = fleet_findings([node("n1", finding("odd")), node("n2", finding("odd"), bad)])
    assert [each["severity"] for each in found] == ["error", "warning"]


def test_a_summary_counts_nodes_and_findings() -> None:
    unchecked: CheckedNode = {**node("n3"), "unchecked": [{"check": "audit", "missing": "processes: 3 of 7"}]}
    again: CheckedNode = {**unchecked, "node": "n4"}
    again["unchecked"] = [{"check": "audit", "missing": "processes: 5 of 9"}]
    document = fleet_check_document(
        [node("n1"), node("n2", finding("odd")), unchecked, again], CHECKS, complete=True
    )
    summary = document["summary"]
    assert (summary["nodes"], summary["clean"], summary["unchecked"], summary["warning"]) == (4, 1, 2, 1)
    assert document["unchecked"] == [
        {"check": "audit", "missing": "processes: ... of ...", "nodes": ["n3", "n4"]}
    ]
