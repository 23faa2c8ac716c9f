"""``cpuctl fleet``: the same answer in every form and with any number of processes, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuctl.cli.fleet.common import FleetSelection, ask_fleet
from cpuctl.cli.fleet.options import FleetOutput
from cpuctl.cli.output import Style
from cpuctl.cli.render.layouts.fleetlist import fact_value
from cpuctl.fleet.listing import NodeLister
from cpuctl.inputs.configuration import KubeletInputs
from tests.capture.node_texts import written
from tests.cli.conftest import ROOT, Cpuctl
from tests.machine.sysfs_writer import without_memory
from tests.support.schemas import follow_schema

MACHINES = ROOT / "fixtures/machines"
STATIC = ("--kubelet-config", "fixtures/kubelet/static.yaml")


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Create a fleet of three equal nodes, one different node, and a broken one."""
    for name in ("node1", "node2", "node3"):
        shutil.copy(MACHINES / "2s-2numa-32cpu.tar.xz", tmp_path / f"{name}.tar.xz")
    shutil.copy(MACHINES / "2s-8numa-64cpu.tar.xz", tmp_path / "node4.tar.xz")
    (tmp_path / "node5.tar").write_bytes(b"\x1f\x8bnothing")
    return tmp_path


def test_the_answer_is_the_same_in_every_form(fleet: Path, cpuctl: Cpuctl) -> None:
    words = ("fleet", "list", str(fleet), *STATIC, "-T", "web=4/4,1Gi")
    result = cpuctl(*words, "-o", "json")
    assert result.code == 4, result
    answer: Any = json.loads(result.out)
    follow_schema(answer, "fleetlist")
    assert [group["nodes"] for group in answer["groups"]] == [["node1", "node2", "node3"], ["node4"]]
    assert answer["summary"]["unreadable"] == 1
    assert yaml.safe_load(cpuctl(*words, "-o", "yaml").out) == answer
    lines = cpuctl(*words, "-o", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == answer["nodes"]


@pytest.mark.parametrize("form", ["table", "wide", "json", "jsonl", "prom"])
@pytest.mark.parametrize("verb", ["list", "check"])
def test_any_number_of_processes_gives_the_same_bytes(
    form: str, verb: str, fleet: Path, cpuctl: Cpuctl
) -> None:
    words = ("fleet", verb, str(fleet), *STATIC, "-o", form)
    assert cpuctl(*words, "--jobs", "1").out == cpuctl(*words, "--jobs", "3").out


def test_a_table_shows_groups_first_and_each_problem_once(fleet: Path, cpuctl: Cpuctl) -> None:
    result = cpuctl("fleet", "list", str(fleet), "--kubelet-args=--cpu-manager-policy=static")
    opening = result.out.splitlines()[0]
    assert opening == "5 nodes: 3 identical, 1 different, 4 would not start, 1 unreadable"
    assert result.out.count("unable to determine reserved CPU resources") == 1
    assert "node1, node2, node3 and 1 more: The kubelet would not start" in result.out
    assert "Group 2 (node4) differs from group 1 in:\n  CPUs: 64 (group 1: 32)" in result.out


def test_broken_recordings_set_the_exit_code_unless_ignored(fleet: Path, cpuctl: Cpuctl) -> None:
    assert cpuctl("fleet", "list", str(fleet)).code == 4
    assert cpuctl("fleet", "list", str(fleet), "--exit-zero").code == 0
    assert cpuctl("fleet", "list", f"{fleet}/*.xz").code == 0


def test_it_resumes_from_the_lines_of_an_earlier_run(fleet: Path, tmp_path: Path, cpuctl: Cpuctl) -> None:
    words = ("fleet", "list", f"{fleet}/*.xz", *STATIC, "-o", "jsonl")
    whole = cpuctl(*words).out
    (tmp_path / "earlier").write_text(
        whole.splitlines()[0].replace('"free": {', '"free": {"known": 1, ') + "\n"
    )
    again = cpuctl(*words, "--resume", str(tmp_path / "earlier"))
    assert again.out.replace('"known": 1, ', "") == whole
    # The first answer is reused for all recordings with equal content; only the other one is read.
    assert again.out.count('"known": 1') == 3
    other = cpuctl(*words, "--resume", str(tmp_path / "earlier"), "--kubelet-version", "1.35")
    assert '"known"' not in other.out


def test_a_missing_earlier_run_is_an_error(fleet: Path, cpuctl: Cpuctl) -> None:
    result = cpuctl("fleet", "list", str(fleet), "--resume", "/no/such/file")
    assert (result.code, result.err) == (
        4,
        "error: /no/such/file: cannot be read: no such file or directory\n",
    )


@pytest.mark.parametrize("words", [("list",), ("check",), ("report",), ("plan", "-T", "a=1/1")], ids=str)
def test_a_missing_path_alone_is_an_error_and_not_a_node(words: tuple[str, ...], cpuctl: Cpuctl) -> None:
    result = cpuctl("fleet", *words, "/no/such/recordings/")
    assert (result.code, result.out) == (4, "")
    assert result.err == "error: /no/such/recordings/: cannot be read: no such file or directory\n"


@pytest.mark.parametrize("verb", ["list", "check"])
def test_an_interrupt_keeps_finished_answers(verb: str, tmp_path: Path) -> None:
    sources = "".join(f"synthetic:2s8n16c2t,mem={number + 1}Gi\n" for number in range(3000))
    (tmp_path / "list").write_text(sources)
    words = ("fleet", verb, f"@{tmp_path}/list", "-o", "jsonl", "--jobs", "2", *STATIC)
    answers = tmp_path / "answers"
    with (
        answers.open("w") as stdout,
        subprocess.Popen(
            [sys.executable, "-m", "cpuctl", *words],
            cwd=ROOT,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        while not answers.stat().st_size and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    lines = answers.read_text().splitlines()
    assert process.returncode == 130
    assert 1 <= len(lines) < 3000
    assert all(json.loads(line)["outcome"] == "Read" for line in lines)
    assert f"note: interrupted, {len(lines)} node" in errors
    assert "Traceback" not in errors


def test_a_plan_is_the_same_in_every_form_and_with_any_number_of_processes(
    fleet: Path, cpuctl: Cpuctl
) -> None:
    words = ("fleet", "plan", f"{fleet}/*.xz", *STATIC, "-T", "web=4/4,1Gi x3", "-T", "odd=3/3,1Gi")
    result = cpuctl(*words, "-o", "json", "--jobs", "1")
    assert result.code == 3, result
    answer: Any = json.loads(result.out)
    follow_schema(answer, "fleetplan")
    assert answer["summary"]["admitted"] == 3
    assert cpuctl(*words, "-o", "json", "--jobs", "3").out == result.out
    assert yaml.safe_load(cpuctl(*words, "-o", "yaml").out) == answer
    assert [json.loads(line) for line in cpuctl(*words, "-o", "jsonl").out.splitlines()] == answer["pods"]


def test_a_plan_shows_rejected_pods_first_and_identical_ones_once(fleet: Path, cpuctl: Cpuctl) -> None:
    words = ("fleet", "plan", f"{fleet}/*.xz", *STATIC, "-T", "web=4/4,1Gi", "-T", "odd=3/3,1Gi x2")
    lines = cpuctl(*words).out.splitlines()
    assert lines[0] == (
        "default/odd-0, default/odd-1: rejected on node1: SMTAlignmentError: SMT Alignment Error: "
        "requested 3 cpus not multiple cpus per core = 2"
    )
    assert lines[1] == "  would be admitted on 0 of 4 nodes that pass the scheduler's filters"
    assert lines[-2] == "3 pods on 4 nodes: 1 admitted, 2 rejected"
    assert lines[-1].startswith("Next, to see why and what would help: cpuctl explain default/odd-0 -m ")


def test_pods_that_fit_elsewhere_are_not_mixed_with_pods_that_do_not(fleet: Path, cpuctl: Cpuctl) -> None:
    words = (
        "fleet",
        "plan",
        f"{fleet}/*.xz",
        *STATIC,
        "--kubelet-args",
        "--topology-manager-policy=restricted",
    )
    lines = cpuctl(*words, "-T", "odd=3/3,1Gi", "-T", "more=5/5,1Gi").out.splitlines()
    assert [line.partition(":")[0] for line in lines[:4:2]] == ["default/odd", "default/more"]


def test_the_pods_that_record_nodes_would_be_admitted(cpuctl: Cpuctl) -> None:
    manifest, machine = "contrib/fleet/capture.yaml", "fixtures/machines/2s-2numa-32cpu.tar.xz"
    linted = cpuctl("pods", "lint", "-f", manifest, "-m", machine, *STATIC)
    assert (linted.code, linted.out) == (0, "1 object (1 other object skipped): no findings\n")
    planned = cpuctl("fleet", "plan", machine, *STATIC, "-f", manifest)
    assert planned.out.startswith("DaemonSet cpuctl/cpuctl-capture, 1 node: 1 admitted\n")


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5"])
def test_copies_are_a_number_or_max(text: str, fleet: Path, cpuctl: Cpuctl) -> None:
    result = cpuctl("fleet", "plan", str(fleet), "-T", "a=1/1,1Gi", f"--repeat={text}")
    assert (result.code, "expected 1 to 999999999, or max" in result.err) == (2, True)


def test_written_lines_are_not_kept_in_memory(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Memory use does not grow with the number of nodes that have answered."""
    question, words = NodeLister(KubeletInputs()), FleetSelection([str(fleet)], jobs=1)
    requested = ask_fleet(words, question, Style(FleetOutput.JSONL, quiet=True))
    assert (requested.rows, requested.unreadable) == ([], True)
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert len(ask_fleet(words, question, Style(FleetOutput.JSON, quiet=True)).rows) == 5


def test_a_terminal_shows_rate_and_time_left(tmp_path: Path) -> None:
    lines = (f"synthetic:2s8n16c2t,mem={number + 1}Gi\n" for number in range(3000))
    (tmp_path / "list").write_text("".join(lines))
    words = ("-m", "cpuctl", "fleet", "list", f"@{tmp_path}/list", *STATIC, "-o", "json")
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    end, terminal = pty.openpty()
    seen = b""
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, *words], stdout=out, stderr=terminal, cwd=ROOT, env=environment
        )
        os.close(terminal)
        while not re.search(rb"reading nodes .* of 3,000, [0-9.,]+/s, [0-9:]+ left", seen):
            assert process.poll() is None, seen
            seen += os.read(end, 4096)
        process.send_signal(signal.SIGINT)
        while read := read_to_end(end):
            seen += read
        os.close(end)
        assert process.wait() == 130
    assert seen.endswith(b"answered\r\n"), seen


def read_to_end(end: int) -> bytes:
    try:
        return os.read(end, 4096)
    except OSError:  # a terminal ends like this once nothing writes to it
        return b""


def test_metrics_show_what_is_free(fleet: Path, cpuctl: Cpuctl) -> None:
    listed = cpuctl("fleet", "list", f"{fleet}/node[1-4].tar.xz", *STATIC, "-o", "prom").out.splitlines()
    assert 'cpuctl_fleet_node_start{node="node4",outcome="Started"} 1' in listed
    assert sum(line.startswith("cpuctl_fleet_node_free_exclusive_cpus{") for line in listed) == 4
    assert sum(line.startswith("cpuctl_fleet_group_nodes{") for line in listed) == 2


def test_without_dask_a_hint_says_how_to_install_it(
    fleet: Path, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = cpuctl("fleet", "list", str(fleet), "--dask-scheduler", "local")
    assert (result.code, result.out, result.err) == (
        2,
        "",
        (
            "error: --dask-scheduler: Dask is not installed\n"
            "hint: pip install '.[fleet]' in cpuctl's source directory\n"
        ),
    )


def test_jobs_cannot_be_set_for_a_remote_scheduler(fleet: Path, cpuctl: Cpuctl) -> None:
    result = cpuctl("fleet", "list", str(fleet), "--dask-scheduler", "tcp://far:8786", "--jobs", "3")
    assert (result.code, "error: --jobs: requires --dask-scheduler local" in result.err) == (2, True)


def test_a_fleet_is_written_as_svg_and_html(fleet: Path, tmp_path: Path, cpuctl: Cpuctl) -> None:
    words = ("fleet", "list", f"{fleet}/*.xz", *STATIC)
    svg, html = tmp_path / "fleet.svg", tmp_path / "fleet.html"
    both = cpuctl(*words, "--svg", str(svg), "--html", str(html))
    assert both.code == 0
    assert both.out == cpuctl(*words).out
    assert cpuctl(*words, "--svg", "-").out == svg.read_text()
    assert svg.read_text() in html.read_text()
    assert "4 nodes: 3 identical, 1 different" in html.read_text()
    again = cpuctl(*words, "--svg", str(svg))
    assert (again.code, "exists" in again.err) == (2, True)
    assert cpuctl(*words, "--svg", str(svg), "--force").code == 0
    lines = cpuctl(*words, "--svg", "-", "-o", "jsonl")
    assert (lines.code, lines.out) == (2, "")


def test_a_configuration_on_standard_input_is_used_for_every_node(fleet: Path, cpuctl: Cpuctl) -> None:
    """It can be read only once, but many nodes need it, in other processes."""
    given = (ROOT / STATIC[1]).read_bytes()
    words = ("fleet", "list", str(fleet), "-o", "json", "--jobs", "2", "--kubelet-config")
    piped, named = (json.loads(cpuctl(*words, each, stdin=given).out) for each in ("-", STATIC[1]))
    kubelets = [[node.get("kubelet") for node in answer["nodes"]] for answer in (piped, named)]
    assert kubelets[0] == kubelets[1]
    assert kubelets[0][0]["cpuManagerPolicy"] == "static"
    bad = cpuctl(*words, "-", stdin=b"kind: KubeletConfiguration\nnoSuchField: [")
    assert "yaml: line 2" in json.loads(bad.out)["nodes"][2]["start"]["error"]
    twice = cpuctl("fleet", "list", "-", "--kubelet-config", "-", stdin=given)
    assert (twice.code, "standard input (-) is used twice" in twice.err) == (2, True)


@pytest.mark.parametrize("verb", ["list", "check"])
def test_node_objects_provide_releases_missing_from_recordings(
    verb: str, fleet: Path, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    releases = {"node1": "v1.31.2", "node2": "v1.31.2", "node3": "v1.36.0"}
    objects = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"allocatable": {}, "nodeInfo": {"kubeletVersion": release}},
        }
        for name, release in releases.items()
    ]
    nodes = tmp_path / "nodes.json"
    nodes.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    option = "--cpu-manager-policy-options=prefer-align-cpus-by-uncorecache=true"
    options = f"--cpu-manager-policy=static --reserved-cpus=0 {option}"
    words = (
        "fleet",
        verb,
        str(fleet),
        f"--kubelet-args={options} --feature-gates=CPUManagerPolicyAlphaOptions=true",
    )
    answer: Any = json.loads(cpuctl(*words, "-o", "json", "--nodes", str(nodes)).out)
    if verb == "list":
        assert [node["kubelet"]["version"] for node in answer["nodes"][:3]] == ["1.31.2", "1.31.2", "1.36.0"]
        assert [group["nodes"] for group in answer["groups"][:1]] == [["node1", "node2"]]
    alone = {
        name: json.loads(cpuctl(*words, "-o", "json", "--kubelet-version", release).out)["nodes"][at]
        for at, (name, release) in enumerate(releases.items())
    }
    assert [node["start"] for node in answer["nodes"][:3]] == [each["start"] for each in alone.values()]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("list", "-f", "no.yaml"), "no.yaml: cannot be read: no such file or directory"),
        (("list", "-T", "web=x"), "-T 'web=x': not a pod template"),
        (("list", "--kubelet-version", "1.99"), "--kubelet-version: kubelet 1.99 is not supported"),
        (("check", "--kubelet-config", "no.yaml"), "no.yaml: cannot be read: no such file or directory"),
        (("diff", "{fleet}", "--kubelet-args", "@no.txt"), "no.txt: cannot be read"),
        (("plan", "-f", "no.yaml"), "no.yaml: cannot be read: no such file or directory"),
        (("plan",), "no pods to plan"),
        (("list", "--resume", "no.jsonl"), "no.jsonl: cannot be read"),
    ],
)
def test_input_that_no_node_could_use_is_an_error_before_any_is_read(
    words: tuple[str, ...], error: str, fleet: Path, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise every node would have the error, or none if pods are compared that could not be read."""

    def unexpected(*_: object) -> None:
        raise AssertionError("nodes are asked")

    monkeypatch.setattr("cpuctl.cli.fleet.common.ask", unexpected)
    verb, *rest = words
    result = cpuctl("fleet", verb, str(fleet), *(word.format(fleet=fleet) for word in rest))
    assert (result.code in (2, 4), result.out) == (True, "")
    assert error in result.err


def test_pods_of_standard_input_are_tried_on_every_group(cpuctl: Cpuctl) -> None:
    pod = b"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}"
    equivalent = (
        "synthetic:2s4n16c2t,mem=64Gi",
        "synthetic:2s4n16c2t,mem=64Gi,near",
        "synthetic:1s1n4c1t,mem=8Gi",
    )
    result = cpuctl("fleet", "list", *equivalent, "-f", "-", "-q", "-o", "json", stdin=pod)
    found = [each["placements"] for each in json.loads(result.out)["groups"] if "placements" in each]
    assert found == [{"differ": False, "pods": []}] * 2


def test_an_earlier_run_of_another_question_is_reported(fleet: Path, tmp_path: Path, cpuctl: Cpuctl) -> None:
    words = ("fleet", "list", f"{fleet}/*.xz", *STATIC, "-o", "jsonl")
    (tmp_path / "earlier").write_text(cpuctl(*words).out)
    resumed = ("--resume", str(tmp_path / "earlier"))
    assert "--resume" not in cpuctl(*words, *resumed).err
    other = cpuctl(*words, *resumed, "--kubelet-version", "1.35")
    assert (
        f"note: --resume: {tmp_path}/earlier has no answers to this question; all nodes were asked"
        in other.err.splitlines()
    )


@pytest.mark.parametrize("form", ["table", "nrt"])
def test_equal_errors_of_recordings_are_reported_once(form: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    for number in range(5):
        (tmp_path / f"node{number}.tar").write_bytes(b"")
    result = cpuctl("fleet", "list", str(tmp_path), "-o", form)
    (line,) = (each for each in (result.out + result.err).splitlines() if "ends too early" in each)
    why = "cannot be read as an archive: the archive ends too early"
    assert line == f"node0, node1, node2 and 2 more: {why}"


def test_a_node_fits_on_one_line_of_a_narrow_terminal(
    tmp_path: Path, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds for every problem of a node, if names are short."""
    written(without_memory("2s8n16c2t"), tmp_path / "node-0001")
    shutil.copy(MACHINES / "2s-8numa-64cpu.tar.xz", tmp_path / "node-0002.tar.xz")
    monkeypatch.setenv("COLUMNS", "80")
    options = "--cpu-manager-policy=static --topology-manager-policy=single-numa-node"
    reserved = "--kube-reserved=cpu=500m,memory=100Mi"
    lines = cpuctl("fleet", "list", str(tmp_path), f"--kubelet-args={options} {reserved}").out.splitlines()
    table = [line for line in lines if line.startswith(("NODE ", "node-0001 ", "node-0002 "))]
    at = lines.index(table[0])
    assert lines[at : at + 3] == table
    assert [line.split()[-1] for line in table] == ["STATUS", "undetermined", "ok"]


def test_a_long_value_without_spaces_is_truncated_and_not_left_out() -> None:
    hard = "imagefs.available=15%,imagefs.inodesFree=5%,memory.available=100Mi,nodefs.available=10%"
    assert fact_value("evictionHard", hard) == f"{hard[:56]} ..."
    assert fact_value("cores", " ".join(map(str, range(60)))).endswith(" 20 21 ...")
    assert (fact_value("CPUs", "8"), fact_value("CPUs", "")) == ("8", "none")
    assert fact_value("cpuManagerPolicy", "") == "not set", "not the policy none"
    assert fact_value("cpuManagerReconcilePeriod", "5000000000") == "5s"


def test_assumptions_about_kubelets_are_reported(fleet: Path, cpuctl: Cpuctl) -> None:
    """The actual release may be another one, and a node without its configuration may look different."""
    shutil.copy(ROOT / "fixtures/kubeadm/node7.tar.xz", fleet / "node6.tar.xz")
    release = "note: kubelet version: 1.36 is assumed (set it with --nodes FILE or --kubelet-version): "
    settings = (
        "note: kubelet configuration: the kubelet's defaults are assumed (set it with --kubelet-config "
        "FILE): "
    )
    all_ = f"{release}node1, node2, node3 and 2 more"
    some = f"{settings}node1, node2, node3 and 1 more"
    for words in (("list",), ("plan", "-T", "web=1/1"), ("diff", str(fleet))):
        reported = cpuctl("fleet", words[0], str(fleet), *words[1:]).err.splitlines()
        assert [line for line in reported if "assumed (set it with --" in line] == [all_, some], words
    assert all_ in cpuctl("fleet", "check", str(fleet)).err.splitlines()
    for verb in ("list", "check"):
        answer = cpuctl("fleet", verb, str(fleet), "-o", "json")
        assert "assumed (set it with --" not in answer.err
        first, *_, last = json.loads(answer.out)["nodes"]
        assert first["assumed"]["kubeletVersion"] == "1.36"
        assert (len(first["assumed"]), "kubeletConfiguration" in last["assumed"]) == (2, False)
    named = cpuctl("fleet", "list", str(fleet), *STATIC, "--kubelet-version", "1.36")
    assert "is assumed" not in named.err
    assert "are assumed" not in named.err


def test_a_plan_reports_nodes_without_pods(fleet: Path, cpuctl: Cpuctl) -> None:
    """The scheduler's message calls such nodes tainted."""
    arguments = "--kubelet-args=--cpu-manager-policy=static --reserved-cpus=40"
    result = cpuctl("fleet", "plan", str(fleet), arguments, "-T", "web=1/1", "--kubelet-version", "1.36")
    problems = [line for line in result.out.splitlines() if line.startswith("no pods planned on ")]
    why = "The kubelet would not start: reserved-cpus: 40 is not a subset of"
    assert problems == [
        f"no pods planned on node1, node2, node3: {why} online-cpus: 0-31",
        "no pods planned on node5: cannot be read as an archive: its gzip data is damaged",
    ]
    assert "\n1 pod on 5 nodes, 3 would not start, 1 unreadable: 1 admitted\nNext, to " in result.out


def test_nodes_of_which_no_two_are_equal_are_all_different(fleet: Path, cpuctl: Cpuctl) -> None:
    two = (str(fleet / "node1.tar.xz"), str(fleet / "node4.tar.xz"))
    assert cpuctl("fleet", "list", *two, *STATIC).out.splitlines()[0] == "2 nodes: all different"


def test_a_rejected_pod_is_explained_on_its_node(cpuctl: Cpuctl) -> None:
    """If its node rejects it without the other pods of the fleet, too; else what is free decides."""
    config = ("--kubelet-config", "fixtures/kubelet/single-numa-node.yaml")
    words = ("fleet", "plan", "fixtures/fleet/recordings", "-f", "fixtures/fleet/new.yaml", *config)
    for more in ((), ("--nodes", "fixtures/fleet/nodes.json", "--pods", "fixtures/fleet/pods.json")):
        lines = cpuctl(*words, *more, "-q").out.splitlines()
        what, command = lines[-2 if more else -1].split(": ", 1)
        assert what == "Next, to see why and what would help"
        assert command.startswith("cpuctl explain shop/search-0 -m fixtures/fleet/recordings/dense-1.tar.xz ")
        assert ("--kubelet-version" in command) == bool(more)
        explained = cpuctl(*shlex.split(command)[1:], "-q")
        assert (explained.code, "rejected with TopologyAffinityError" in explained.out) == (3, True)
    full = ("-T", "a=14/14,1Gi x2", "-T", "b=8/8,1Gi")
    machine = "fixtures/machines/2s-2numa-32cpu.tar.xz"
    last = cpuctl("fleet", "plan", machine, *config, *full, "-q").out.splitlines()[-1]
    assert last.startswith("Next, to see what each node offers to pods: cpuctl fleet list ")


def test_a_manifest_that_can_be_read_only_once_is_not_read_again(tmp_path: Path, cpuctl: Cpuctl) -> None:
    pipe = tmp_path / "pods.yaml"
    os.mkfifo(pipe)
    text = (ROOT / "fixtures" / "fleet" / "new.yaml").read_text()
    writer = threading.Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    config = ("--kubelet-config", "fixtures/kubelet/single-numa-node.yaml")
    answer = cpuctl("fleet", "plan", "fixtures/fleet/recordings", "-f", str(pipe), *config, "-q")
    assert (answer.code, "cpuctl explain" in answer.out) == (3, False)
