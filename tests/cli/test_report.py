"""``cpuctl report``: what other commands report about a node, on one page, and what is unknown."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cli.render.blocks import Lines
from cpuctl.cli.render.layouts.report import blocks
from cpuctl.exports.same_cause import findings_of_audit
from cpuctl.inputs import state_files
from cpuctl.machine.tree import DirectoryTree
from tests.audit.node_tree import clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import ROOT, Cpuctl, Result
from tests.support.state_files import write_states

NODE = str(ROOT / "fixtures/nodes/v2-2-numa/node.tar.xz")
PODS = ("--pods", str(ROOT / "fixtures/nodes/v2-2-numa/pods.json"))
V36 = ("--kubelet-version", "1.36")
BARE = ("-m", str(ROOT / "fixtures/machines/2s-2numa-32cpu.tar.xz"))
STATIC = ("--kubelet-config", str(ROOT / "fixtures/kubelet/static.yaml"))
MANIFESTS = ("-f", str(ROOT / "fixtures/pods"))


def answer(result: Result, code: int = 3) -> dict[str, Any]:
    assert result.code == code, result
    document: dict[str, Any] = json.loads(result.out)
    return document


def requested(cpuctl: Cpuctl, *words: str) -> dict[str, Any]:
    return answer(cpuctl(*words, "-q", "--exit-zero", "-o", "json"), 0)


def without(value: Any, names: set[str]) -> Any:
    if isinstance(value, list):
        return [without(each, names) for each in value]
    if isinstance(value, dict):
        return {name: without(each, names) for name, each in value.items() if name not in names}
    return value


def test_each_part_is_the_same_as_that_commands_answer(cpuctl: Cpuctl) -> None:
    report = answer(cpuctl("report", NODE, *PODS, *V36, "-q", "-o", "json"))
    given = ("-m", NODE, *V36)
    assert report["audit"] == requested(cpuctl, "audit", *given, *PODS)
    assert report["state"] == requested(cpuctl, "checkpoint", "verify", *given, *PODS)
    assert report["machine"]["cpus"] == json.loads(cpuctl("topology", NODE, "-q", "-o", "json").out)["cpus"]
    dump = json.loads(cpuctl("checkpoint", "dump", "-m", NODE, *PODS, "--map", "-q", "-o", "json").out)
    assert {**report["holders"], "sources": {}} == {**dump, "sources": {}}
    checked = requested(cpuctl, "config", "check", *given)
    mine = [each for each in report["configuration"]["findings"] if each["code"] != "state"]
    assert [each for each in checked["findings"] if each in mine] == mine


def test_the_summary_counts_the_findings_of_all_parts(cpuctl: Cpuctl) -> None:
    report = answer(cpuctl("report", NODE, *PODS, *V36, "-q", "-o", "json"))
    parts = [report[name]["findings"] for name in ("machine", "configuration", "state", "audit")]
    found = [
        each["severity"]
        for part in parts
        for each in part
        if each["code"] not in {"cpus-offline", "stale-entry"}
    ]
    assert {name: report["summary"][name] for name in ("error", "warning", "note")} == {
        name: found.count(name) for name in ("error", "warning", "note")
    }
    assert report["summary"]["start"] == report["state"]["start"]["outcome"] == "Rejected"
    assert report["summary"]["unknown"] == len(report["unknown"]) > 0


def test_findings_on_state_files_are_reported_once(cpuctl: Cpuctl) -> None:
    """Both audit and state file check find it; a missing owner that only the audit finds remains."""
    people = cpuctl("report", NODE, *PODS, *V36, "-q", columns=200).out
    assert people.count("CPU 15 ") == 1
    row = next(line for line in people.splitlines() if line.startswith("Audit"))
    assert row.endswith(": 3 errors, 3 warnings, 1 note; 2 more findings counted under State files")


def test_only_the_state_files_say_that_the_kubelet_does_not_start(cpuctl: Cpuctl) -> None:
    """The page's chapter on the configuration says what the kubelet makes of that alone."""
    page = re.sub("<[^>]*>", "\n", cpuctl("report", NODE, *PODS, *V36, "--html", "-", "-q").out)
    assert "Kubelet 1.36 accepts this configuration." in page
    assert "would start" not in page
    reason = "Kubelet 1.36 would not start: current set of available CPUs"
    assert page.count(reason) == 1
    report = answer(cpuctl("report", NODE, *PODS, *V36, "-q", "-o", "json"))
    codes = Counter(each["code"] for each in report["audit"]["findings"])
    assert (codes["cpus-offline"], codes["stale-entry"]) == (1, 1)
    report["state"]["findings"] = [
        {**each, "podUID": "another"} for each in report["state"]["findings"] if each["code"] == "owner-gone"
    ]
    left = Counter(each["code"] for each in findings_of_audit(report["audit"], report["state"]))
    assert left == codes
    assert findings_of_audit(report["audit"], None) == report["audit"]["findings"]


def test_pods_are_planned_on_the_current_node_and_rejections_explained(
    cpuctl: Cpuctl, tmp_path: Path
) -> None:
    """They are planned in addition to the pods that already hold CPUs."""
    machine = ("-m", "synthetic:2s2n8c2t", *V36, "--kubelet-args", "--cpu-manager-policy=static")
    reserved = (*machine[:-1], f"{machine[-1]} --reserved-cpus=0")
    state = ("--state", str(tmp_path / "state"))
    cpuctl("checkpoint", "new", *reserved, "-T", "db=20/20,1Gi", "--write-state", state[1])
    pods = ("-T", "web=4/4,1Gi", "-T", "late=16/16,1Gi")
    report = answer(cpuctl("report", *reserved, *state, *pods, "-q", "-o", "json"))
    plan = requested(cpuctl, "plan", *reserved, *state, *pods)
    assert report["plan"]["pods"] == plan["pods"]
    assert [pod["outcome"] for pod in plan["pods"]] == ["Admitted", "Rejected"]
    assert report["summary"]["notAdmitted"] == 1
    now, then = (part["holders"] for part in (report["holders"]["cpus"], report["planned"]))
    (web,) = plan["pods"][0]["containers"]
    assert {(each["podUID"], each["cpus"]) for each in now} < {
        (each["podUID"], each["cpus"]) for each in then
    }
    assert [each["cpus"] for each in then if each["pod"] == "web"] == [web["cpus"]]
    marked = {row["cpu"] for row in report["planned"]["cpus"] if row["marks"]}
    assert len(marked) == sum(each["count"] for each in then) == 24
    (explained,) = report["explanations"]
    alone = requested(cpuctl, "explain", "late", *reserved, *state, *pods)
    assert (explained["pod"], explained["decision"], explained["suggestions"]) == (
        alone["pod"],
        alone["decision"],
        alone["suggestions"],
    )


def test_rejections_beyond_the_explained_ones_are_named(cpuctl: Cpuctl) -> None:
    report = answer(cpuctl("report", *BARE, *STATIC, *V36, "-T", "big=64/64,1Gi x23", "-q", "-o", "json"))
    assert len(report["explanations"]) == 20
    assert report["unexplained"] == ["default/big-20", "default/big-21", "default/big-22"]
    assert report["summary"]["notAdmitted"] == 23


def test_what_is_missing_from_a_recording_is_unknown_rather_than_clean(cpuctl: Cpuctl) -> None:
    """With only a machine there is no kubelet, no state files, nothing that runs."""
    result = cpuctl("report", *BARE, "-q", "-o", "json")
    report = answer(result)
    missing = {(each["part"], each["what"]) for each in report["unknown"]}
    assert {part for part, _ in missing} == {"configuration", "state", "holders", "audit"}
    assert ("state", "the kubelet's state files are not in the recording") in missing
    assert report.keys().isdisjoint({"state", "holders", "plan", "timeline"})
    assert (report["summary"]["error"], report["summary"]["warning"]) == (0, 0)
    table = cpuctl("report", *BARE, "-q").out
    assert "No problems found in what could be checked; " in table
    assert "unknown: State files: the kubelet's state files are not in the recording" in table


def test_an_unusable_state_file_is_not_reported_as_missing(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Only half of it is there, as if it were truncated or still being written."""
    files = with_kubelet_files(clean_node()).files
    path = "var/lib/kubelet/cpu_manager_state"
    node = written({**files, path: files[path][:50]}, tmp_path / "node")
    report = requested(cpuctl, "report", str(node), *V36)
    (missing,) = (each["what"] for each in report["unknown"] if each["part"] == "holders")
    problem = "cannot be used (unexpected end of JSON input): the owners of CPUs are unknown"
    assert missing == f"{node}: {path} {problem}"


def test_a_described_machine_has_nothing_to_check(cpuctl: Cpuctl) -> None:
    report = answer(cpuctl("report", "synthetic:1s1n4c2t", "-q", "-o", "json"))
    described = "a described machine has no state files, cgroups or processes"
    assert {each["part"] for each in report["unknown"] if each["what"] == described} == {
        "state",
        "holders",
        "audit",
    }


def test_a_node_without_findings_or_unknowns_is_clean(cpuctl: Cpuctl, tmp_path: Path) -> None:
    node = str(written(with_kubelet_files(clean_node()).files, tmp_path / "node"))
    result = cpuctl("report", node, *V36, "-o", "json", "-q")
    report = json.loads(result.out)
    assert [each for each in report["audit"]["findings"] if each["severity"] != "note"] == []
    # A bare directory has neither flags nor names of pods.
    assert all("flags" in each["what"] or "names of pods" in each["what"] for each in report["unknown"])
    assert result.code == (3 if report["unknown"] or report["summary"]["warning"] else 0)


def test_a_timeline_is_replayed_as_part_of_the_report(cpuctl: Cpuctl) -> None:
    timeline = str(ROOT / "fixtures/timelines/scenario-2.yaml")
    report = answer(cpuctl("report", NODE, "--timeline", timeline, "-q", "-o", "json"))
    assert report["timeline"] == requested(cpuctl, "replay", timeline)
    assert report["summary"]["unmet"] == 0


def test_a_kubelet_that_cannot_load_its_configuration_plans_nothing(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("kind: KubeletConfiguration\napiVersion: v9\n")
    bad = ("--kubelet-config", str(tmp_path / "bad.yaml"))
    report = answer(cpuctl("report", NODE, *bad, "-T", "a=1/1,1Gi", "-q", "-o", "json"))
    assert report["summary"]["start"] == report["plan"]["start"]["outcome"] == "Rejected"
    assert report["summary"]["notAdmitted"] is None
    table = cpuctl("report", NODE, *bad, "-T", "a=1/1,1Gi", "-q").out
    assert table.startswith("node: the kubelet would not start")


def test_inputs_from_standard_input_are_read_once(cpuctl: Cpuctl) -> None:
    pods = Path(PODS[1]).read_bytes()
    named = answer(cpuctl("report", NODE, *PODS, *MANIFESTS, "-q", "-o", "json"))
    piped = answer(cpuctl("report", NODE, "--pods", "-", *MANIFESTS, "-q", "-o", "json", stdin=pods))
    for part in ("state", "holders", "audit", "plan"):
        assert piped[part]["sources"].keys() == named[part]["sources"].keys()
    # A command that reads standard input cannot be repeated: proposals have FILE in its place.
    varying = {"sources", "fix", "next"}
    assert without(piped, varying) == without(named, varying)
    config = Path(STATIC[1]).read_bytes()
    words = ("report", *BARE, "-T", "a=1/1,1Gi", "-q", "-o", "json")
    assert (
        answer(cpuctl(*words, "--kubelet-config", "-", stdin=config))["plan"]["pods"]
        == (answer(cpuctl(*words, *STATIC))["plan"]["pods"])
    )
    refused = cpuctl("report", NODE, "--state", "-")
    assert (refused.code, refused.out) == (2, "")
    assert "--state: cannot be standard input" in refused.err


def test_the_page_is_written_only_if_requested(cpuctl: Cpuctl, tmp_path: Path) -> None:
    reported = cpuctl("report", NODE, *V36, columns=200)
    assert "<html" not in reported.out
    assert reported.err.endswith("write the full report with --html FILE\n")
    page = tmp_path / "node.html"
    with_page = cpuctl("report", NODE, *V36, "--html", str(page), "-q", columns=200)
    assert (with_page.code, with_page.out) == (3, reported.out)
    assert page.read_text("ascii").startswith("<!DOCTYPE html>\n")
    again = cpuctl("report", NODE, *V36, "--html", str(page))
    assert (again.code, again.out) == (2, "")
    assert "already" in again.err
    assert cpuctl("report", NODE, *V36, "--html", str(page), "--force", "--exit-zero").code == 0
    instead = cpuctl("report", NODE, *V36, "--html", "-", "-q")
    assert instead.out == page.read_text("ascii")
    both = cpuctl("report", NODE, "--html", "-", "-o", "json")
    assert (both.code, both.out) == (2, "")


@pytest.mark.parametrize("columns", [80, 160])
def test_the_table_is_a_summary(columns: int, cpuctl: Cpuctl) -> None:
    out = cpuctl("report", NODE, *PODS, *V36, *MANIFESTS, "-q", columns=columns).out
    assert "State files" in out
    assert "whole" not in out
    lines = out.splitlines()
    assert lines[0] == "node: the kubelet would not start; 4 errors, 6 warnings; 1 item unknown"
    assert any(
        line.startswith("error: telco/gateway/forwarder: the container has exclusive CPUs 4-7")
        for line in lines
    )
    assert not any(line.startswith("note: ") for line in lines)
    wide = cpuctl("report", NODE, *PODS, *V36, *MANIFESTS, "-q", "-o", "wide", columns=columns).out
    assert "  fix, on the node: taskset -acp 0-1 231" in wide


def test_state_files_are_read_once_for_all_parts_of_a_report(
    tmp_path: Path, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a kubelet that writes them meanwhile would make the page contradict itself."""
    node = written(with_kubelet_files(clean_node()).files, tmp_path / "node")
    named: list[str] = []
    read = state_files.named_states

    def counted(name: str, place: state_files.StatePlace) -> Iterator[state_files.StateInput]:
        named.append(name)
        return read(name, place)

    monkeypatch.setattr(state_files, "named_states", counted)
    words = ("--state", str(node / "var/lib/kubelet"), "-T", "more=1/1,64Mi")
    report = answer(cpuctl("report", str(node), *V36, *words, "-q", "-o", "json"))
    assert {"state", "holders", "audit", "plan"} <= report.keys()
    assert named == [str(node / "var/lib/kubelet")]


def test_state_files_are_read_from_the_kubelets_root_directory(tmp_path: Path, cpuctl: Cpuctl) -> None:
    write_states(tmp_path)
    words = ("--kubelet-args", f"--root-dir={tmp_path}", *V36)
    report = json.loads(cpuctl("report", *words, "-q", "-o", "json").out)
    for part in ("state", "holders"):
        sources = [each["source"] for each in report[part]["files"]]
        assert str(tmp_path / "cpu_manager_state") in sources, part


@pytest.mark.parametrize("later", ["changed", "gone"])
def test_an_audit_of_newer_state_files_is_reported(
    later: str, tmp_path: Path, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = written(with_kubelet_files(clean_node()).files, tmp_path / "node")
    words = ("report", str(node), *V36, "-q", "-o", "json")
    reported = "the kubelet changed its state files during the report"
    assert reported not in json.dumps(answer(cpuctl(*words)))
    times, read = [0], DirectoryTree.read

    def rewritten(tree: DirectoryTree, path: str) -> str | None:
        text = read(tree, path)
        if path.endswith("/cpu_manager_state") and text is not None:
            times[0] += 1
            return text if times[0] == 1 else f"{text}\n" if later == "changed" else None
        return text

    monkeypatch.setattr(DirectoryTree, "read", rewritten)
    unknown = answer(cpuctl(*words))["unknown"]
    assert [each["part"] for each in unknown if each["what"].startswith(reported)] == ["audit"]


def test_pods_whose_admission_is_unknown_are_not_called_rejected(cpuctl: Cpuctl) -> None:
    node = (
        "-m",
        "fixtures/machines/2s-2numa-32cpu.tar.xz",
        "--kubelet-config",
        "fixtures/kubelet/static.yaml",
    )
    out = cpuctl("report", *node, "-f", "fixtures/telco/du.yaml").out
    assert out.startswith("2s-2numa-32cpu: No problems found in what could be checked; ")
    unknown = "whether telco/du would be admitted: requests openshift.io/fronthaul, "
    assert f"\nunknown: Pods: {unknown}" in out


def test_the_next_command_explains_a_rejected_pod(cpuctl: Cpuctl) -> None:
    out = cpuctl("report", "fixtures/kubeadm/node7.tar.xz", "-T", "a=40/40,1Gi").out
    explain = "cpuctl explain default/a -m fixtures/kubeadm/node7.tar.xz -T a=40/40,1Gi"
    assert f"\nNext, to see why and what would help: {explain}\n" in out
    of_fleet = cpuctl("fleet", "report", "fixtures/kubeadm", "-T", "a=40/40,1Gi").out
    plan = "cpuctl plan -m fixtures/kubeadm/node7.tar.xz -T a=40/40,1Gi"
    assert f"\nNext, to see why node7 does not admit all pods: {plan}\n" in of_fleet
    capture = "Next, on each node that is partly unknown or unreadable: sudo cpuctl capture NODE.tar.gz\n"
    assert of_fleet.endswith(capture)


def test_the_next_command_identifies_pods_of_the_same_name(cpuctl: Cpuctl) -> None:
    node = ("fixtures/kubeadm/node7.tar.xz", "-T", "a=1/1,1Mi", "-T", "a=40/40,1Gi")
    found = re.search(
        r"\nNext, to see why and what would help: cpuctl (explain .*)\n", cpuctl("report", *node).out
    )
    assert found
    assert "rejected with OutOfcpu" in cpuctl(*shlex.split(found[1])).out


def test_the_next_command_of_this_host_is_named_for_what_it_shows(cpuctl: Cpuctl) -> None:
    reported = cpuctl("report", "fixtures/kubeadm/node7.tar.xz", "-T", "a=40/40,1Gi", "-o", "json")
    document = json.loads(reported.out)
    document["next"] = "sudo cpuctl explain default/a --state /var/lib/kubelet -T a=40/40,1Gi"
    *_, last = blocks(document, wide=True)
    assert isinstance(last, Lines)
    assert last.lines[0].text == f"Next, to see why and what would help: {document['next']}"
