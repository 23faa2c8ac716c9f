"""``config versions`` on a node: its state files, running pods, and new pods."""

from __future__ import annotations

import json
import re
import shlex
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.model import MemoryStateFile
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.operations.command_lines import pods_diff_command
from cpuctl.records import replace
from tests.cli.conftest import ROOT, Cpuctl, Result
from tests.cli.test_differences import HEAD, divided
from tests.support.manifests import exclusive_manifest
from tests.support.schemas import follow_schema
from tests.support.state_files import write_pods

MACHINE = ("-m", "synthetic:2s2n8c1t,mem=16Gi", "--kubelet-config", "k.yaml")
PLAIN = f"""{HEAD}cpuManagerPolicy: static
reservedSystemCPUs: '0'
topologyManagerPolicy: best-effort
memoryManagerPolicy: Static
kubeReserved: {{memory: 1Gi}}
evictionHard: {{memory.available: 0%}}
reservedMemory:
- {{numaNode: 0, limits: {{memory: 1Gi}}}}
"""
Ask = Callable[..., Result]


@pytest.fixture
def ask(tmp_path: Path, cpuctl: Cpuctl) -> Ask:
    """Return a function that runs a command on the node, in the directory of its files."""
    (tmp_path / "k.yaml").write_text(PLAIN)
    (tmp_path / "s").mkdir()
    return lambda *words: cpuctl(*words[:2], *MACHINE, *words[2:], cwd=tmp_path, columns=300)


def shown(result: Result, by: str) -> set[str]:
    document: dict[str, Any] = json.loads(result.out)
    follow_schema(document, "configversions")
    return {each["name"] for each in document["behaviours"] if each.get(by)}


VERSIONS = ("config", "versions", "--from", "1.31.4", "--to", "1.32.2")


def divide_differently(path: Path) -> None:
    """Move reserved memory from one node of a group to the other, as removed pods leave it."""
    state = read_memory_state(path.read_text())
    assert isinstance(state, MemoryStateFile)
    nodes = {}
    for (number, node), by in zip(state.machine_state.items(), (-(1 << 30), 1 << 30), strict=True):
        table = node.memory_map["memory"]
        table = replace(table, reserved=table.reserved + by, free=table.free - by)
        nodes[number] = replace(node, memory_map={**node.memory_map, "memory": table})
    path.write_text(write_memory_state(replace(state, machine_state=nodes)))


def test_state_files_show_what_a_release_rejects(ask: Ask, tmp_path: Path) -> None:
    """Kubernetes issue 113130: 1.31 refuses to start on what 1.32 accepts."""
    pods = ("-T", "wide=9/9,18Gi", "--kubelet-version", "1.31")
    assert ask("plan", "-q", *pods, "--write-state", "s").code == 0
    divide_differently(tmp_path / "s" / "memory_manager_state")
    result = ask(*VERSIONS, "--state", "s", "-o", "json")
    assert shown(result, "shownByState") == {"compares_memory_of_groups"}
    assert "pods" not in json.loads(result.out)
    reported = ask(*VERSIONS, "--state", "s", "-q").out
    assert "1.32, state files (affects these state files)" in reported
    assert "Kubelet 1.31.4 would not start" in reported
    assert "Kubelet 1.32.2 would start." in reported


def test_a_start_without_state_files_is_shown_by_the_configuration(ask: Ask, tmp_path: Path) -> None:
    """1.31 and 1.34 reject different gates; there are no state files that this could affect."""
    gates = "featureGates: {PodLevelResources: true, CPUManager: true}"
    text = f"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{gates}\n"
    (tmp_path / "gates.yaml").write_text(text)
    words = ("config", "versions", "--kubelet-config", "gates.yaml", "-T", "web=1/1,1Gi", "--from", "1.31")
    result = ask(*words, "--to", "1.34", "-o", "json")
    assert shown(result, "shownByState") == set()
    assert shown(result, "shownByConfiguration") == {"defaults_by_gates"}
    assert "1.32, configuration (affects this configuration)" in ask(*words, "--to", "1.34", "-q").out


def test_pods_show_what_a_release_rejects(ask: Ask) -> None:
    """Kubernetes issue 120733: with node 0 in use, a pod on both nodes is rejected from 1.32 on."""
    pods = ("-T", "first=2/2,4Gi", "-T", "wide=9/9,18Gi")
    result = ask(*VERSIONS, *pods, "-o", "json")
    assert shown(result, "shownByPods") == {"rejects_overlapping_memory_groups"}
    (changed,) = json.loads(result.out)["pods"]
    assert changed["before"].startswith("admitted: wide CPUs")
    assert "preferred hint violates NUMA node allocation" in changed["after"]


def test_a_difference_that_another_one_undoes_affects_no_pod(cpuctl: Cpuctl) -> None:
    """What 1.35 no longer reads from statuses, 1.32 only reads with a gate that is off there."""
    node = "fixtures/nodes/v2-2-numa"
    words = ("-m", f"{node}/node.tar.xz", "--pods", f"{node}/pods.json", "--state", "none")
    result = cpuctl("config", "versions", *words, "--from", "1.32", "--to", "1.35")
    assert "Admission, CPUs and memory of these pods are the same." in result.out
    assert "(affects these pods)" not in result.out


def test_a_state_file_in_the_way_is_verified_with_the_pods(cpuctl: Cpuctl, tmp_path: Path) -> None:
    kubelet = ("--kubelet-config", "fixtures/kubelet/static.yaml")
    node = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", *kubelet)
    state, pods = str(tmp_path / "s"), "fixtures/fragmented/pods.json"
    assert cpuctl("plan", *node, "-T", "a=4/4,64Mi", "--write-state", state).code == 0
    changed = (*node, "--kubelet-args", "--reserved-cpus=0-3", "--state", state, "--pods", pods)
    result = cpuctl("config", "versions", *changed, "--from", "1.32", "--to", "1.35")
    command = result.out.splitlines()[-1]
    assert command.startswith(f"Next, to see what to change: cpuctl checkpoint verify {state} ")
    assert command.endswith(f"--pods {pods}")
    (tmp_path / "s" / "actuated_pods_state").write_text("{")
    crashed = cpuctl("config", "versions", *node, "--state", state, "--from", "1.33", "--to", "1.34")
    assert f"\nNext, to see what to change: cpuctl checkpoint verify {state} " in crashed.out


def test_running_pods_are_all_rejected_while_nothing_is_cleaned_up(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Kubernetes issue 129078: CPUs of a pod that a restart rejects stay taken for the next ones."""
    sizes = (("a", 10), ("b", 10), ("c", 8))
    pods = write_pods(tmp_path / "pods.json", *(exclusive_manifest(*each, "64Mi") for each in sizes))
    node = (
        "-m",
        "fixtures/machines/2s-2numa-32cpu.tar.xz",
        "--kubelet-config",
        "fixtures/kubelet/static.yaml",
    )
    assert cpuctl("plan", *node, "-f", str(pods), "--write-state", str(tmp_path / "s")).code == 0
    words = (*node, "--state", str(tmp_path / "s"), "--pods", str(pods))
    result = cpuctl("config", "versions", *words, "--from", "1.32", "--to", "1.35", "-o", "json")
    assert [each["pod"] for each in json.loads(result.out)["rejectedByBoth"]] == [
        "default/a",
        "default/b",
        "default/c",
    ]
    for name in "abc":
        explained = json.loads(cpuctl("explain", name, *words, "-o", "json").out)
        assert explained["pod"]["outcome"] == "Rejected"
    verified = cpuctl(
        "checkpoint", "verify", *words[-3:-2], *node, *words[-2:], "--kubelet-version", "1.35", "-o", "json"
    )
    found = [each for each in json.loads(verified.out)["findings"] if each["code"] == "rejected-again"]
    assert [each["message"].partition(" is running")[0] for each in found] == [
        "default/a",
        "default/b",
        "default/c",
    ]


def test_a_feature_gate_that_is_the_cause_is_marked(cpuctl: Cpuctl) -> None:
    """From 1.33 on, the gate makes kubelets read statuses; gates that one release rejects are not tried."""
    node = "fixtures/nodes/v2-2-numa"
    words = ("-m", f"{node}/node.tar.xz", "--pods", f"{node}/pods.json", "--state", "none")
    result = cpuctl("config", "versions", *words, "--from", "1.31", "--to", "1.34")
    assert [line.split(")")[0] for line in result.out.splitlines() if "(affects" in line] == [
        "InPlacePodVerticalScaling (affects these pods"
    ]
    result = cpuctl("plan", *words, "-T", "a=3/3,10Mi", "--compare", "1.31", "1.34")
    assert (
        "Seen in these pods (since 1.33; feature gate): A: InPlacePodVerticalScaling is off; B:" in result.out
    )
    assert result.err.count("warning: A: ") == 2, result.err


def test_pods_are_admitted_if_the_other_kubelet_cannot_load_its_flags(cpuctl: Cpuctl) -> None:
    """Nodes of kubeadm have such a flag up to 1.34."""
    node = (
        "-m",
        "fixtures/machines/2s-2numa-32cpu.tar.xz",
        "--kubelet-config",
        "fixtures/kubelet/static.yaml",
    )
    flag = ("--kubelet-args", "--pod-infra-container-image=registry.k8s.io/pause:3.10")
    words = ("config", "versions", *node, *flag, "--from", "1.32", "--to", "1.35")
    result = cpuctl(*words, "-T", "a=4/4,1Gi")
    assert (
        "\n  default/a\n    1.32: admitted: a CPUs 2-5\n    1.35: the kubelet does not start\n" in result.out
    )
    failing = ("--kubelet-args", "--max-pods=-1 --pod-infra-container-image=x")
    result = cpuctl("config", "versions", *node, *failing, *words[-4:], "-T", "a=4/4,1Gi")
    assert "The pods were not compared: neither kubelet would start." in result.out


TELCO_NODE = (
    *("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz"),
    *("--kubelet-config", "fixtures/kubelet/static.yaml"),
)
NEW, RUNNING = ("-f", "fixtures/pods/database.yaml"), ("--pods", "fixtures/fragmented/pods.json")


def upgrade(cpuctl: Cpuctl, *words: str) -> Result:
    return cpuctl("config", "versions", *TELCO_NODE, "--from", "1.32", "--to", "1.35", *words)


@pytest.mark.parametrize("pods", [NEW, (*RUNNING, "--state", "fixtures/fragmented")], ids=["new", "running"])
def test_the_command_that_compares_the_rest_of_pods_works(pods: tuple[str, ...], cpuctl: Cpuctl) -> None:
    lines = upgrade(cpuctl, *pods).out.splitlines()
    line = next(line for line in lines if line.startswith("To compare their"))
    result = cpuctl(*shlex.split(line.partition(": ")[2])[1:])
    assert (result.code, "cpu.max" in result.out) == (0, True)


@pytest.mark.parametrize("more", [("-f", "fixtures/pods/report.yaml"), RUNNING, ("-T", "web=4/4,1Gi")])
def test_no_command_compares_the_pods_of_several_files_and_templates(
    more: tuple[str, ...], cpuctl: Cpuctl
) -> None:
    assert "podsDiff" not in json.loads(upgrade(cpuctl, *NEW, *more, "-o", "json").out)


def test_pods_in_a_must_gather_are_compared_by_no_command(tmp_path: Path) -> None:
    """``pods diff`` reads manifests."""
    gathered = tmp_path / "must-gather.tar.xz"
    gathered.touch()
    kubelet = KubeletInputs()
    assert pods_diff_command([str(gathered)], "", kubelet, "", "1.35", "1.36")
    assert not pods_diff_command([f"{gathered}#worker-1"], "", kubelet, "", "1.35", "1.36")


def test_running_pods_are_admitted_again(ask: Ask, tmp_path: Path) -> None:
    """Kubernetes issue 140989: up to 1.37, a restart moves pods with pod-level allocations to other CPUs."""
    for name, text in divided("requests: {cpu: '5', memory: 5Gi}, limits: {cpu: '5', memory: 5Gi}").items():
        (tmp_path / name).write_text(text)
    planned = ask("plan", "-q", "-f", "p.yaml", "--kubelet-version", "1.37", "--write-state", "s")
    assert planned.code == 0
    words = ("config", "versions", "--from", "1.37", "--to", "1.38", "--state", "s")
    result = ask(*words, "--pods", "p.yaml", "-o", "json")
    assert shown(result, "shownByPods") == {"restores_pod_level_cpus"}
    (changed,) = json.loads(result.out)["pods"]
    assert changed["pod"] == "default/p"
    assert "a CPUs 1-5" in changed["after"]
    assert "a CPUs 1-5" not in changed["before"]


def test_an_upgrade_takes_nothing_from_a_running_pod_with_pod_level_resources(
    ask: Ask, tmp_path: Path
) -> None:
    """Since 1.34, the managers pass over such a pod; what an older kubelet recorded stays its own."""
    pod = divided("requests: {cpu: '5', memory: 5Gi}, limits: {cpu: '5', memory: 5Gi}")["p.yaml"]
    (tmp_path / "p.yaml").write_text(pod)
    gate = ("--feature-gates", "PodLevelResources=true")
    ask("plan", "-q", "-f", "p.yaml", "--kubelet-version", "1.33", "--write-state", "s", *gate)
    node = ("--state", "s", "--pods", "p.yaml", *gate)
    compared = ask("config", "versions", "--from", "1.33", "--to", "1.35", *node)
    assert "Admission, CPUs and memory of these pods are the same." in compared.out
    explained = ask("explain", "default/p", *node, "--kubelet-version", "1.35", "-o", "json")
    held = {each["name"]: each.get("memory") for each in json.loads(explained.out)["pod"]["containers"]}
    assert held["a"]["cpusetMems"] == "0"


def test_a_pod_that_loses_its_exclusive_cpus_is_said_to_run_on_shared_ones(ask: Ask, tmp_path: Path) -> None:
    pod = divided("requests: {cpu: '5', memory: 5Gi}, limits: {cpu: '5', memory: 5Gi}")["p.yaml"]
    (tmp_path / "p.yaml").write_text(pod)
    words = ("config", "versions", "-f", "p.yaml", "-T", "web=100m/100m,1Gi")
    lost = ask(*words, "--from", "1.31", "--to", "1.34").out
    assert "    1.34: admitted, on the shared CPUs\n" in lost
    assert "web" not in lost, "it never had exclusive CPUs"
    won = ask(*words, "--from", "1.34", "--to", "1.31").out
    assert "    1.34: admitted, on the shared CPUs\n    1.31: admitted: a CPUs" in won


def test_without_pods_and_state_files_nothing_is_tried(ask: Ask) -> None:
    document = json.loads(ask(*VERSIONS, "-o", "json").out)
    assert not any("shownByState" in each for each in document["behaviours"])


def test_the_next_command_checks_the_state_files_that_were_not_compared(ask: Ask) -> None:
    command = "sudo cpuctl checkpoint verify --kubelet-version 1.37"
    words = ("config", "versions", "--from", "1.36", "--to", "1.37")
    result = ask(*words)
    assert result.out.splitlines()[-1] == f"Next, to check the state files on the node: {command}"
    assert "see:" not in result.out
    assert json.loads(ask(*words, "-o", "json").out)["next"] == command
    ask("plan", "-q", "-T", "a=2/2,1Gi", "--kubelet-version", "1.36", "--write-state", "s")
    assert "Next" not in ask(*words, "--state", "s").out


def test_releases_can_be_compared_on_an_empty_node(ask: Ask) -> None:
    """State files of another policy keep both kubelets from starting, so that no pods are compared."""
    ask("plan", "-q", "-T", "a=2/2,1Gi", "--kubelet-version", "1.36", "--write-state", "s")
    words = ("config", "versions", "--from", "1.35", "--to", "1.36", "-T", "b=2/2,1Gi", "--state", "none")
    compared = ask(*words)
    assert "Admission, CPUs and memory of these pods are the same." in compared.out
    assert "Not checked: state files" not in compared.out
    audited = ask("checkpoint", "verify", "none")
    assert (audited.code, audited.err.splitlines()[0]) == (
        2,
        "error: expected state files, found none: this command needs some",
    )


def test_new_pods_are_stored_by_the_api_server_of_each_release(cpuctl: Cpuctl) -> None:
    """Before 1.34, the API server drops spec.resources: the pods of the two releases differ."""
    pods = (*TELCO_NODE, "-f", "fixtures/pod-level/sharing.yaml", "-o", "json")
    found = cpuctl("config", "versions", "--from", "1.33", "--to", "1.34", *pods)
    changed = {each["pod"]: each["after"].split(":")[0] for each in json.loads(found.out)["pods"]}
    compared = json.loads(cpuctl("plan", "--compare", "1.33", "1.34", *pods).out)
    differing = {f"{each['namespace']}/{each['name']}" for each in compared["pods"] if each["changed"]}
    assert set(changed) == differing
    assert changed == {"default/burstable": "admitted", "default/pool": "rejected"}


@pytest.mark.parametrize("releases", [("1.33", "1.34"), ("1.34", "1.33")])
def test_both_comparisons_reject_what_the_api_server_of_a_release_rejects(
    cpuctl: Cpuctl, releases: tuple[str, str]
) -> None:
    """``spec.resources`` below the containers' requests: 1.33 drops it, 1.34 rejects the pod."""
    pods = (*TELCO_NODE, "-f", "fixtures/pod-level/never-stored.yaml", "-o", "json")
    one, other = releases
    document = json.loads(cpuctl("config", "versions", "--from", one, "--to", other, *pods).out)
    sums = next(each for each in document["pods"] if each["pod"] == "default/sums")
    compared = json.loads(cpuctl("plan", "--compare", one, other, *pods).out)
    beside = next(each for each in compared["pods"] if each["name"] == "sums")
    for release, text, side in zip(releases, (sums["before"], sums["after"]), ("a", "b"), strict=True):
        alone = json.loads(cpuctl("plan", "--kubelet-version", release, *pods).out)
        outcome = next(each["outcome"] for each in alone["pods"] if each["name"] == "sums")
        assert outcome == ("Admitted" if release == "1.33" else "Forbidden")
        assert beside[side]["outcome"] == outcome
        assert text.startswith("admitted" if release == "1.33" else "rejected by the API server")


def test_pods_that_neither_kubelet_admits_are_listed_with_the_reason(cpuctl: Cpuctl) -> None:
    words = ("config", "versions", *TELCO_NODE, "--from", "1.35", "-T", "fine=2/2,1Gi")
    odd = tuple(word for number in range(4) for word in ("-T", f"odd{number}=3/3,1Gi"))
    shown = cpuctl(*words, *odd).out
    why = (
        "rejected: SMTAlignmentError: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2\n"
    )
    assert f"\nRejected by both kubelets: 4 pods:\n  default/odd0: {why}" in shown
    assert (shown.count(why), "\n  and 1 more (-o wide)\n" in shown) == (3, True)
    assert cpuctl(*words, *odd, "-o", "wide").out.count(why) == 4
    refused = json.loads(cpuctl(*words, *odd, "-o", "json").out)["rejectedByBoth"]
    assert [each["pod"] for each in refused] == [f"default/odd{number}" for number in range(4)]


def test_other_amounts_in_the_message_are_no_change(cpuctl: Cpuctl) -> None:
    """Another pod's requests differ between the releases: the rejected pod stays rejected for one reason."""
    words = (
        *("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz"),
        *("--kubelet-config", "fixtures/kubelet/single-numa-node.yaml"),
        *("-f", "fixtures/pod-level/whole.yaml", "-f", "fixtures/pod-level/init-above.yaml"),
        *("-T", "q=14/14,1Gi x2"),
    )
    shown = cpuctl("config", "versions", *words, "--from", "1.32", "--to", "1.35").out
    assert "Admission, CPUs and memory of these pods are the same." in shown
    message = "rejected: OutOfcpu: Node didn't have enough resource: cpu, requested: 14000, used:"
    listed = [line for line in shown.splitlines() if message in line]
    assert "\nRejected by both kubelets: 1 pod:\n  default/q-1\n" in shown
    assert [line.strip().partition(": ")[0] for line in listed] == ["1.32", "1.35"]
    assert "No pods differ" in cpuctl("plan", *words, "--compare", "1.32", "1.35").out


def test_devices_of_new_pods_can_be_described_or_assumed(cpuctl: Cpuctl) -> None:
    words = ("config", "versions", *TELCO_NODE, "--from", "1.35", "-f", "fixtures/telco/du.yaml")
    assert "undetermined: requests openshift.io/fronthaul" in cpuctl(*words).out
    assert "Admission, CPUs and memory of these pods are the same." in cpuctl(*words, "--assume-devices").out


def test_devices_may_come_from_standard_input(cpuctl: Cpuctl) -> None:
    words = ("config", "versions", *TELCO_NODE, "--from", "1.35", "-f", "fixtures/telco/du.yaml")
    devices = Path("fixtures/telco/devices.yaml").read_bytes()
    piped = cpuctl(*words, "--devices", "-", stdin=devices)
    assert (piped.code, piped.out) == (0, cpuctl(*words, "--devices", "fixtures/telco/devices.yaml").out)


def test_warnings_about_a_start_are_printed_once(cpuctl: Cpuctl) -> None:
    """A kubelet starts for each difference that is tried alone."""
    running = ("--pods", "fixtures/fragmented/pods.json")
    warned = cpuctl("config", "versions", *TELCO_NODE, "--from", "1.35", *running).err
    assert warned.count("there are no state files for the running pods") == 1


CLAIMED = (
    *("-m", "synthetic:2s2n8c2t", "--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0"),
    *("-f", "fixtures/dra/examples/numa-node.yaml"),
)


def test_claims_that_a_release_drops_are_a_difference(cpuctl: Cpuctl) -> None:
    """Before 1.34, DynamicResourceAllocation is off."""
    out = cpuctl("config", "versions", "--from", "1.34", "--to", "1.33", *CLAIMED).out
    assert "1.34: admitted: work CPUs 1-4,17-20; with resource claims eight\n" in out
    # The release of the command itself does not matter.
    given = cpuctl("plan", "--kubelet-version", "1.31", *CLAIMED, "--compare", "1.31", "1.36").out
    assert given == cpuctl("plan", *CLAIMED, "--compare", "1.31", "1.36").out
    assert "claim eight" in given


def test_without_state_files_all_commands_admit_running_pods_once(cpuctl: Cpuctl) -> None:
    """A kubelet that finds no files allocates again; the pods do not hold anything before."""
    node = (
        "-m",
        "fixtures/machines/2s-2numa-32cpu.tar.xz",
        "--kubelet-config",
        "fixtures/kubelet/static.yaml",
    )
    words = (*node, "--state", "none", "--pods", "fixtures/fragmented/pods.json")
    result = cpuctl("config", "versions", *words, "--from", "1.32", "--to", "1.35", "-o", "json")
    assert (json.loads(result.out)["pods"], json.loads(result.out)["rejectedByBoth"]) == ([], [])
    for name in ("shop/web", "shop/cache", "shop/database"):
        explained = json.loads(cpuctl("explain", name, *words, "-o", "json").out)
        assert explained["pod"]["outcome"] == "Admitted", name


def test_running_pods_that_are_rejected_without_state_files_are_named(cpuctl: Cpuctl, tmp_path: Path) -> None:
    pods = json.loads((ROOT / "fixtures/fragmented/pods.json").read_text())
    for pod, cpus in zip(pods["items"], ("10", "10", "8"), strict=True):
        resources = pod["spec"]["containers"][0]["resources"]
        for side in ("requests", "limits"):
            resources[side]["cpu"] = cpus
        pod["status"].pop("containerStatuses", None)
    (tmp_path / "pods.json").write_text(json.dumps(pods))
    kubelet = ("--kubelet-config", "fixtures/kubelet/single-numa-node.yaml")
    node = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", *kubelet)
    result = cpuctl("plan", *node, "--state", "none", "--pods", str(tmp_path / "pods.json"))
    assert (
        "; rejected: shop/database (TopologyAffinityError), see cpuctl explain POD with the same"
        in result.err
    )


@pytest.mark.parametrize(
    ("versions", "words", "code"),
    [
        (("1.35", "1.36"), (), 0),
        (("1.36", "1.36"), ("--kubelet-args=--cpu-manager-policy-options=full-pcpus-only=some",), 3),
        (("1.31.4", "1.32.2"), ("-T", "first=2/2,4Gi", "-T", "wide=9/9,18Gi"), 3),
        (("1.32.2", "1.31.4"), ("-T", "first=2/2,4Gi", "-T", "wide=9/9,18Gi"), 0),
        (("1.35", "1.36"), ("-T", "large=99/99,1Gi"), 0),
        (("1.34", "1.35"), ("--kubelet-args=--pod-infra-container-image=a",), 3),
        (("1.35", "1.34"), ("--kubelet-args=--pod-infra-container-image=a",), 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_upgrade_is_fine_if_the_kubelet_starts_and_keeps_the_pods(
    versions: tuple[str, str], words: tuple[str, ...], code: int, ask: Ask
) -> None:
    asked = ("config", "versions", "--from", versions[0], "--to", versions[1], *words, "-q")
    assert ask(*asked).code == code
    assert ask(*asked, "--exit-zero").code == 0


def test_an_upgrade_is_not_fine_if_that_is_unknown(cpuctl: Cpuctl) -> None:
    words = ("config", "versions", *TELCO_NODE, "--from", "1.35", "-f", "fixtures/telco/du.yaml", "-q")
    assert cpuctl(*words).code == 3
    assert cpuctl(*words, "--assume-devices").code == 0


@pytest.mark.parametrize("node", [TELCO_NODE, ("-m", "fixtures/nodes/v2-2-numa/node.tar.xz")])
def test_the_changes_shown_and_omitted_are_those_of_the_answer(node: tuple[str, ...], cpuctl: Cpuctl) -> None:
    words = ("config", "versions", *node, "--from", "1.31", "--to", "1.34")
    document = json.loads(cpuctl(*words, "-o", "json").out)
    parts = ("behaviours", "featureGates", "options", "fields", "flags", "rules")
    shown, omitted = sum(len(document[part]) for part in parts), document["omitted"]
    line = f"\n{shown} changes for this configuration; {omitted} other changes do not affect it"
    assert line in cpuctl(*words).out
    assert f"\n{shown + omitted} changes\n" in cpuctl(*words, "--all").out


@pytest.mark.parametrize("words", [("--kubelet-args", ""), ("--ignore-unknown-gates",)], ids=str)
def test_the_command_that_compares_pods_has_only_options_of_pods_diff(
    words: tuple[str, ...], cpuctl: Cpuctl
) -> None:
    """Without flags, a kubelet's arguments are empty, which other commands have to be told."""
    node = ("-m", "fixtures/nodes/v2-2-numa/node.tar.xz", "--state", "none", *words)
    pods = ("-f", "fixtures/nodes/v2-2-numa/pods.json", "--from", "1.35", "--to", "1.36")
    shown = cpuctl("config", "versions", "-q", *node, *pods, columns=400).out
    (command,) = re.findall(r"To compare their QoS classes and cgroups: cpuctl (.*)", shown)
    assert cpuctl(*shlex.split(command)).code == 0


def test_a_kubelet_that_rejects_cgroup_v1_would_not_start_after_an_upgrade(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """Since 1.31 a kubelet may do so, from 1.35 on by default."""
    with tarfile.open(ROOT / "fixtures/nodes/hybrid-8-numa/node.tar.xz") as archive:
        archive.extractall(tmp_path / "node", filter="data")
    file = tmp_path / "node/var/lib/kubelet/config.yaml"
    file.write_text(file.read_text().replace('"failCgroupV1": false', '"failCgroupV1": true'))
    words = ("config", "versions", "-m", str(tmp_path / "node"), "--kubelet-args", "", "--state", "none")
    answer = cpuctl(*words, "--from", "1.30", "--to", "1.35")
    assert answer.out.startswith("Kubelet 1.30 would start.\nKubelet 1.35 would not start: ")
    assert "cgroup version: 1 (capture)" in answer.err
