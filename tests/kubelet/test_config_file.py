from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.kubelet.config import DEFAULT_EVICTION_HARD, KubeletConfiguration
from cpuctl.kubelet.config_file import API_VERSION, KIND, ConfigFile, read_kubelet_config
from cpuctl.kubelet.config_reading import ATTRIBUTES
from cpuctl.kubelet.config_refusal import ConfigRefusedError
from cpuctl.kubelet.config_schema import FIELD_TYPES

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "kubelet"


def read(text: str, minor: int = 36) -> ConfigFile:
    return read_kubelet_config(HEAD + text, "config.yaml", minor)


def config(text: str, minor: int = 36) -> KubeletConfiguration:
    return read(text, minor).config


def test_empty_configuration_has_the_defaults_of_a_file() -> None:
    """What no file says at all differs in two things: the thresholds, and what stands for the release's."""
    found = replace(config(""), others={})
    assert found == KubeletConfiguration(
        eviction_hard=DEFAULT_EVICTION_HARD, fail_cgroup_v1=True, memory_throttling_factor=0.9
    )


def test_every_field_is_read() -> None:
    beside = {"root_dir", "ignores_eviction_thresholds", "others"}
    assert {*ATTRIBUTES.values(), *beside} == {field.name for field in fields(KubeletConfiguration)}
    assert ATTRIBUTES.keys() <= FIELD_TYPES.keys()


def test_defaults_depend_on_the_release() -> None:
    assert "imagefs.inodesFree" not in config("", 29).eviction_hard
    assert config("", 34).fail_cgroup_v1 is False
    assert config("", 37).memory_throttling_factor is None


def test_fields_that_came_later_are_unknown() -> None:
    text = "evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true\n"
    found = read(text, 32)
    assert found.config.eviction_hard == {"memory.available": "1Gi"}
    assert [str(warning) for warning in found.warnings] == [
        (
            'config.yaml:4: mergeDefaultEvictionSettings: unknown field "mergeDefaultEvictionSettings" is'
            " ignored by kubelet 1.32, because it came with 1.33"
        )
    ]


def test_fields_of_no_manager_are_kept_as_they_are() -> None:
    others = config("eventBurst: 7\nclusterDNS: [10.0.0.10]\nhealthzPort: 0").others
    assert (others["eventBurst"], others["clusterDNS"], others["healthzPort"]) == (7, ["10.0.0.10"], 0)
    assert others["imageGCHighThresholdPercent"] == 85


def test_relative_path_of_static_pods_is_beside_the_file() -> None:
    text = HEAD + "staticPodPath: manifests"
    assert read_kubelet_config(text, "/etc/kubelet/c.yaml").config.static_pod_path == "/etc/kubelet/manifests"
    assert config("staticPodPath: /a/b").static_pod_path == "/a/b"


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
        ("failCgroupV1: null", "fail_cgroup_v1", True),
        ("cpuCFSQuotaPeriod: null", "cpu_cfs_quota_period", 100_000_000),
        ("podsPerCore: 0", "pods_per_core", 0),
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
    assert tuple(map(str, found.warnings)) == (
        'config.yaml:7: key "maxPods" already set in map, the last one counts',
        'config.yaml:5: bogus: unknown field "bogus" is ignored',
        'config.yaml:6: maxpods: unknown field "maxpods" is ignored: maxPods was probably meant',
        "config.yaml:9: only the first document of the file counts",
    )


def test_document_tells_where_a_value_came_from() -> None:
    assert read("kubeReserved:\n  cpu: 500m").document.line_of(("kubeReserved", "cpu")) == 4


@dataclass(frozen=True)
class Refusal:
    """A configuration that cannot be used, the whole message, and the kubelet's error where it is known."""

    name: str
    text: str
    want: str
    kubelet: str = ""


GO = "failed to decode: json: cannot unmarshal"
FIELD = "into Go struct field KubeletConfiguration"
REFUSALS = [
    Refusal("empty", "", "c.yaml: empty: expected YAML or JSON", 'kubelet config file "c.yaml" was empty'),
    Refusal(
        "comments only",
        "# nothing\n",
        "c.yaml: empty: expected YAML or JSON",
        "failed to decode: Object 'Kind' is missing in '# nothing\n'",
    ),
    Refusal(
        "no kind",
        "a: 1",
        "c.yaml:1: kind is missing: expected KubeletConfiguration",
        "failed to decode: Object 'Kind' is missing in 'a: 1'",
    ),
    Refusal(
        "other kind",
        "apiVersion: v1\nkind: Pod",
        'c.yaml:2: kind: expected KubeletConfiguration, found the text "Pod"',
        'failed to decode: no kind "Pod" is registered for version "v1" in scheme ...',
    ),
    Refusal(
        "no version",
        "kind: KubeletConfiguration",
        "c.yaml:1: apiVersion is missing: expected kubelet.config.k8s.io/v1beta1",
    ),
    Refusal(
        "other version",
        "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration",
        "c.yaml:1: apiVersion: expected kubelet.config.k8s.io/v1beta1,"
        ' found the text "kubelet.config.k8s.io/v1"',
        'failed to decode: no kind "KubeletConfiguration" is registered for version'
        ' "kubelet.config.k8s.io/v1" in scheme ...',
    ),
    Refusal(
        "kind of a wrong type", "kind: 5", "c.yaml:1: kind: expected KubeletConfiguration, found the number 5"
    ),
    Refusal("a list", "- 1", "c.yaml:1: expected a mapping, found a list"),
    Refusal(
        "bare number as CPU list",
        HEAD + "reservedSystemCPUs: 3",
        "c.yaml:3: reservedSystemCPUs: expected a string, found the number 3",
        f"{GO} number {FIELD}.reservedSystemCPUs of type string",
    ),
    Refusal(
        "bare number as amount",
        HEAD + "kubeReserved:\n  cpu: 1",
        "c.yaml:4: kubeReserved.cpu: expected a string, found the number 1",
        f"{GO} number {FIELD}.kubeReserved of type string",
    ),
    Refusal(
        "boolean as option",
        HEAD + "cpuManagerPolicyOptions: {full-pcpus-only: true}",
        "c.yaml:3: cpuManagerPolicyOptions.full-pcpus-only: expected a string, found true",
        f"{GO} bool {FIELD}.cpuManagerPolicyOptions of type string",
    ),
    Refusal(
        "text as gate",
        HEAD + "featureGates: {MemoryQoS: 'true'}",
        'c.yaml:3: featureGates.MemoryQoS: expected true or false, found the text "true"',
        f"{GO} string {FIELD}.featureGates of type bool",
    ),
    Refusal(
        "bare number as duration",
        HEAD + "cpuManagerReconcilePeriod: 5",
        "c.yaml:3: cpuManagerReconcilePeriod: expected a duration, found the number 5",
        f"{GO} number {FIELD}.cpuManagerReconcilePeriod of type string",
    ),
    Refusal(
        "bad duration",
        HEAD + "cpuManagerReconcilePeriod: 5x",
        'c.yaml:3: cpuManagerReconcilePeriod: time: unknown unit "x" in duration "5x"',
        'failed to decode: time: unknown unit "x" in duration "5x"',
    ),
    Refusal(
        "null as duration, which is no pointer",
        HEAD + "cpuManagerReconcilePeriod: null",
        "c.yaml:3: cpuManagerReconcilePeriod: expected a duration, found nothing (null)",
        'failed to decode: time: invalid duration ""',
    ),
    Refusal(
        "too large",
        HEAD + "maxPods: 2147483648",
        "c.yaml:3: maxPods: expected a whole number of at most 2147483647, found the number 2147483648",
        f"{GO} number 2147483648 {FIELD}.maxPods of type int32",
    ),
    Refusal(
        "bad quantity",
        HEAD + "reservedMemory: [{limits: {memory: [1]}}]",
        "c.yaml:3: reservedMemory[0].limits.memory: expected a quantity, found a list",
        "failed to decode: quantities must match the regular expression"
        " '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    Refusal(
        "text as NUMA node",
        HEAD + "reservedMemory: [{numaNode: one}]",
        'c.yaml:3: reservedMemory[0].numaNode: expected a whole number, found the text "one"',
        f"{GO} string into Go struct field MemoryReservation.reservedMemory.numaNode of type int32",
    ),
    Refusal(
        "text for a struct that no manager reads",
        HEAD + "authentication: none",
        'c.yaml:3: authentication: expected a mapping, found the text "none"',
        f"{GO} string {FIELD}.authentication of type v1beta1.KubeletAuthentication",
    ),
    Refusal(
        "a list for a text of a type of its own",
        HEAD + "configMapAndSecretChangeDetectionStrategy: [Watch]",
        "c.yaml:3: configMapAndSecretChangeDetectionStrategy: expected a string, found a list",
        f"{GO} array {FIELD}.configMapAndSecretChangeDetectionStrategy of type"
        " v1beta1.ResourceChangeDetectionStrategy",
    ),
    Refusal(
        "of two mistakes, the first by name",
        HEAD + "maxPods: x\nclusterDNS: {}",
        "c.yaml:4: clusterDNS: expected a list, found a mapping",
        f"{GO} object {FIELD}.clusterDNS of type []string",
    ),
    Refusal(
        "a bad duration hides other mistakes",
        HEAD + "clusterDNS: {}\nsyncFrequency: soon",
        'c.yaml:4: syncFrequency: time: invalid duration "soon"',
        'failed to decode: time: invalid duration "soon"',
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.name)
def test_refusals_say_where_and_why(case: Refusal) -> None:
    with pytest.raises(InputError) as caught:
        read_kubelet_config(case.text, "c.yaml")
    assert str(caught.value) == case.want
    refusal = caught.value.refusal if isinstance(caught.value, ConfigRefusedError) else None
    assert (refusal.error if refusal else "") == case.kubelet
    if refusal:
        assert refusal.stage == "configDecode"
        assert refusal.logged == (
            "failed to load kubelet config file, path: c.yaml, error: failed to load Kubelet config file"
            f" c.yaml, error {case.kubelet}"
        )


def test_the_first_mistake_of_json_is_the_first_in_the_text() -> None:
    text = f'{{"apiVersion": "{API_VERSION}", "kind": "{KIND}", "maxPods": "x", "clusterDNS": {{}}}}'
    with pytest.raises(ConfigRefusedError) as caught:
        read_kubelet_config(text, "c.json")
    assert caught.value.refusal.error == f"{GO} string {FIELD}.maxPods of type int32"


def test_a_refusal_keeps_the_kubelets_words_when_its_place_grows() -> None:
    with pytest.raises(ConfigRefusedError) as caught:
        read_kubelet_config("", "c.yaml")
    within = caught.value.within("node7.tar")
    assert str(within) == "node7.tar: c.yaml: empty: expected YAML or JSON"
    assert within.refusal == caught.value.refusal


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_configurations_are_clean(path: Path) -> None:
    assert read_kubelet_config(path.read_bytes(), path.name).warnings == ()
