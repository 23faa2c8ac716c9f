"""``cpuctl fleet check``: each finding once with its nodes, what was not checked, and the exit codes."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from cpuctl.cli.render.blocks import Lines
from cpuctl.cli.render.layouts.fleetcheck import blocks
from cpuctl.exports.same_cause import findings_of_audit
from cpuctl.fleet.checking import fleet_check_document
from tests.cli.conftest import ROOT, Cpuctl
from tests.support.schemas import follow_schema

if TYPE_CHECKING:
    from cpuctl.answers.fleet import CheckedNode, NodeFinding

MACHINES = ROOT / "fixtures/machines"
NODES = ROOT / "fixtures/nodes"
STATIC = ("--kubelet-config", "fixtures/kubelet/static.yaml")
CHECKED = ("--kubelet-version", "1.36")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Create a fleet of four nodes with many problems, and one of which only the machine is recorded."""
    for number, name in enumerate(("v2-2-numa", "v2-2-numa", "hybrid-8-numa", "v2-2-numa"), 1):
        shutil.copy(NODES / name / "node.tar.xz", tmp_path / f"node{number}.tar.xz")
    shutil.copy(MACHINES / "2s-2numa-32cpu.tar.xz", tmp_path / "node5.tar.xz")
    return tmp_path


def test_a_check_is_the_same_in_every_form(recorded: Path, cpuctl: Cpuctl) -> None:
    words = ("fleet", "check", str(recorded), *CHECKED)
    result = cpuctl(*words, "-o", "json")
    assert result.code == 3, result
    answer: Any = json.loads(result.out)
    follow_schema(answer, "fleetcheck")
    assert yaml.safe_load(cpuctl(*words, "-o", "yaml").out) == answer
    lines = cpuctl(*words, "-o", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == answer["nodes"]
    quota = next(each for each in answer["findings"] if each["code"] == "quota-on-exclusive")
    assert quota["nodes"] == ["node1", "node2", "node3", "node4"]


def test_a_check_shows_each_finding_once_with_its_nodes(recorded: Path, cpuctl: Cpuctl) -> None:
    out = cpuctl("fleet", "check", str(recorded), *CHECKED).out
    assert out.count("quota-on-exclusive") == 1
    assert "  4 nodes: node1, node2, node3 and 1 more\n" in out
    assert "not checked (state): state files: none are recorded\n  1 node: node5\n" in out
    assert out.splitlines()[-2].startswith("5 nodes: 0 clean, 4 would not start, 1 with undetermined start; ")
    wide = cpuctl("fleet", "check", str(recorded), *CHECKED, "-o", "wide").out
    assert "  4 nodes: node1, node2, node3, node4\n" in wide


def test_details_that_differ_between_nodes_are_those_of_one(cpuctl: Cpuctl) -> None:
    """Text with gaps alone says nothing about any node."""
    nodes = sorted(map(str, NODES.glob("*/node.tar.xz")))
    wide = cpuctl("fleet", "check", *nodes, "-q", "-o", "wide").out
    details = [line for line in wide.splitlines() if line.startswith(("  where: ", "  expected "))]
    assert not [line for line in details if "..." in line]
    assert "  expected no quota, detected 150000 us per 100000 us (on hybrid-8-numa)" in details
    # Processes are those of one node.
    assert "\n  fix, on hybrid-8-numa: for id in 342 384; do migratepages $id 1-2 0; done\n" in wide


def test_a_check_finds_on_one_node_what_the_commands_for_one_node_find(
    recorded: Path, cpuctl: Cpuctl
) -> None:
    node = str(recorded / "node1.tar.xz")
    answer: Any = json.loads(cpuctl("fleet", "check", node, *CHECKED, "-o", "json").out)
    by_check = {
        name: [each["code"] for each in answer["nodes"][0]["findings"] if each["check"] == name]
        for name in ("state", "audit")
    }
    verified: Any = json.loads(cpuctl("checkpoint", "verify", node, *CHECKED, "-q", "-o", "json").out)
    audited: Any = json.loads(cpuctl("audit", "-m", node, *CHECKED, "-q", "-o", "json").out)
    assert by_check["state"] == [each["code"] for each in verified["findings"]]
    # The report on one node leaves out the same.
    once = findings_of_audit(audited, verified)
    assert by_check["audit"] == [each["code"] for each in once]
    assert [each["code"] for each in audited["findings"] if each not in once] == ["cpus-offline"]


def test_the_exit_code_depends_on_the_findings(recorded: Path, cpuctl: Cpuctl) -> None:
    sound = ("fleet", "check", str(recorded / "node5.tar.xz"), *STATIC, *CHECKED, "--check", "config")
    assert cpuctl(*sound).code == 0
    assert cpuctl(*sound, "--strict").code == 0
    # Its state files and pods are not recorded.
    assert cpuctl(*sound[:-1], "config,state").code == 3
    assert cpuctl(*sound[:-1], "config,state", "--exit-zero").code == 0
    assert cpuctl("fleet", "check", str(recorded), *CHECKED).code == 3
    assert cpuctl("fleet", "check", str(recorded), *CHECKED, "-o", "jsonl").code == 3
    (recorded / "broken.tar").write_bytes(b"\x1f\x8bnothing")
    broken = cpuctl("fleet", "check", str(recorded), *CHECKED)
    assert (broken.code, "unreadable: " in broken.out) == (4, True)
    assert cpuctl("fleet", "check", str(recorded), "--check", "all").code == 2


def test_a_check_resumes_from_an_earlier_run(recorded: Path, tmp_path: Path, cpuctl: Cpuctl) -> None:
    words = ("fleet", "check", f"{recorded}/*.xz", *CHECKED, "-o", "jsonl")
    whole = cpuctl(*words).out
    first = whole.splitlines()[0].replace('"summary": {', '"summary": {"known": 1, ')
    (tmp_path / "earlier").write_text(f"{first}\n")
    again = cpuctl(*words, "--resume", str(tmp_path / "earlier"))
    assert again.out.replace('"known": 1, ', "") == whole
    assert again.out.count('"known": 1') == 3
    other = cpuctl(*words, "--resume", str(tmp_path / "earlier"), "--check", "audit")
    assert '"known"' not in other.out


def test_metrics_show_findings(recorded: Path, cpuctl: Cpuctl) -> None:
    lines = cpuctl("fleet", "check", str(recorded), *CHECKED, "-o", "prom").out.splitlines()
    labels = '{check="audit",code="quota-on-exclusive",severity="error"}'
    assert f"cpuctl_fleet_affected_nodes{labels} 4" in lines
    assert 'cpuctl_fleet_unchecked_nodes{check="state"} 1' in lines


NOT_PUBLISHED = "there is no object with the node's name: the scheduler's plugin lets every pod pass"
PUBLISHED = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0", "--kubelet-version", "1.36")


def test_published_objects_are_checked_if_given(tmp_path: Path, cpuctl: Cpuctl) -> None:
    for name in ("a", "b", "c"):
        shutil.copy(MACHINES / "2s-2numa-32cpu.tar.xz", tmp_path / f"{name}.tar.xz")
    fleet = f"{tmp_path}/*.xz"
    nrt = cpuctl("fleet", "list", fleet, *PUBLISHED, "-o", "nrt", "-q").out
    objects: Any = yaml.safe_load(nrt)
    objects["items"][1]["attributes"][-1]["value"] = "restricted"
    objects["items"][2]["metadata"]["name"] = "gone"
    (tmp_path / "nrt.json").write_text(json.dumps(objects))
    words = ("fleet", "check", fleet, *PUBLISHED, "--check", "nrt", "--nrt")
    found = cpuctl(*words, str(tmp_path / "nrt.json"))
    assert found.code == 3
    assert "ignored NodeResourceTopologies without a recording: gone" in found.err
    assert found.out.splitlines()[:4] == [
        "error: other-settings: topologyManagerPolicy: the object says restricted, but the kubelet uses none",
        "  1 node: b",
        f"warning: not-published: {NOT_PUBLISHED}",
        "  1 node: c",
    ]
    answer = cpuctl(*words, "-", "-o", "json", "-j", "1", stdin=nrt.encode())
    document: Any = json.loads(answer.out)
    follow_schema(document, "fleetcheck")
    assert (document["checks"], document["findings"]) == (["nrt"], [])
    missing = "available amounts: the state files of the kubelet's managers are not recorded"
    assert {each["missing"] for each in document["unchecked"]} == {
        missing,
        "fingerprint: the state files that show which pods have CPUs and memory are not recorded",
    }


def test_files_that_no_check_reads_are_rejected(recorded: Path, cpuctl: Cpuctl) -> None:
    words = ("fleet", "check", str(recorded))
    for more, message in (
        (("--check", "nrt"), "--check nrt: needs the published objects"),
        (("--nrt", "x", "--check", "state"), "--nrt: requires --check nrt"),
        (("--pods", "x", "--check", "config"), "--pods: requires one of the checks state, audit, nrt"),
        (("--nrt", "-", "--pods", "-"), "(-) is used twice"),
    ):
        refused = cpuctl(*words, *more)
        assert (refused.code, refused.out) == (2, "")
        assert message in refused.err


def test_findings_name_the_pods_of_their_node(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A node gets only its own pods, as in the commands for one node; without any, its pods are unknown."""
    node = NODES / "v2-2-numa"
    for name in ("guest", "other"):
        shutil.copy(node / "node.tar.xz", tmp_path / f"{name}.tar.xz")
    pods, reported = ("--pods", str(node / "pods.json")), ("--kubelet-version", "1.36", "-o", "json")
    answer: Any = json.loads(cpuctl("fleet", "check", str(tmp_path), *pods, *reported).out)
    unnamed: Any = json.loads(cpuctl("fleet", "check", str(tmp_path), *reported).out)
    guest, other = ([each["message"] for each in row["findings"]] for row in answer["nodes"])
    assert other == [each["message"] for each in unnamed["nodes"][1]["findings"]] != guest
    machine = ("-m", str(tmp_path / "guest.tar.xz"))
    audited, verified = (
        json.loads(cpuctl(*verb, *machine, *pods, *reported).out)
        for verb in (("audit",), ("checkpoint", "verify"))
    )
    once = findings_of_audit(audited, verified)
    expected = {each["message"] for each in (*verified["findings"], *once)}
    assert {
        each["message"] for each in answer["nodes"][0]["findings"] if each["check"] != "config"
    } == expected
    none: Any = cpuctl("fleet", "check", str(tmp_path / "other.tar.xz"), *pods)
    assert "note: no pod in --pods runs on any of these nodes" in none.err


def test_unreadable_recordings_are_reported_once_per_reason(tmp_path: Path, cpuctl: Cpuctl) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.tar").write_bytes(b"\x1f\x8bnothing")
    out = cpuctl("fleet", "check", str(tmp_path)).out
    assert out.splitlines()[:2] == [
        "unreadable: cannot be read as an archive: its gzip data is damaged",
        "  3 nodes: a, b, c",
    ]


NO_FILE = ("--kubelet-version=1.35", "--kubelet-args=--config=/no/such")
FLEETS = {  # of archives that are not captures, only some files are read
    "fixtures/nodes": ("not in the recording", "leave out the --config flag"),
    "fixtures/fleet/recordings": (
        "not among the files that are read from an archive",
        "unpack the archive and use the directory instead",
    ),
}
OTHER = ", or specify another configuration with --kubelet-config"


@pytest.mark.parametrize("fleet", FLEETS)
@pytest.mark.parametrize("verb", ["check", "list", "report"])
def test_a_path_that_no_recording_has_is_no_reason_to_record_again(
    verb: str, fleet: str, cpuctl: Cpuctl
) -> None:
    lacking, hint = FLEETS[fleet]
    out = cpuctl("fleet", verb, fleet, *NO_FILE).out
    assert out.count(f"hint: {hint}{OTHER}") == 1
    assert "cpuctl capture" not in out
    assert verb == "report" or out.count(f"/no/such: {lacking}, and not found on this host") == 1


def test_a_plan_without_any_kubelet_names_the_first_error(cpuctl: Cpuctl) -> None:
    fleet = "fixtures/fleet/recordings"
    lacking, hint = FLEETS[fleet]
    result = cpuctl("fleet", "plan", fleet, *NO_FILE, "-T", "a=1/1,1Gi")
    assert (result.code, result.out) == (4, "")
    none = "error: no node in the fleet has a kubelet to plan for: dense-1"
    error = f"{none}: /no/such: {lacking}, and not found on this host\nhint: {hint}{OTHER}\n"
    assert error in result.err
    refused = cpuctl("fleet", "plan", fleet, "--kubelet-args=--no-such-flag=1", "-T", "a=1/1,1Gi")
    assert f"{none}: the kubelet would not start: " in refused.err


def test_a_check_counts_each_node_once_and_ends_with_the_next_commands(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    for name in ("a", "b", "c"):
        shutil.copy(MACHINES / "2s-2numa-32cpu.tar.xz", tmp_path / f"{name}.tar.xz")
    fleet = str(tmp_path)
    nrt = cpuctl("fleet", "list", fleet, *PUBLISHED, "-o", "nrt", "-q").out
    objects: Any = yaml.safe_load(nrt.replace("node-1", "node-7", 1))
    del objects["items"][2]
    words = ("fleet", "check", fleet, *PUBLISHED, "--check", "nrt", "--nrt", "-")
    found = cpuctl(*words, stdin=json.dumps(objects).encode())
    summary, publish, capture = found.out.splitlines()[-3:]
    assert summary.startswith("3 nodes: 0 clean, 1 with errors, 1 with warnings, 1 partly checked; ")
    command = publish.removeprefix("Next, to see what an exporter would publish: ")
    assert cpuctl(*shlex.split(command)[1:], "-q").out == nrt
    assert capture == "Next, on each node that is not fully checked: sudo cpuctl capture NODE.tar.gz"


def test_differences_from_assumed_settings_are_not_reported(cpuctl: Cpuctl) -> None:
    fleet = "fixtures/fleet"
    words = ("fleet", "check", f"{fleet}/recordings", "--check", "nrt", "--nrt", f"{fleet}/nrt.json")
    found = cpuctl(*words, "--pods", f"{fleet}/pods.json", "--nodes", f"{fleet}/nodes.json")
    assert (found.code, found.out.splitlines()[-2:]) == (
        3,
        [
            "5 nodes: 0 clean, 5 partly checked; no findings",
            "Next, on each node that is not fully checked: sudo cpuctl capture NODE.tar.gz",
        ],
    )
    assert "its defaults are assumed (set it with --kubelet-config FILE)" in found.out


def test_fixes_are_commands_for_each_node_and_explain_their_placeholders(
    recorded: Path, cpuctl: Cpuctl
) -> None:
    lines = cpuctl("fleet", "check", str(recorded), "--check", "state").out.splitlines()
    fix = "  fix, on each node: cpuctl checkpoint repair --kubelet-version VERSION"
    meaning = "VERSION: the kubelet's version, unknown here (kubelet --version prints it)"
    assert (fix in lines, lines.count(meaning)) == (True, 1)
    known = cpuctl("fleet", "check", str(recorded), *CHECKED, "--check", "state").out
    assert "VERSION" not in known


def test_a_finding_with_gaps_is_shown_with_an_example(recorded: Path, cpuctl: Cpuctl) -> None:
    lines = cpuctl("fleet", "check", str(recorded), *CHECKED, "--check", "state").out.splitlines()
    place = next(at for at, line in enumerate(lines) if "CPU ... of the shared pool is offline" in line)
    example = "  for example, node1: cpu_manager_state: CPU 15 of the shared pool is offline: "
    assert lines[place + 1].startswith(example)
    one = cpuctl("fleet", "check", str(recorded / "node1.tar.xz"), *CHECKED, "--check", "state").out
    assert "for example" not in one


def test_the_fix_of_one_node_is_shown_if_nodes_need_different_ones(cpuctl: Cpuctl) -> None:
    nodes = ("fixtures/nodes/v2-2-numa", "fixtures/nodes/hybrid-8-numa")
    out = cpuctl("fleet", "check", *nodes, "--check", "audit").out
    assert "  fix, on v2-2-numa: chcpu --enable 15" in out.splitlines()


def test_a_finding_whose_plural_differs_is_shown_with_an_example() -> None:
    """The merged text is plural, unlike one of the complete ones."""

    def node(name: str, message: str) -> CheckedNode:
        found: NodeFinding = {
            "check": "state",
            "severity": "error",
            "code": "cpus-offline",
            "subject": "cpu_manager_state",
            "where": "",
            "expected": "",
            "detected": "",
            "message": message,
            "fix": "",
        }
        return {
            "node": name,
            "source": f"{name}.tar.xz",
            "answerKey": None,
            "outcome": "Read",
            "start": {"outcome": "Started"},
            "summary": {"error": 1, "warning": 0, "note": 0},
            "findings": [found],
            "unchecked": [],
            "assumed": {},
        }

    nodes = [node("node1", "CPUs 14-15 are offline"), node("node2", "CPU 15 is offline")]
    first = next(blocks(fleet_check_document(nodes, ["state"]), wide=False))
    assert isinstance(first, Lines)
    assert [each.text for each in first.lines] == [
        "error: cpus-offline: cpu_manager_state: CPUs ... are offline",
        "  for example, node1: cpu_manager_state: CPUs 14-15 are offline",
        "  2 nodes: node1, node2",
    ]
