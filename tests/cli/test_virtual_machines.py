"""KubeVirt's virtual machines on the command line: the case of kubevirt pull request 10593, and more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.pods import load_pods
from cpuctl.inputs.sources import Sources
from cpuctl.records import replace
from tests.cli.conftest import ROOT, Cpuctl, Result

GUEST = "fixtures/virtual-machines/dpdk.yaml"
NODE = ("-m", "synthetic:1s1n20c2t", "--kubelet-version", "1.36", "--kubelet-args")
FLAGS = "--cpu-manager-policy=static --reserved-cpus=0,20 --cpu-manager-policy-options=full-pcpus-only=true"
PARITY = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
MESSAGE = "SMT Alignment Error: requested 9 cpus not multiple cpus per core = 2"


def written(tmp_path: Path, *objects: dict[str, Any]) -> str:
    path = tmp_path / "vms.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(path)


def machine(domain: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "vm"},
        "spec": {
            "runStrategy": "Always",
            "template": {"spec": {"domain": {"devices": {}, **domain}}},
            **spec,
        },
    }


def changes(answer: dict[str, Any]) -> list[tuple[str, str | None, str]]:
    fields = [
        each
        for found in answer["suggestions"]
        if found["kind"] == "request"
        for each in found["change"]["fields"]
    ]
    return [(each["field"], each["before"], each["after"]) for each in fields]


def test_eight_vcpus_and_an_emulator_thread_are_nine_cpus(cpuctl: Cpuctl) -> None:
    """Kubevirt pull request 10593: the error, and the fields of the machine that fix it."""
    planned = cpuctl("plan", *NODE, FLAGS, "-f", GUEST, "-o", "json")
    (pod,) = json.loads(planned.out)["pods"]
    assert (planned.code, pod["reason"], pod["message"]) == (3, "SMTAlignmentError", MESSAGE)
    explained = json.loads(cpuctl("explain", *NODE, FLAGS, "-f", GUEST, "-o", "json").out)
    assert changes(explained) == [
        (f"metadata.annotations[{PARITY}]", None, '""'),
        ("spec.domain.cpu.isolateEmulatorThread", "true", "false"),
        ("spec.domain.cpu.cores", "8", "7"),
        ("spec.domain.cpu.cores", "8", "9"),
    ]
    assert not explained["replacement"]["loops"]
    assert explained["sources"]["virtualMachines"]["value"].startswith(
        "launcher pods as created by KubeVirt 1.9"
    )


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("metadata", "annotations"), {PARITY: ""}),
        (("spec", "domain", "cpu", "isolateEmulatorThread"), False),
        (("spec", "domain", "cpu", "cores"), 7),
        (("spec", "domain", "cpu", "cores"), 9),
    ],
)
def test_each_proposed_change_fixes_the_rejection(
    cpuctl: Cpuctl, tmp_path: Path, path: tuple[str, ...], value: object
) -> None:
    domain: dict[str, Any] = {
        "devices": {},
        "cpu": {"cores": 8, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True},
        "memory": {"guest": "4Gi"},
    }
    guest = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "dpdk"},
        "spec": {"domain": domain},
    }
    inner: Any = guest
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    assert cpuctl("plan", *NODE, FLAGS, "-f", written(tmp_path, guest)).code == 0


def test_changes_name_the_field_where_cpus_are_set(cpuctl: Cpuctl, tmp_path: Path) -> None:
    pinned = {"dedicatedCpuPlacement": True}
    resources = {"requests": {"cpu": "3", "memory": "1Gi"}, "limits": {"cpu": "3", "memory": "1Gi"}}
    given = machine({"cpu": pinned, "resources": resources})
    answer = json.loads(cpuctl("explain", *NODE, FLAGS, "-f", written(tmp_path, given), "-o", "json").out)
    below = "spec.template.spec.domain.resources"
    assert changes(answer) == [
        (f"{below}.{side}.cpu", "3", after) for after in ("2", "4") for side in ("requests", "limits")
    ]
    assert answer["replacement"]["loops"]
    typed = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "odd"},
        "spec": {"cpu": {"guest": 3, "dedicatedCPUPlacement": True}, "memory": {"guest": "1Gi"}},
    }
    refers = machine({}, instancetype={"name": "odd"})
    answer = json.loads(
        cpuctl("explain", *NODE, FLAGS, "-f", written(tmp_path, refers, typed), "-o", "json").out
    )
    place = "spec.cpu.guest of VirtualMachineClusterInstancetype odd"
    assert changes(answer) == [(place, "3", "2"), (place, "3", "4")]


def test_less_memory_is_proposed_if_huge_pages_are_insufficient(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """The node has 40 pages: a guest of 64Gi does not fit, and 40Gi are proposed."""
    pages = {"memory": {"guest": "64Gi", "hugepages": {"pageSize": "1Gi"}}}
    guest = machine({"cpu": {"cores": 2, "dedicatedCpuPlacement": True}, **pages})
    node = ("-m", "synthetic:1s1n20c2t,mem=128Gi,hugepages-1Gi=40", *NODE[2:])
    result = cpuctl("explain", *node, FLAGS, "-f", written(tmp_path, guest), "-o", "json")
    answer = json.loads(result.out)
    assert answer["pod"]["reason"] == "OutOfhugepages-1Gi"
    assert changes(answer) == [("spec.template.spec.domain.memory.guest", "64Gi", "40Gi")]


SINGLE_NUMA = (
    *("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", "--kubelet-version", "1.35"),
    *("--kubelet-config", "fixtures/kubelet/single-numa-node.yaml"),
)


def sized(cores: int, memory: str) -> dict[str, Any]:
    cpu = {"cores": cores, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}
    return machine({"cpu": cpu, "memory": {"guest": memory}})


def test_fewer_cores_and_less_memory_are_proposed_together_if_neither_is_enough(
    cpuctl: Cpuctl, tmp_path: Path
) -> None:
    """No NUMA node has 4Gi for pods, and 8 cores and the emulator thread are an odd number of CPUs."""
    given = written(tmp_path, sized(8, "4Gi"))
    answer = json.loads(cpuctl("explain", *SINGLE_NUMA, "-f", given, "-o", "json").out)
    below = "spec.template.spec.domain"
    assert changes(answer) == [(f"{below}.cpu.cores", "8", "7"), (f"{below}.memory.guest", "4Gi", "3065Mi")]
    for cores, memory, code in ((7, "3065Mi", 0), (7, "3066Mi", 3), (8, "3065Mi", 3)):
        assert cpuctl("plan", *SINGLE_NUMA, "-f", written(tmp_path, sized(cores, memory))).code == code


def test_what_was_tried_in_vain_is_named(cpuctl: Cpuctl, tmp_path: Path) -> None:
    result = cpuctl("explain", *SINGLE_NUMA, "-f", written(tmp_path, sized(8, "100Gi")))
    assert "other requests: cpu alone, cpu and memory in proportion " in result.out


def test_devices_that_virt_handler_offers_need_no_description(cpuctl: Cpuctl) -> None:
    result = cpuctl("plan", *NODE, "--cpu-manager-policy=static --reserved-cpus=0,20", "-f", GUEST)
    assert result.code == 0, result
    assert "1,000 each of devices.kubevirt.io/kvm" in result.err


def test_amounts_are_marked_as_computed(cpuctl: Cpuctl) -> None:
    (pod,) = json.loads(cpuctl("pods", "show", "-f", GUEST, "-o", "json").out)["pods"]
    (memory,) = (
        each
        for each in pod["amounts"]
        if (each["container"], each["side"], each["resource"]) == ("compute", "requests", "memory")
    )
    assert (memory["quantity"], memory["how"]) == ("4520Mi", "derived")
    assert memory["rule"] == "computed by KubeVirt 1.9"
    assert "qualifies for 1 exclusive CPU with" not in cpuctl("pods", "show", "-f", GUEST).out


def test_guests_without_an_architecture_have_the_nodes() -> None:
    """The firmware of an arm64 guest needs 128Mi."""
    given = load_pods([str(ROOT / GUEST)], [], Sources())
    machine = load_machine("synthetic:1s1n4c1t", Sources()).machine
    amounts = [
        str(given.on(replace(machine, architecture=name)).pods[0].containers[0].resources.requests["memory"])
        for name in ("x86_64", "aarch64", None)
    ]
    assert amounts == ["4520Mi", "4648Mi", "4520Mi"]


def test_a_machine_without_its_instancetype_is_left_out_and_reported(cpuctl: Cpuctl, tmp_path: Path) -> None:
    refers = machine({}, instancetype={"name": "u1.medium"})
    alone = cpuctl("plan", *NODE, FLAGS, "-f", written(tmp_path, refers))
    assert alone.code == 4
    assert "its instancetype u1.medium is not among the manifests" in alone.err
    both = cpuctl("plan", *NODE, FLAGS, "-f", written(tmp_path, refers), "-f", GUEST, "-o", "json")
    assert "the pods of a VirtualMachine are skipped: its instancetype u1.medium" in both.err


def findings(result: Result) -> list[tuple[str, str]]:
    return [(each["code"], each["message"]) for each in json.loads(result.out)["findings"]]


def test_lint_reports_that_the_kubelet_rejects_the_launcher_pod(cpuctl: Cpuctl) -> None:
    where = "container compute of its launcher pod"
    linted = cpuctl("pods", "lint", *NODE, FLAGS, "-f", GUEST, "-o", "json")
    assert findings(linted) == [("smt-alignment", f"{where}: SMTAlignmentError: {MESSAGE}")]
    assert findings(cpuctl("pods", "lint", "-f", GUEST, "-o", "json")) == []


def test_lint_reports_what_kubevirt_rejects_and_what_is_unknown(cpuctl: Cpuctl, tmp_path: Path) -> None:
    refused = machine({"cpu": {"cores": 2, "isolateEmulatorThread": True}})
    unknown = machine({}, instancetype={"name": "u1.medium"})
    unreadable = machine({"cpu": {"cores": "two"}})
    result = cpuctl("pods", "lint", "-f", written(tmp_path, refused, unknown, unreadable), "-o", "json")
    codes, messages = zip(*findings(result), strict=True)
    assert codes == ("virtual-machine", "not-decided", "bad-virtual-machine")
    assert "isolateEmulatorThread: needs dedicatedCpuPlacement: true" in messages[0]
    assert "its instancetype u1.medium is not among the manifests" in messages[1]
    assert "spec.template.spec.domain.cpu.cores: expected a whole number" in messages[2]


def test_lint_applies_limit_ranges_to_launcher_pods(cpuctl: Cpuctl, tmp_path: Path) -> None:
    limit_range = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "small"},
        "spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]},
    }
    files = written(tmp_path, machine({"memory": {"guest": "2Gi"}}), limit_range)
    result = cpuctl("pods", "lint", "-f", files, "-o", "json")
    assert [code for code, _ in findings(result)] == ["limit-range"]


def test_virtual_machines_among_running_pods_are_ignored(cpuctl: Cpuctl, tmp_path: Path) -> None:
    running = written(tmp_path, machine({"memory": {"guest": "1Gi"}}))
    result = cpuctl("plan", *NODE, FLAGS, "--pods", running, "-T", "web=2/2", "-o", "json")
    assert [pod["name"] for pod in json.loads(result.out)["pods"]] == ["web"]
