"""Files of installers, distributions and clouds, converted to the configuration that the kubelet gets."""

from __future__ import annotations

import base64
import gzip
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest

from cpuctl.errors import InputError
from cpuctl.kubelet.configuration.main_file import read_main_file
from cpuctl.kubelet.flags.command_line import read_flags
from cpuctl.kubelet.foreign.found import value_text
from cpuctl.kubelet.foreign.reading import configuration_text, read_foreign
from cpuctl.kubelet.foreign.tools import KINDS

OWN = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
STATIC = f"{OWN}cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"


@dataclass(frozen=True)
class Case:
    """A file, its description, some resulting fields and flags, and what is reported as assumed."""

    what: str
    text: str
    fields: dict[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    assumed: str = ""

    def __str__(self) -> str:
        return self.what


CASES = [
    Case(
        "the kubelet's /configz",
        json.dumps(
            {
                "kubeletconfig": {
                    "cpuManagerPolicy": "static",
                    "reservedSystemCPUs": "0-1",
                    "maxPods": 250,
                    "logging": {"format": "text", "flushFrequency": 5000000000, "verbosity": 2},
                    "volumePluginDir": "/usr/libexec",
                    "tracing": None,
                }
            }
        ),
        {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1", "maxPods": 250},
    ),
    Case(
        "a kubeadm configuration",
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nnodeRegistration:\n"
        "  kubeletExtraArgs:\n  - {name: max-pods, value: '60'}\n---\n"
        f"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n---\n{STATIC}",
        {"cpuManagerPolicy": "static", "cgroupDriver": "systemd"},
        ("--max-pods=60",),
        "kubeadm adds cgroupDriver=systemd",
    ),
    Case(
        "a kubeadm configuration",
        "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration:\n"
        "  kubeletExtraArgs: {cpu-manager-policy: static, fail-swap-on: false}\n",
        {"cgroupDriver": "systemd"},
        ("--cpu-manager-policy=static", "--fail-swap-on=false"),
    ),
    Case(
        "a kind cluster",
        "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nfeatureGates: {MemoryQoS: true}\nnodes:\n"
        "- role: control-plane\n  kubeadmConfigPatches:\n  - |\n    kind: KubeletConfiguration\n"
        "    cpuManagerPolicy: static\n- role: worker\n",
        {
            "cpuManagerPolicy": "static",
            "cgroupRoot": "/kubelet",
            "imageGCHighThresholdPercent": 100,
            "featureGates": {"MemoryQoS": True},
        },
        assumed="first of several nodes",
    ),
    Case(
        "a k3s or RKE2 configuration",
        "node-label: [a=b]\nkubelet-arg:\n- cpu-manager-policy=static\n- --reserved-cpus=0\n",
        {"evictionHard": {"imagefs.available": "5%", "nodefs.available": "5%"}},
        ("--cpu-manager-policy=static", "--reserved-cpus=0"),
        "without memory.available",
    ),
    Case(
        "a k3s or RKE2 configuration",
        "kubelet-arg: max-pods=200\n",
        {},
        ("--max-pods=200",),
    ),
    Case(
        "a Talos machine configuration",
        "version: v1alpha1\nmachine:\n  type: worker\n  kubelet:\n    extraConfig:"
        " {cpuManagerPolicy: static}\n"
        "    extraArgs: {max-pods: 100}\n",
        {"cpuManagerPolicy": "static", "systemCgroups": "/system"},
        ("--max-pods=100",),
        "Talos also sets systemReserved",
    ),
    Case(
        "a kOps manifest",
        "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nspec:\n  kubelet:\n   "
        " cpuManagerPolicy: static\n"
        "    evictionHard: memory.available<200Mi,nodefs.available<5%\n    featureGates:"
        " {MemoryQoS: 'true'}\n"
        "    anonymousAuth: false\n",
        {
            "evictionHard": {"memory.available": "200Mi", "nodefs.available": "5%"},
            "featureGates": {"MemoryQoS": True},
        },
        assumed="anonymousAuth",
    ),
    Case(
        "a Gardener Shoot",
        "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nspec:\n  kubernetes:\n    kubelet:\n"
        "      cpuManagerPolicy: static\n"
        "  provider:\n    workers:\n    - kubernetes:\n        kubelet:\n          maxPods: 55\n"
        "          evictionHard: {memoryAvailable: 200Mi, nodeFSInodesFree: 5%}\n    - name: two\n",
        {
            "maxPods": 55,
            "kubeReserved": {"cpu": "80m", "memory": "1Gi", "pid": "20k"},
            "evictionHard": {"memory.available": "200Mi", "nodefs.inodesFree": "5%"},
        },
        assumed="first worker group",
    ),
    Case(
        "a PerformanceProfile",
        "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nspec:\n"
        "  cpu: {isolated: 2-15, reserved: 0-1}\n  numa: {topologyPolicy: single-numa-node}\n",
        {
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": "0-1",
            "topologyManagerPolicy": "single-numa-node",
            "memoryManagerPolicy": "Static",
            "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1100Mi"}}],
        },
        assumed='reservedMemory=[{"numaNode": 0, "limits": {"memory": "1100Mi"}}]',
    ),
    Case(
        "an OpenShift KubeletConfig",
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec:\n"
        "  autoSizingReserved: true\n  kubeletConfig: {cpuManagerPolicy: static}\n",
        {"cpuManagerPolicy": "static"},
        assumed="autoSizingReserved",
    ),
    Case(
        "an EKS NodeConfig",
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n"
        "    config: {cpuManagerPolicy: static, evictionHard: {memory.available: 300Mi}}\n"
        "    flags: ['--node-labels=a=b', --max-pods=30]\n",
        {
            "cpuManagerPolicy": "static",
            "cgroupDriver": "systemd",
            "evictionHard": {
                "memory.available": "300Mi",
                "nodefs.available": "10%",
                "nodefs.inodesFree": "5%",
            },
        },
        ("--node-labels=a=b", "--max-pods=30"),
        "nodeadm adds cgroupDriver=systemd, cgroupRoot=/",
    ),
    Case(
        "Bottlerocket's user data",
        '[settings.kubernetes]\ncpu-manager-policy = "static"\ncpu-manager-policy-options ='
        ' ["full-pcpus-only"]\n'
        'reserved-cpus = "0-1"\nmax-pods = 58\n[settings.kubernetes.kube-reserved]\ncpu = "10m"\n'
        '[settings.kubernetes.memory-manager-reserved-memory.0]\nenabled = true\nmemory = "1Gi"\n'
        '[settings.kubernetes.memory-manager-reserved-memory.1]\nmemory = "2Gi"\n',
        {
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": "0-1",
            "maxPods": 58,
            "kubeReserved": {"cpu": "10m"},
            "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
        },
    ),
    Case(
        "an EC2NodeClass of Karpenter",
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec:\n"
        "  kubelet: {maxPods: 20, kubeReserved: {cpu: 200m}}\n",
        {"maxPods": 20, "kubeReserved": {"cpu": "200m"}},
        assumed="the machine image also sets cgroupDriver",
    ),
    Case(
        "an AKS custom node configuration",
        '{"cpuManagerPolicy": "static", "cpuCfsQuotaPeriod": "200ms", "podMaxPids": 100,'
        ' "containerLogMaxSizeMB": 20}',
        {
            "cpuManagerPolicy": "static",
            "cpuCFSQuotaPeriod": "200ms",
            "podPidsLimit": 100,
            "containerLogMaxSize": "20M",
        },
        assumed="AKS also sets cgroupDriver",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_configuration_that_results_from_a_file(case: Case) -> None:
    found = read_foreign(case.text, "file")
    assert found is not None
    assert found.what == case.what
    assert {name: found.fields.get(name) for name in case.fields} == case.fields
    assert found.flags == case.flags
    assert case.assumed in " ".join(found.assumed)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_kubelet_reads_the_resulting_configuration(case: Case) -> None:
    found = read_foreign(case.text, "file")
    assert found is not None
    read = read_main_file(configuration_text(found), "file", 36)
    assert not [warning for warning in read.warnings if warning.code == "unknown-field"]
    read_flags(list(found.flags))


@pytest.mark.parametrize("compressed", [False, True])
def test_a_machine_config_holds_the_file_itself(compressed: bool) -> None:
    raw = gzip.compress(STATIC.encode()) if compressed else STATIC.encode()
    contents = {"source": f"data:text/plain;charset=utf-8;base64,{base64.b64encode(raw).decode()}"}
    if compressed:
        contents["compression"] = "gzip"
    files = [{"path": "/etc/other"}, {"path": "/etc/kubernetes/kubelet.conf", "contents": contents}]
    config = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "spec": {"config": {"storage": {"files": files}}},
    }
    found = read_foreign(json.dumps(config), "mc.json")
    assert found is not None
    assert configuration_text(found) == STATIC


def test_a_machine_config_without_a_kubelet_file_gets_a_hint() -> None:
    text = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nspec: {}\n"
    with pytest.raises(InputError, match="does not set the kubelet's") as caught:
        read_foreign(text, "mc.yaml")
    assert "rendered" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        STATIC,
        f"---\n{STATIC}",
        f"{STATIC}---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n",
        json.dumps({"kind": "KubeletConfiguration", "apiVersion": "x", "kubelet-arg": []}, indent=1),
        "kind: Pod\napiVersion: v1\n",
        "",
        "a: [",
        "\xff",
        "cpuManagerPolicy: static\nmaxPods: 5\n",
        inspect.cleandoc("- a\n- b"),
    ],
)
def test_a_file_of_no_other_tool_is_left_alone(text: str) -> None:
    assert read_foreign(text, "file") is None


def test_broken_toml_names_the_place() -> None:
    with pytest.raises(InputError, match="not TOML"):
        read_foreign("[settings.kubernetes]\ncpu-manager-policy = \n", "user-data")


_HEADS = [
    *(f"apiVersion: {group}/v1\nkind: {kind}\n" for group, kind in KINDS if kind != "MachineConfig"),
    "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n",
    "kubelet-arg: []\n",
    "machine: {kubelet: {image: x}}\n",
    '{"kubeletconfig": {}}',
    "[settings.kubernetes]\n",
    "podMaxPids: 77\n",
]
_MACHINE_CONFIG = json.dumps(
    {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "spec": {
            "config": {
                "storage": {
                    "files": [
                        {
                            "path": "/etc/kubernetes/kubelet.conf",
                            "contents": {"source": "data:," + quote(STATIC)},
                        }
                    ]
                }
            }
        },
    }
)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _leaves(member, f"{path}.{name}" if path else name)
    else:
        yield path, value


@pytest.mark.parametrize("text", [*_HEADS, _MACHINE_CONFIG, *(case.text for case in CASES)])
def test_every_value_that_is_not_in_the_file_is_named(text: str) -> None:
    found = read_foreign(text, "file")
    assert found is not None
    stated = " ".join(found.assumed)
    unnamed = [
        f"{path}={value_text(value)}"
        for path, value in _leaves(found.fields)
        if f"{path}={value_text(value)}" not in stated and not _written(value, text)
    ]
    assert unnamed == []


def _written(value: Any, text: str) -> bool:
    """Return whether a file contains a value: each of its words, as the tool or the kubelet writes it."""
    amounts = [member for _, member in _leaves(value)] if isinstance(value, dict) else [value]
    if isinstance(value, list):
        amounts = [member for item in value for _, member in _leaves(item)]
    shown = [str(each).lower() for each in amounts]
    return all(
        re.search(
            rf"(?<![\w/])({re.escape(each)}|{re.escape(each.removesuffix('m'))})(?![\w/])", text.lower()
        )
        for each in shown
    )


def test_what_every_reader_adds_is_tested() -> None:
    """From an almost empty file, the result is what the tool adds."""
    requested = {found.what for text in _HEADS if (found := read_foreign(text, "file"))}
    assert {case.what for case in CASES} <= requested


def test_values_in_the_file_are_not_reported_as_added() -> None:
    (case,) = (case for case in CASES if case.what == "an EKS NodeConfig")
    found = read_foreign(case.text, "file")
    assert found is not None
    assert "evictionHard.memory.available" not in " ".join(found.assumed)
    assert "evictionHard.nodefs.available=10%" in " ".join(found.assumed)


def test_disabled_memory_of_bottlerocket_reserves_nothing() -> None:
    text = (
        '[settings.kubernetes]\nmemory-manager-policy = "Static"\n'
        '[settings.kubernetes.memory-manager-reserved-memory.0]\nenabled = false\nmemory = "1Gi"\n'
    )
    found = read_foreign(text, "user-data")
    assert found is not None
    assert "memoryManagerPolicy" not in found.fields
    assert not found.fields.get("reservedMemory")
