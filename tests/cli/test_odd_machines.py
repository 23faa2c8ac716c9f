"""Odd machines: cpuctl reports what the kubelet makes of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl
from tests.cli.test_schemas import check
from tests.machine.sysfs_writer import small_machine

STATIC = "--cpu-manager-policy=static --reserved-cpus=0"
WITH_MEMORY = "--memory-manager-policy=Static --system-reserved=memory=1Gi --reserved-memory=0:memory=1Gi"


def recorded(directory: Path, files: Mapping[str, str]) -> str:
    """Write the files of a machine and return the directory."""
    return str(written(files, directory))


def without_sockets(description: str = "1s1n4c1t,mem=8Gi") -> dict[str, str]:
    """Describe a machine whose kernel reports neither NUMA nodes nor packages, as on many virtual ones."""
    files = {path: text for path, text in small_machine(description).items() if "system/node" not in path}
    files |= {path: "-1\n" for path in files if path.endswith("physical_package_id")}
    return files | {"proc/cpuinfo": "processor\t: 0\n"}


def answer(cpuctl: Cpuctl, *words: str) -> dict[str, Any]:
    result = cpuctl(*words, "-q", "-o", "json")
    assert result.out, result.err
    document: dict[str, Any] = json.loads(result.out)
    check(document)
    return document


@pytest.mark.parametrize("policy", ["best-effort", "restricted", "single-numa-node"])
@pytest.mark.parametrize("pod", ["web=2/2,1Gi", "web=100m/200m,1Gi"])
def test_unknown_package_ids_crash_a_kubelet_that_aligns(
    cpuctl: Cpuctl, tmp_path: Path, policy: str, pod: str
) -> None:
    """It uses package -1 as NUMA node -1, which fits in no mask of nodes, at the first pod of any kind."""
    kubelet = f"{STATIC} --topology-manager-policy={policy}"
    machine = recorded(tmp_path, without_sockets())
    document = answer(cpuctl, "plan", "-m", machine, "--kubelet-args", kubelet, "-T", pod)
    (found,) = document["pods"]
    assert found["outcome"] == "KubeletFault"
    assert found["fault"] == "crash"
    assert found["why"] == "a mask holds NUMA nodes 0 to 63, and this machine has -1"


def test_unknown_package_ids_do_not_matter_without_alignment(cpuctl: Cpuctl, tmp_path: Path) -> None:
    machine = recorded(tmp_path, without_sockets())
    document = answer(cpuctl, "plan", "-m", machine, "--kubelet-args", STATIC, "-T", "web=2/2,1Gi")
    assert document["pods"][0]["containers"][0]["cpus"] == "1-2"


@pytest.mark.parametrize(
    "command", ["plan --capacity", "plan --order largest-first", "explain web", "config check"]
)
def test_every_command_handles_unknown_package_ids(cpuctl: Cpuctl, tmp_path: Path, command: str) -> None:
    machine = recorded(tmp_path, without_sockets())
    pods = () if command.startswith("config") else ("-T", "web=2/2,1Gi", "-T", "two=1/1,1Gi")
    memory = WITH_MEMORY.replace("=0:", "=-1:")
    for flags in (STATIC, f"{STATIC} --topology-manager-policy=restricted", f"{STATIC} {memory}"):
        words = ("-m", machine, "--memory", "8Gi", "--kubelet-args", flags, *pods)
        result = cpuctl(*command.split(), *words, "-o", "wide")
        assert result.code in (0, 3), result
        assert "shift" not in result.out + result.err


def test_the_memory_manager_crashes_on_unknown_package_ids_without_a_topology_policy(
    cpuctl: Cpuctl, tmp_path: Path
) -> None:
    """The Memory Manager makes a mask of each candidate NUMA node, whatever the topology policy is."""
    kubelet = f"{STATIC} {WITH_MEMORY.replace('=0:', '=-1:')}"
    words = ("-m", recorded(tmp_path, without_sockets()), "--memory", "8Gi", "--kubelet-args", kubelet)
    document = answer(cpuctl, "plan", *words, "-T", "web=2/2,1Gi")
    (pod,) = document["pods"]
    assert (pod["outcome"], pod["fault"]) == ("KubeletFault", "crash")
    (table,) = document["after"]["memory"]
    assert (table["numaNode"], table["group"]) == (-1, "-1")


@pytest.mark.parametrize("release", ["1.27", "1.32", "1.36", "1.37"])
def test_state_files_with_an_unknown_package_id_are_read(
    cpuctl: Cpuctl, tmp_path: Path, release: str
) -> None:
    """A kubelet writes NUMA node -1 there and starts on it again; on other machines that node is missing."""
    version = ("--kubelet-version", release)
    here = ("-m", recorded(tmp_path / "machine", without_sockets()), "--memory", "8Gi", *version)
    reported = (*here, "--kubelet-args", f"{STATIC} {WITH_MEMORY.replace('=0:', '=-1:')}")
    state = tmp_path / "state"
    assert cpuctl("checkpoint", "new", *reported, "--write-state", str(state)).code == 0
    file = state / "memory_manager_state"
    assert '"machineState":{"-1":{' in file.read_text().replace("\\", "")
    assert answer(cpuctl, "checkpoint", "verify", str(state), *reported)["start"] == {"outcome": "Started"}
    elsewhere = ("-m", "synthetic:4c,mem=8Gi", *version, "--kubelet-args", f"{STATIC} {WITH_MEMORY}")
    start = answer(cpuctl, "checkpoint", "verify", str(state), *elsewhere)["start"]
    assert start["outcome"] == "Rejected"
    assert "the expected machine state is different from the real one" in start["error"]
    (node,) = answer(cpuctl, "checkpoint", "dump", str(state))["memory"]["numaNodes"]
    assert (node["numaNode"], node["group"]) == (-1, "-1")


@pytest.mark.parametrize(
    ("policy", "refused"),
    [(WITH_MEMORY, "the memory assignment uses the NUMA that does not exist"), ("", "")],
    ids=["Static", "None"],
)
def test_memory_on_nodes_with_negative_numbers(
    cpuctl: Cpuctl, tmp_path: Path, policy: str, refused: str
) -> None:
    """A kubelet decodes any number; without the static policy it does not check them."""
    blocks = {"p": {"c": [{"numaAffinity": [-1, 0], "type": "memory", "size": 1}]}}
    tables = {"-2": {"numberOfAssignments": 0, "memoryMap": {}, "cells": [-2]}}
    file = {
        "policyName": "Static" if policy else "None",
        "machineState": tables,
        "entries": blocks,
        "checksum": 0,
    }
    (tmp_path / "memory_manager_state").write_text(json.dumps(file))
    reported = ("--kubelet-version", "1.36", "--kubelet-args", f"{STATIC} {policy}")
    verdict = answer(cpuctl, "checkpoint", "verify", str(tmp_path), "-m", "synthetic:4c,mem=8Gi", *reported)
    assert refused in verdict["start"].get("error", "")
    assert verdict["start"]["outcome"] == ("Rejected" if refused else "Started")
    dumped = answer(cpuctl, "checkpoint", "dump", str(tmp_path))["memory"]
    assert dumped["holders"][0]["blocks"][0]["numaNodes"] == "-1,0"


def test_the_map_shows_nodes_without_cpus(cpuctl: Cpuctl) -> None:
    """High-bandwidth and CXL memory, and the nodes of graphics cards."""
    words = ("topology", "map", "-q", "-m", "synthetic:4c,nodes=0-3/4:/5:,mem=8Gi/16Gi/0")
    out = cpuctl(*words).out
    assert "NUMA node 4: no CPUs, 16Gi of memory" in out
    assert "NUMA node 5: no CPUs" in out
    svg = cpuctl(*words, "--svg", "-").out
    assert "NUMA node 4: no CPUs, 16Gi of memory" in svg


def test_columns_of_huge_pages_are_sorted_by_size(cpuctl: Cpuctl) -> None:
    sizes = (
        "hugepages-2Mi=1",
        "hugepages-16Gi=1",
        "hugepages-1Gi=1",
        "hugepages-64Ki=1",
        "hugepages-512Mi=1",
    )
    machine = f"synthetic:4c,mem=64Gi,{','.join(sizes)}"
    head = next(line for line in cpuctl("topology", "-q", "-m", machine).out.splitlines() if "HUGE" in line)
    assert head.split()[3:-1] == [
        "HUGE",
        "64Ki",
        "HUGE",
        "2Mi",
        "HUGE",
        "512Mi",
        "HUGE",
        "1Gi",
        "HUGE",
        "16Gi",
    ]
    amounts = answer(cpuctl, "topology", "-m", machine, "--numa-memory")["memory"]["amounts"]
    assert [line["resource"].removeprefix("hugepages-") for line in amounts] == [
        "memory", "64Ki", "2Mi", "512Mi", "1Gi", "16Gi",
    ]  # fmt: skip


def test_guessed_core_kinds_are_called_a_guess(cpuctl: Cpuctl, tmp_path: Path) -> None:
    khz = {cpu: "2808000" if cpu < 2 else "3900000" for cpu in range(4)}
    speeds = {f"sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq": text for cpu, text in khz.items()}
    machine = recorded(tmp_path, small_machine("1s1n4c1t,mem=8Gi") | speeds)
    document = answer(cpuctl, "topology", "-m", machine)
    assert document["summary"]["efficiencyCPUs"] == "0-1"
    assert document["summary"]["coreKindsGuessed"] is True
    assert (
        "Efficiency CPUs:   0-1, a guess based on maximum frequencies"
        in cpuctl("topology", "-q", "-m", machine).out
    )
    assert (
        "e: efficiency core, a guess based on maximum frequencies"
        in cpuctl("topology", "map", "-m", machine).out
    )
    kinds = [(cpu["type"], cpu["typeGuessed"]) for cpu in document["cpus"]]
    assert kinds == [*[("efficiency", True)] * 2, *[("performance", True)] * 2]
    listed = cpuctl("topology", "-m", machine, "--columns", "cpu,type").out
    assert ("efficiency (guess)" in listed, "performance (guess)" in listed) == (True, True)
    kept = cpuctl("config", "reserve", "-m", machine, "--reserved-cpus", "1", "--keep-p-cores")
    assert "that CPUs 2-3 are performance cores is a guess based on maximum frequencies" in kept.err


@pytest.mark.parametrize(
    "words",
    [
        "topology --svg -",
        "topology map --svg -",
        "plan -T a=2/2,1Gi --svg -",
        "plan -T a=2/2,1Gi --html -",
    ],
)
def test_pictures_call_guessed_core_kinds_a_guess(cpuctl: Cpuctl, tmp_path: Path, words: str) -> None:
    khz = {cpu: "2808000" if cpu < 2 else "3900000" for cpu in range(4)}
    speeds = {f"sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq": text for cpu, text in khz.items()}
    machine = recorded(tmp_path, small_machine("1s1n4c1t,mem=8Gi") | speeds)
    kubelet = ("--kubelet-args", STATIC) if words.startswith("plan") else ()
    picture = cpuctl(*words.split(), "-m", machine, *kubelet).out
    assert "a dot: efficiency core (a guess based on maximum frequencies): 0-1" in picture
    assert picture.count("; efficiency; a guess based on maximum frequencies</title>") == 2
    certain = cpuctl(*words.split(), "-m", "synthetic:4c,mem=8Gi,ecores=0-1,pcores=2-3", *kubelet).out
    assert "a dot: efficiency core: 0-1" in certain
    assert "guess" not in certain


GB200 = "synthetic:2s2n8c1t,nodes=0-7/8-15" + "".join(f"/{node}:" for node in range(2, 34)) + ",mem=4Gi"
MANY = "--topology-manager-policy-options=max-allowable-numa-nodes=34"


def test_a_pod_is_not_admitted_if_walking_the_sets_of_numa_nodes_takes_hours(cpuctl: Cpuctl) -> None:
    """Two NUMA nodes with CPUs and 32 of graphics cards: the Memory Manager walks 2^34 sets."""
    kubelet = f"{STATIC} {WITH_MEMORY} --topology-manager-policy=restricted {MANY}"
    words = ("-m", GB200, "--kubelet-args", kubelet)
    (pod,) = answer(cpuctl, "plan", *words, "-T", "vm=2/2,1Gi")["pods"]
    assert (pod["outcome"], pod["fault"]) == ("KubeletFault", "no answer")
    assert pod["why"] == (
        "would take longer than 5 hours: it "
        "tries 2^34 sets of NUMA nodes (17179869183) for the memory of a Guaranteed pod"
    )
    assert answer(cpuctl, "plan", *words, "-T", "web=100m/200m")["pods"][0]["outcome"] == "Admitted"
    checked = cpuctl("config", "check", *words)
    assert "the kubelet's Memory Manager would take longer than 5 hours" in checked.out
    assert checked.code == 3
    explained = cpuctl("explain", "vm", *words, "-T", "vm=2/2,1Gi")
    assert "kubernetes/kubernetes#135541" in explained.out


@pytest.mark.parametrize(("version", "outcome"), [("1.34", "KubeletFault"), ("1.36", "Admitted")])
def test_whether_sets_are_walked_for_devices_depends_on_the_release(
    cpuctl: Cpuctl, tmp_path: Path, version: str, outcome: str
) -> None:
    devices = tmp_path / "devices.yaml"
    devices.write_text("apiVersion: cpuctl/v1alpha1\nkind: Devices\nresources: {nvidia.com/gpu: {'0': 4}}\n")
    kubelet = f"{STATIC} --topology-manager-policy=restricted {MANY}"
    words = ("-m", GB200, "--kubelet-args", kubelet, "--kubelet-version", version, "--devices", str(devices))
    pod = tmp_path / "pod.json"
    limits = {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "1"}
    containers = [{"name": "main", "resources": {"limits": limits}}]
    pod.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "vm"},
                "spec": {"containers": containers},
            }
        )
    )
    (found,) = answer(cpuctl, "plan", *words, "-f", str(pod))["pods"]
    assert found["outcome"] == outcome


def test_a_check_reports_numa_nodes_that_fit_in_no_mask(cpuctl: Cpuctl, tmp_path: Path) -> None:
    machine = recorded(tmp_path, without_sockets())
    kubelet = f"{STATIC} --topology-manager-policy=restricted"
    checked = cpuctl("config", "check", "-m", machine, "--kubelet-args", kubelet)
    assert "the kubelet crashes at its first pod: a mask holds NUMA nodes 0 to 63" in checked.out
    assert "there is nothing to align" not in checked.out
    assert checked.code == 3


@pytest.mark.parametrize(("machine", "aligns"), [("2s2n4c,near,offline=4-7", True), ("1s1n8c", False)])
def test_a_numa_node_without_cpus_is_aligned_to(machine: str, aligns: bool, cpuctl: Cpuctl) -> None:
    """The Topology and Memory Managers count it, although the CPU Manager does not."""
    flags = f"{STATIC} --topology-manager-policy=single-numa-node"
    checked = cpuctl("config", "check", "-m", f"synthetic:{machine},mem=8Gi", "--kubelet-args", flags, "-q")
    assert ("there is nothing to align" in checked.out) is not aligns


def test_a_pod_is_not_admitted_if_merging_hints_takes_hours(cpuctl: Cpuctl) -> None:
    """The sets of 18 NUMA nodes take seconds to walk, but hints of CPUs and memory take hours to merge."""
    kubelet = (
        f"{STATIC} {WITH_MEMORY} --topology-manager-policy=restricted "
        "--topology-manager-policy-options=max-allowable-numa-nodes=18"
    )
    words = ("-m", "synthetic:2s18n18c1t,mem=4Gi", "--kubelet-args", kubelet)
    (pod,) = answer(cpuctl, "plan", *words, "-T", "vm=1/1,1Gi")["pods"]
    assert (pod["outcome"], pod["fault"]) == ("KubeletFault", "no answer")
    assert "would take longer than" in pod["why"]
    assert "it tries at least" in pod["why"]
    checked = cpuctl("config", "check", *words)
    assert "the kubelet's Topology Manager would take longer than 1 hour: it tries" in checked.out
    assert checked.code == 3
    explained = cpuctl("explain", "vm", *words, "-T", "vm=1/1,1Gi")
    assert "would take longer than" in explained.out


def test_the_kubelets_view_of_cpus_without_ids_is_unknown(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Old kernels list only siblings, and no core."""
    for cpu in (0, 1):
        topology = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "core_siblings_list").write_text("0-1\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8000000 kB\n")
    why = "the core and package of the CPUs are not recorded (cpu*/topology), but the kubelet needs both"
    shown = cpuctl("topology", "show", "-m", str(tmp_path)).out
    assert "Cores:             not recorded\n" in shown
    assert f"Kubelet view:      unknown: {why}\n" in shown
    assert "The kubelet's view differs" not in shown
    for words in (("config", "check"), ("explain", "-T", "a=1/1,1Mi")):
        requested = cpuctl(*words, "-m", str(tmp_path), columns=200)
        assert (requested.code, f"would start is unknown: {why}" in requested.out) == (3, True)
    planned = cpuctl("plan", "-m", str(tmp_path), "-T", "a=1/1,1Mi", columns=200)
    assert (planned.code, f"would start is unknown: {why}" in planned.out) == (3, True)
    upgraded = cpuctl(
        "config", "versions", "--from", "1.35", "--to", "1.36", "-m", str(tmp_path), columns=200
    )
    assert f"Whether either kubelet would start is unknown: {why}\n" in upgraded.out
    assert upgraded.out.splitlines()[-1].startswith("Next, to see what is known: cpuctl config check")
    warned = planned.err
    assert "warning: NUMA nodes are not recorded, nor are packages: the kubelet view has none\n" in warned
    assert "packages are used" not in warned


def test_an_audit_does_not_count_what_was_not_recorded(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """With a machine alone, none of the node's containers, threads and interrupts are known."""
    audit = ("audit", "-q", "-m", "fixtures/machines/2s-2numa-32cpu.tar.xz")
    shown = cpuctl(*audit).out
    assert "0 containers" not in shown
    seen, following = shown.splitlines()[-2:]
    assert seen == "no containers, threads or interrupts seen: no findings in what could be checked"
    assert following == "Next, on the node while its pods run: sudo cpuctl capture NODE.tar.gz"
    document = answer(cpuctl, *audit)
    assert [document["summary"][each] for each in ("containers", "threads", "interrupts")] == [None] * 3
    assert document["node"]["exclusive"] is None


@pytest.mark.parametrize("words", [("config", "check"), ("checkpoint", "verify", "state")])
def test_state_files_that_are_not_checked_are_mentioned(
    words: tuple[str, ...], cpuctl: Cpuctl, tmp_path: Path
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/cpu_manager_state").write_text("{}")
    machine = ("-m", "synthetic:1s1n4c1t", "--kubelet-version", "1.36", "--kubelet-args", "--no-such-flag")
    shown = cpuctl(*words, *machine, cwd=tmp_path)
    assert (shown.code, "unknown flag: --no-such-flag" in shown.out) == (3, True)
    assert re.search("State files: not checked|Not checked: state files", shown.out)
