from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.kubelet.config import DEFAULT_EVICTION_HARD, KubeletConfiguration
from cpuctl.kubelet.config_fields import FIELDS, OTHER_FIELDS
from cpuctl.kubelet.config_file import ConfigFile, read_kubelet_config

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "kubelet"


def read(text: str) -> ConfigFile:
    return read_kubelet_config(HEAD + text, "config.yaml")


def config(text: str) -> KubeletConfiguration:
    return read(text).config


def test_empty_configuration_has_the_defaults_of_a_file() -> None:
    assert config("") == KubeletConfiguration(eviction_hard=DEFAULT_EVICTION_HARD)


def test_every_field_is_read() -> None:
    read_fields = {field.attribute for field in FIELDS.values()}
    assert read_fields | {"root_dir"} == {field.name for field in fields(KubeletConfiguration)}
    assert not OTHER_FIELDS & FIELDS.keys()


def test_values_are_read() -> None:
    found = config("""
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true"}
cpuManagerReconcilePeriod: 1m30s
reservedSystemCPUs: 0-1
kubeReserved: {cpu: 500m}
reservedMemory:
  - {numaNode: 1, limits: {memory: 1Gi, hugepages-1Gi: 2147483648}}
  - limits: {memory: 1}
featureGates: {CPUManagerPolicyAlphaOptions: true}
memorySwap: {swapBehavior: LimitedSwap}
podPidsLimit: -7
memoryThrottlingFactor: 1
enforceNodeAllocatable: [pods, kube-reserved]
""")
    assert (found.cpu_manager_policy, found.reserved_system_cpus) == ("static", "0-1")
    assert found.cpu_manager_policy_options == {"full-pcpus-only": "true"}
    assert found.cpu_manager_reconcile_period == 90_000_000_000
    assert found.kube_reserved == {"cpu": "500m"}
    assert [item.numa_node for item in found.reserved_memory] == [1, 0]
    assert str(found.reserved_memory[0].limits["hugepages-1Gi"]) == "2147483648"
    assert found.feature_gates == {"CPUManagerPolicyAlphaOptions": True}
    assert (found.swap_behavior, found.pod_pids_limit) == ("LimitedSwap", -1)
    assert found.memory_throttling_factor == 1.0
    assert found.enforce_node_allocatable == ("pods", "kube-reserved")


@pytest.mark.parametrize(
    ("text", "attribute", "want"),
    [
        ("maxPods: 0", "max_pods", 110),
        ("cpuManagerPolicy: ''", "cpu_manager_policy", "none"),
        ("cpuManagerReconcilePeriod: 0s", "cpu_manager_reconcile_period", 10_000_000_000),
        (
            "containerRuntimeEndpoint: ''",
            "container_runtime_endpoint",
            "unix:///run/containerd/containerd.sock",
        ),
        ("cpuCFSQuota: false", "cpu_cfs_quota", False),
        ("cgroupsPerQOS: false", "cgroups_per_qos", False),
        ("oomScoreAdj: 0", "oom_score_adj", 0),
        ("podPidsLimit: 0", "pod_pids_limit", 0),
        ("enforceNodeAllocatable: []", "enforce_node_allocatable", ()),
        ("failCgroupV1: null", "fail_cgroup_v1", None),
        ("maxPods: null", "max_pods", 110),
    ],
)
def test_zero_means_the_default_except_where_it_stands(text: str, attribute: str, want: object) -> None:
    assert getattr(config(text), attribute) == want


def test_hard_eviction_thresholds_are_replaced_or_merged() -> None:
    assert config("evictionHard: {}").eviction_hard == {}
    assert config("evictionHard: null").eviction_hard == DEFAULT_EVICTION_HARD
    assert config("evictionHard: {memory.available: 1Gi}").eviction_hard == {"memory.available": "1Gi"}
    merged = config("evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true").eviction_hard
    assert merged == {**DEFAULT_EVICTION_HARD, "memory.available": "1Gi"}


def test_json_is_read_too() -> None:
    text = '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "maxPods": 50}'
    assert read_kubelet_config(text, "config.json").config.max_pods == 50


def test_what_the_kubelet_only_warns_of() -> None:
    found = read("maxPods: 1\nauthentication: {}\nbogus: 1\nmaxpods: 7\nmaxPods: 2\n---\nkind: Other\n")
    assert found.config.max_pods == 2
    assert found.warnings == (
        'config.yaml:7: key "maxPods" already set in map, the last one counts',
        'config.yaml:5: bogus: unknown field "bogus" is ignored',
        'config.yaml:6: maxpods: unknown field "maxpods" is ignored',
        "config.yaml:9: only the first document of the file counts",
    )


def test_document_tells_where_a_value_came_from() -> None:
    assert read("kubeReserved:\n  cpu: 500m").document.line_of(("kubeReserved", "cpu")) == 4


@dataclass(frozen=True)
class Refusal:
    """A configuration that cannot be used, and the whole message."""

    name: str
    text: str
    want: str


REFUSALS = [
    Refusal("empty", "", "c.yaml: empty: expected YAML or JSON"),
    Refusal("no kind", "a: 1", "c.yaml:1: kind is missing"),
    Refusal(
        "other kind",
        "kind: Pod",
        'c.yaml:1: kind: expected KubeletConfiguration, found the text "Pod"',
    ),
    Refusal("no version", "kind: KubeletConfiguration", "c.yaml:1: apiVersion is missing"),
    Refusal(
        "other version",
        "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration",
        "c.yaml:1: apiVersion: expected kubelet.config.k8s.io/v1beta1,"
        ' found the text "kubelet.config.k8s.io/v1"',
    ),
    Refusal("a list", "- 1", "c.yaml:1: expected a mapping, found a list"),
    Refusal(
        "bare number as CPU list",
        HEAD + "reservedSystemCPUs: 3",
        "c.yaml:3: reservedSystemCPUs: expected a string, found the number 3",
    ),
    Refusal(
        "bare number as amount",
        HEAD + "kubeReserved:\n  cpu: 1",
        "c.yaml:4: kubeReserved.cpu: expected a string, found the number 1",
    ),
    Refusal(
        "boolean as option",
        HEAD + "cpuManagerPolicyOptions: {full-pcpus-only: true}",
        "c.yaml:3: cpuManagerPolicyOptions.full-pcpus-only: expected a string, found true",
    ),
    Refusal(
        "text as gate",
        HEAD + "featureGates: {MemoryQoS: 'true'}",
        'c.yaml:3: featureGates.MemoryQoS: expected true or false, found the text "true"',
    ),
    Refusal(
        "bare number as duration",
        HEAD + "cpuManagerReconcilePeriod: 5",
        "c.yaml:3: cpuManagerReconcilePeriod: expected a string, found the number 5",
    ),
    Refusal(
        "bad duration",
        HEAD + "cpuManagerReconcilePeriod: 5x",
        'c.yaml:3: cpuManagerReconcilePeriod: time: unknown unit "x" in duration "5x"',
    ),
    Refusal(
        "too large",
        HEAD + "maxPods: 2147483648",
        "c.yaml:3: maxPods: expected a whole number of at most 2147483647, found the number 2147483648",
    ),
    Refusal(
        "bad quantity",
        HEAD + "reservedMemory: [{limits: {memory: [1]}}]",
        "c.yaml:3: reservedMemory[0].limits.memory: expected a quantity, found a list",
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.name)
def test_refusals_say_where_and_why(case: Refusal) -> None:
    with pytest.raises(InputError) as caught:
        read_kubelet_config(case.text, "c.yaml")
    assert str(caught.value) == case.want


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_configurations_are_clean(path: Path) -> None:
    assert read_kubelet_config(path.read_bytes(), path.name).warnings == ()
