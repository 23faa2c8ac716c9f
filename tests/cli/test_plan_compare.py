"""``cpuctl plan --compare``: two settings side by side."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from cpuctl.answering.plan.comparison_answer import gate_answer
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.releases.changes import is_on
from tests.cli.conftest import Cpuctl, Result
from tests.cli.test_differences import CPUS_V1, machine_of_books
from tests.machine.support.archives import write_tree
from tests.support.schemas import follow_schema

STATIC = ("--kubelet-config", "fixtures/kubelet/static.yaml")
NODE = ("plan", "-q", "-m", "synthetic:2s4n32c2t,mem=64Gi", *STATIC)
PODS = ("-T", "a=10/10,1Gi x5", "-T", "b=18/18,1Gi x3", "-T", "c=500m/500m,1Gi x2")
DISTRIBUTE = "cpuManagerPolicyOptions.distribute-cpus-across-numa=true"

ANSWERS = {
    "policies": (*NODE, *PODS, "--compare", ".", "single-numa-node"),
    "policies, wide": (*NODE, *PODS, "--compare", ".", "single-numa-node", "-o", "wide"),
    "options": (*NODE, *PODS, "--compare", "restricted", f"restricted,{DISTRIBUTE}"),
    "nothing moves": (*NODE, *PODS, "--compare", "current", ""),
    "one does not start": (*NODE, "-T", "a=2/2,1Gi", "--compare", ".", "topologyManagerScope=pods"),
    "neither starts": (*NODE, "-T", "a=2/2,1Gi", "--compare", "maxPods=-1", "cpuManagerPolicy=Static"),
    "capacity": (*NODE, *PODS, "--compare", "restricted", "single-numa-node", "--capacity"),
    "copies": (*NODE, "-T", "a=6/6,1Gi", "--compare", "container", "single-numa-node", "--repeat", "max"),
    "no policy": (*NODE, "-T", "a=6/6,1Gi", "--compare", ".", "cpuManagerPolicy=none,full-pcpus-only"),
}


def compared(cpuctl: Cpuctl, *words: str) -> dict[str, Any]:
    result = cpuctl(*words, "-o", "json")
    assert result.out, result.err
    document: dict[str, Any] = json.loads(result.out)
    follow_schema(document, "plancomparison")
    return document


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name", ANSWERS)
def test_tables(name: str, width: int, cpuctl: Cpuctl, snapshot: SnapshotAssertion) -> None:
    result = cpuctl(*ANSWERS[name], columns=width)
    assert result.code in (0, 3)
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("name", [name for name in ANSWERS if "wide" not in name])
def test_json_and_yaml_are_the_same_answer_and_follow_the_schema(name: str, cpuctl: Cpuctl) -> None:
    document = compared(cpuctl, *ANSWERS[name])
    assert yaml.safe_load(cpuctl(*ANSWERS[name], "-o", "yaml").out) == document


def test_sides_are_the_same_as_plans_with_these_settings(cpuctl: Cpuctl) -> None:
    both = compared(cpuctl, *NODE, *PODS, "--compare", ".", "single-numa-node,kubeletVersion=1.37")
    for side, words in (
        ("a", ()),
        (
            "b",
            ("--kubelet-version", "1.37", "--kubelet-args", "--topology-manager-policy=single-numa-node"),
        ),
    ):
        alone = json.loads(cpuctl(*NODE, *PODS, *words, "-o", "json").out)
        assert both[side]["summary"] == alone["summary"]
        assert both[side]["kubelet"] == alone["kubelet"]
        assert [pod[side]["outcome"] for pod in both["pods"]] == [pod["outcome"] for pod in alone["pods"]]
        for pod, single in zip(both["pods"], alone["pods"], strict=True):
            if single["outcome"] == "Admitted":
                cpus = [container[side]["cpus"] for container in pod["containers"]]
                assert cpus == [container["cpus"] for container in single["containers"]]


def outcomes(document: dict[str, Any]) -> tuple[str, str]:
    return document["a"]["start"]["outcome"], document["b"]["start"]["outcome"]


def test_settings_win_over_files_drop_ins_and_flags(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "more.conf").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "topologyManagerPolicy: best-effort\n"
    )
    words = (*NODE, "-T", "a=2/2,1Gi", "--config-dir", str(tmp_path))
    flags = ("--kubelet-args", "--topology-manager-policy=restricted")
    by_drop_in = compared(cpuctl, *words, "--compare", ".", "restricted")
    assert by_drop_in["a"]["kubelet"]["topologyManagerPolicy"] == "best-effort"
    document = compared(cpuctl, *words, *flags, "--compare", ".", "single-numa-node")
    assert document["a"]["kubelet"]["topologyManagerPolicy"] == "restricted"
    assert document["b"]["kubelet"]["topologyManagerPolicy"] == "single-numa-node"


def test_setting_one_member_keeps_the_others(cpuctl: Cpuctl) -> None:
    document = compared(cpuctl, *NODE, "-T", "a=2/2,1Gi", "--compare", ".", "strict-cpu-reservation")
    before = document["a"]["kubelet"]["cpuManagerPolicyOptions"]
    assert document["b"]["kubelet"]["cpuManagerPolicyOptions"] == before | {"strict-cpu-reservation": "true"}
    assert before


def test_devices_move_too(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Without a policy the CPUs are on two nodes, and the device is near the first."""
    (tmp_path / "devices.yaml").write_text(
        "{apiVersion: cpuctl/v1alpha1, kind: Devices, resources: {x.io/gpu: {'0': 2, '1': 2}}}"
    )
    (tmp_path / "pod.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, resources: "
        "{limits: {cpu: 12, memory: 1Gi, x.io/gpu: 1}}}]}}"
    )
    pods = ("-T", "first=20/20,1Gi", "-f", str(tmp_path / "pod.yaml"), "--order", "largest-first")
    words = (*NODE, *pods, "--devices", str(tmp_path / "devices.yaml"))
    document = compared(cpuctl, *words, "--compare", ".", "single-numa-node")
    moves = {pod["name"]: [each["moves"] for each in pod["containers"]] for pod in document["pods"]}
    assert moves == {"first": [[]], "p": [["cpus", "devices"]]}
    table = cpuctl(*words, "--compare", ".", "single-numa-node").out
    assert "ALSO CHANGED" in table
    assert "devices" in table


def test_memory_moves_too(cpuctl: Cpuctl) -> None:
    """Without a policy memory comes from the first node that has enough, wherever the CPUs are."""
    flags = (
        "--cpu-manager-policy=static --reserved-cpus=0-1 --memory-manager-policy=Static "
        "--kube-reserved=memory=1Gi --reserved-memory=0:memory=1Gi"
    )
    words = ("plan", "-q", "-m", "synthetic:2s4n32c2t,mem=16Gi", "--kubelet-args", flags)
    sides = ("single-numa-node", "topologyManagerPolicy=none")
    document = compared(cpuctl, *words, "-T", "a=26/26,3Gi x2", "--compare", *sides)
    assert [pod["containers"][0]["moves"] for pod in document["pods"]] == [[], ["cpus", "memory"]]


def test_memory_that_is_reserved_on_neither_side_is_not_a_difference(cpuctl: Cpuctl) -> None:
    words = ("plan", "-q", "-m", "fixtures/machines/2s-2numa-32cpu.tar.xz")
    pinned = ("--kubelet-config", "fixtures/kubelet/single-numa-node.yaml")
    sides = ("--compare", ".", "memoryManagerPolicy=None")
    document = compared(cpuctl, *words, *pinned, "-T", "w=1/2,512Mi", "-T", "g=2/2,1Gi", *sides)
    moves = {pod["name"]: [each["moves"] for each in pod["containers"]] for pod in document["pods"]}
    assert moves == {"w": [[]], "g": [["memory"]]}
    alone = cpuctl(*words, *pinned, "-T", "w=1/2,512Mi", *sides)
    assert "No pods differ: 1 pod, the same on both sides" in alone.out


def test_a_configuration_that_cannot_be_loaded_is_an_answer(cpuctl: Cpuctl) -> None:
    gate = "featureGates.CPUManagerPolicyOptions=false"
    document = compared(cpuctl, *NODE, "-T", "a=2/2,1Gi", "--compare", ".", gate)
    assert outcomes(document) == ("Started", "Rejected")
    assert "CPUManagerPolicyOptions" in document["b"]["start"]["error"]
    assert [pod["b"] for pod in document["pods"]] == [None]


def test_both_sides_start_from_the_state_file(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "cpu_manager_state").write_text(
        '{"policyName":"static","defaultCpuSet":"0-1,4-127","entries":{"u":{"c":"2-3"}},"checksum":0}'
    )
    words = (*NODE, "-T", "a=2/2,1Gi", "--state", str(tmp_path), "--kubelet-version", "1.36")
    document = compared(cpuctl, *words, "--compare", "strict-cpu-reservation=false", "strict-cpu-reservation")
    assert outcomes(document) == ("Started", "Rejected")
    assert document["b"]["start"]["error"].startswith("some of strictly reserved cpus")
    assert document["pods"][0]["containers"][0]["a"]["cpus"] == "4,68"


def test_a_side_with_a_release_reads_state_files_as_that_release_does(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """This holds whether the plan's own release is known or not, and whatever it is."""
    kubelet = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0", "--state", str(tmp_path))
    node = ("plan", "-q", "-m", "synthetic:1s1n8c1t,mem=8Gi", *kubelet, "-T", "a=1/1,1Gi")
    (tmp_path / "dra_manager_state").write_text("{")
    assert outcomes(compared(cpuctl, *node, "--compare", "1.27", "1.30")) == ("Started", "Started")
    assert outcomes(compared(cpuctl, *node, "--compare", "1.27", "1.36")) == ("Started", "Rejected")
    (tmp_path / "dra_manager_state").unlink()
    # CPUs by container id: 1.37 no longer reads that.
    (tmp_path / "cpu_manager_state").write_text(CPUS_V1)
    for own in ((), ("--kubelet-version", "1.36"), ("--kubelet-version", "1.38")):
        document = compared(cpuctl, *node, *own, "--compare", "1.36", "1.37")
        assert outcomes(document) == ("Rejected", "Rejected")
        assert "failed to migrate checkpoint from v1" in document["a"]["start"]["error"]
        assert "cannot unmarshal string" in document["b"]["start"]["error"]


def test_differences_of_two_releases_are_shown_even_if_the_nodes_own_is_unknown(
    cpuctl: Cpuctl, tmp_path: Path
) -> None:
    write_tree({**machine_of_books(), "s/dra_manager_state": "{"}, tmp_path)
    node = (
        "plan",
        "-q",
        "-m",
        str(tmp_path / "m"),
        "--kubelet-args",
        "--cpu-manager-policy=static --reserved-cpus=0",
        "-T",
        "a=2/2,1Gi",
    )
    document = compared(cpuctl, *node, "--state", str(tmp_path / "s"), "--compare", "1.30", "1.33")
    assert [each["name"] for each in document["differences"]] == ["knows_books"]


@pytest.mark.parametrize(
    ("sides", "code"),
    [
        ((".", "single-numa-node"), 3),
        ((".", "restricted"), 0),
        (("topologyManagerScope=pods", "."), 3),
    ],
)
def test_the_answer_is_yes_if_both_sides_admit_every_pod(
    sides: tuple[str, str], code: int, cpuctl: Cpuctl
) -> None:
    words = (*NODE, "-T", "a=20/20,1Gi", "-T", "b=40/40,1Gi", "--compare", *sides)
    assert cpuctl(*words).code == code
    assert cpuctl(*words, "--exit-zero").code == 0


def reported(result: Result) -> list[str]:
    return result.err.splitlines()


def test_warnings_are_shown_once(cpuctl: Cpuctl) -> None:
    node = [word for word in NODE if word != "-q"]
    result = cpuctl(*node, "-T", "a=2/2", "--compare", "1.30,failCgroupV1=false", "1.30,failCgroupV1=true")
    warning = "warning: --compare: kubelet 1.30 does not know failCgroupV1, which was added in 1.31"
    assert reported(result).count(warning) == 1


REFUSALS = [
    (("--compare", "a", "b"), "error: --compare: expected NAME=VALUE or a policy, found 'a'"),
    (("--compare", ".", "maxPod=1"), "hint: did you mean maxPods?"),
    (("--compare", ".", ".", "--write-state", "x"), "error: --write-state: cannot be used with --compare"),
    (("--compare", ".", ".", "--svg", "-"), "error: --svg: cannot be used with --compare"),
    (("--compare", ".", ".", "--html", "-"), "error: --html: cannot be used with --compare"),
    (("--compare", ".", ".", "-o", "prom"), "error: -o prom: cannot be used with --compare"),
]


@pytest.mark.parametrize(("words", "line"), REFUSALS, ids=[words[-1] for words, _ in REFUSALS])
def test_invalid_command_lines_are_rejected(words: tuple[str, ...], line: str, cpuctl: Cpuctl) -> None:
    result = cpuctl(*NODE, "-T", "a=2/2,1Gi", *words)
    assert (result.code, result.out) == (2, "")
    assert any(each.startswith(line) for each in reported(result)), result.err


def test_control_characters_do_not_reach_the_terminal(cpuctl: Cpuctl) -> None:
    result = cpuctl(*NODE, "-T", "a=2/2,1Gi", "--compare", ".", "topologyManagerPolicy=\x1b[31mred")
    assert result.code == 3
    assert "\x1b" not in result.out + result.err


POD_LEVEL = (
    "plan", "-q", "-m", "synthetic:1s2n8c2t", "--kubelet-config", "fixtures/pod-level/kubelet.yaml",
    "-f", "fixtures/pod-level/sharing.yaml",
)  # fmt: skip


def moves(document: dict[str, Any]) -> dict[str, dict[str, list[str]]]:
    return {
        pod["name"]: {each["name"]: each["moves"] for each in pod["containers"]} for pod in document["pods"]
    }


def test_a_pods_pool_counts_as_a_placement(cpuctl: Cpuctl) -> None:
    """With the gate off the pool is gone, which must not be shown as "nothing moves"."""
    document = compared(cpuctl, *POD_LEVEL, "--compare", ".", "featureGates.PodLevelResourceManagers=false")
    assert moves(document)["pool"] == {"app": ["cpus", "memory"], "log": ["podPool", "memory"]}
    log = next(pod for pod in document["pods"] if pod["name"] == "pool")["containers"][1]
    assert (log["a"]["isolation"], log["b"]["isolation"], log["onlyA"]) == ("pod", "host", "2,10")
    out = cpuctl(*POD_LEVEL, "--compare", ".", "featureGates.PodLevelResourceManagers=false", columns=160).out
    (row,) = (line.split() for line in out.splitlines() if " pod: " in line)
    assert row[:4] == ["log", "pod:", "2,10", "shared"]


def test_a_pool_that_moves_alone_is_reported(cpuctl: Cpuctl) -> None:
    """The exclusive CPUs stay, but the pod's pool moves because another CPU is reserved."""
    document = compared(cpuctl, *POD_LEVEL, "--compare", "reservedSystemCPUs=0", "reservedSystemCPUs=2")
    assert "podPool" in moves(document)["pool"]["log"]


@pytest.mark.parametrize("pods", [("-T", "a=500m,1Gi"), ()])
def test_strict_reservation_moves_containers_that_share(pods: tuple[str, ...], cpuctl: Cpuctl) -> None:
    words = (*NODE, "-T", "b=2/2,1Gi", *pods, "--compare", ".", "strict-cpu-reservation")
    document = compared(cpuctl, *words)
    assert document["summary"]["changed"] == 0
    assert (document["summary"]["sharedPoolDiffers"], document["summary"]["sharing"]) == (
        True,
        len(pods) // 2,
    )
    out = cpuctl(*words, columns=160).out
    assert "No pods differ" not in out
    assert "Only the shared pool differs" in out


def test_configuration_files_are_compared(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """A file replaces ``--kubelet-config``, and settings after it override the file."""
    other = tmp_path / "b.yaml"
    text = Path(POD_LEVEL[5]).read_text()
    other.write_text(text.replace("topologyManagerScope: pod", "topologyManagerScope: container"))
    files = compared(cpuctl, *POD_LEVEL, "--compare", POD_LEVEL[5], str(other))
    words = compared(cpuctl, *POD_LEVEL, "--compare", ".", "container")
    assert files["pods"] == words["pods"]
    assert (files["a"]["settings"], files["b"]["settings"]) == (POD_LEVEL[5], str(other))
    again = compared(cpuctl, *POD_LEVEL, "--compare", ".", f"{other},pod")
    assert again["summary"]["changed"] == 0


def test_a_missing_configuration_file_is_reported(cpuctl: Cpuctl) -> None:
    result = cpuctl(*POD_LEVEL, "--compare", ".", "nowhere.yaml")
    assert result.code == 4
    assert "nowhere.yaml" in result.err


@pytest.mark.parametrize("sides", [("1.36", "1.37"), ("topologyManagerPolicy=restricted", ".")])
def test_a_side_that_does_not_start_has_its_command(sides: tuple[str, str], cpuctl: Cpuctl) -> None:
    """It shows what to change, with the settings of that side."""
    node = ("-m", "fixtures/nodes/v2-2-numa/node.tar.xz", "-T", "web=2/2,1Gi")
    document = compared(cpuctl, "plan", "-q", *node, "--compare", *sides)
    shown = cpuctl("plan", "-q", *node, "--compare", *sides).out
    for name in ("a", "b"):
        command = document[name]["next"]
        assert f"\nNext, to see what to change on side {name.upper()}: {command}\n" in shown
        assert command.startswith("cpuctl checkpoint verify ")
        checked = cpuctl(*shlex.split(command)[1:], "-q", "-o", "json")
        assert checked.code == 3
        assert json.loads(checked.out)["start"]["error"] == document[name]["start"]["error"]
    assert ("--kubelet-version 1.37" in document["b"]["next"]) == ("1.37" in sides)
    assert ("restricted" in document["a"]["next"]) == (sides[1] == ".")


def test_files_of_both_sides_need_no_other(cpuctl: Cpuctl) -> None:
    files = ("fixtures/kubelet/static.yaml", "fixtures/kubelet/distribute.yaml")
    words = ("plan", "-m", "fixtures/machines/2s-8numa-64cpu.tar.xz", "-T", "web=2/2,1Gi", "--compare")
    assert "--kubelet-config" not in cpuctl(*words, *files).err
    assert compared(cpuctl, *words, *files)["sources"]["kubeletConfiguration"]["from"] == "given"
    assert "(set --kubelet-config FILE)" in cpuctl(*words, ".", files[1]).err


def test_no_default_release_is_noted_if_both_sides_have_their_own(cpuctl: Cpuctl) -> None:
    words = ("plan", *NODE[2:], "-T", "a=2/2,1Gi", "--compare")
    assert "kubelet version" not in cpuctl(*words, "1.32", "1.35,restricted").err
    assert "note: kubelet version: 1.36 (default)" in cpuctl(*words, "1.32", ".").err
    document = json.loads(cpuctl(*words, "1.32", "1.35", "-o", "json").out)
    assert document["sources"]["kubeletVersion"] == {"value": "1.32, 1.35", "from": "given"}


@pytest.mark.parametrize("minors", [(36, 37), (37, 36)])
def test_a_gate_that_a_setting_for_all_switches_is_described(minors: tuple[int, int]) -> None:
    """No release in between has it on by default: AllBeta does, once it is beta."""
    one, other = (FeatureGates(minor, {"AllBeta": True}) for minor in minors)
    found = gate_answer("PodLevelResourceManagers", one, other)
    assert (found["since"], found["a"] == "PodLevelResourceManagers is on") == ("1.37", minors[0] == 37)


@pytest.mark.parametrize(
    ("gate", "minors", "since"),
    [("EventedPLEG", (27, 30), 30), ("NodeSwap", (27, 31), 28), ("ProcMountType", (27, 32), 31)],
)
def test_a_gate_differs_since_the_last_release_that_switched_it(
    gate: str, minors: tuple[int, int], since: int
) -> None:
    one, other = (FeatureGates(minor, {"AllBeta": True}) for minor in minors)
    assert is_on(one, gate) != is_on(other, gate)
    assert gate_answer(gate, one, other)["since"] == f"1.{since}"


def test_cpus_that_only_a_rejected_pod_has_are_named(cpuctl: Cpuctl) -> None:
    """They count as exclusive CPUs in the totals, as in a plan."""
    words = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", *STATIC, "-T", "b=15/16,1Gi")
    node = ("plan", "-q", *words, "-T", "q=14/14,1Gi x2")
    kept = next(line for line in cpuctl(*node).out.splitlines() if line.startswith("The rejected pod"))
    both = cpuctl(*node, "--compare", "1.34", "1.35").out
    assert both.count(kept) == 1
    assert f"\n{kept}\n" in both
    one = cpuctl(*node, "--compare", ".", "cpuManagerPolicy=none").out
    assert f"\nA: {kept}\n" in one
    document = compared(cpuctl, *node, "--compare", "1.34", "1.35")
    assert [held["cpus"] for held in document["b"]["heldByRejected"]] == ["2-15"]


def test_no_release_is_assumed_if_both_sides_name_one(cpuctl: Cpuctl) -> None:
    """The gate is gone in the release that is assumed otherwise."""
    words = ("plan", "-m", "synthetic:2s2n4c2t", "--kubelet-args", "--feature-gates=CPUManager=true")
    sides = (("1.31", "1.32"), ("1.32", "."))
    told = [cpuctl(*words, "-T", "web=1/1,1Gi", "--compare", *each).err for each in sides]
    assert ["is assumed" in each for each in told] == [False, True]
