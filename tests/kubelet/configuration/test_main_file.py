from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.kubelet.config import ATTRIBUTES, DEFAULT_EVICTION_HARD, KubeletConfiguration
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.schema import FIELD_TYPES
from cpuctl.kubelet.configuration.type_meta import API_VERSION, KIND
from cpuctl.records import replace
from tests.support.kubelet_config import ConfigFile, read_kubelet_config

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
FIXTURES = Path(__file__).parents[3] / "fixtures" / "kubelet"


def read(text: str, minor: int = 36) -> ConfigFile:
    return read_kubelet_config(HEAD + text, "config.yaml", minor)


def config(text: str, minor: int = 36) -> KubeletConfiguration:
    return read(text, minor).config


def test_empty_configuration_has_the_defaults_of_a_file() -> None:
    """Without a file two things differ: the thresholds, and values that stand for the release's defaults."""
    found = replace(config(""), others={})
    assert found == KubeletConfiguration(
        eviction_hard=DEFAULT_EVICTION_HARD, fail_cgroup_v1=True, memory_throttling_factor=0.9
    )


def test_every_field_is_read() -> None:
    alongside = {"root_dir", "ignores_eviction_thresholds", "others"}
    assert {*ATTRIBUTES.values(), *alongside} == {*KubeletConfiguration._fields}
    assert ATTRIBUTES.keys() <= FIELD_TYPES.keys()


def test_defaults_depend_on_the_release() -> None:
    assert "imagefs.inodesFree" not in config("", 29).eviction_hard
    assert config("", 34).fail_cgroup_v1 is False
    assert config("", 37).memory_throttling_factor is None


def test_fields_of_later_releases_are_unknown() -> None:
    text = "evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true\n"
    found = read(text, 32)
    assert found.config.eviction_hard == {"memory.available": "1Gi"}
    assert [str(warning) for warning in found.warnings] == [
        (
            'config.yaml:4: mergeDefaultEvictionSettings: unknown field "mergeDefaultEvictionSettings" is'
            " ignored by kubelet 1.32, because it was added in 1.33"
        )
    ]


def test_fields_that_no_manager_uses_are_kept_unchanged() -> None:
    others = config("eventBurst: 7\nclusterDNS: [10.0.0.10]\nhealthzPort: 0").others
    assert (others["eventBurst"], others["clusterDNS"], others["healthzPort"]) == (7, ["10.0.0.10"], 0)
    assert others["imageGCHighThresholdPercent"] == 85


def test_a_relative_path_of_static_pods_is_relative_to_the_file() -> None:
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
  - limits: {memory: 1, hugepages-2Mi: null}
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
    assert found.reserved_memory[1].limits["hugepages-2Mi"].sign == 0
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
def test_zero_means_the_default_except_for_some_fields(text: str, attribute: str, want: object) -> None:
    assert getattr(config(text), attribute) == want


def test_hard_eviction_thresholds_are_replaced_or_merged() -> None:
    assert config("evictionHard: {}").eviction_hard == {}
    assert config("evictionHard: null").eviction_hard == DEFAULT_EVICTION_HARD
    assert config("evictionHard: {memory.available: 1Gi}").eviction_hard == {"memory.available": "1Gi"}
    merged = config("evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true").eviction_hard
    assert merged == {**DEFAULT_EVICTION_HARD, "memory.available": "1Gi"}


def test_json_is_also_read() -> None:
    text = '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "maxPods": 50}'
    assert read_kubelet_config(text, "config.json").config.max_pods == 50


def test_whole_floats_of_yaml_are_integers() -> None:
    """YAML is converted to JSON, in which Go writes 110.0 as 110."""
    assert config("maxPods: 110.0").max_pods == 110
    assert config("maxPods: 1.1e2").max_pods == 110


def test_kind_and_version_are_found_in_any_case() -> None:
    found = read_kubelet_config(f"Kind: {KIND}\nAPIVERSION: {API_VERSION}\nmaxPods: 7", "c.yaml")
    assert found.config.max_pods == 7
    assert [(warning.place.setting, warning.expected) for warning in found.warnings] == [
        ("Kind", "kind"),
        ("APIVERSION", "apiVersion"),
    ]


def test_the_last_spelling_of_kind_counts() -> None:
    """Converted YAML has its keys in byte order; JSON is read in the order in which it is written."""
    assert read_kubelet_config(f"{HEAD}KIND: Other", "c.yaml").config.max_pods == 110
    with pytest.raises(ConfigRefusedError):
        read_kubelet_config(f'{JSON_HEAD}"KIND": "Other"}}', "c.json")


def test_only_the_first_document_is_read() -> None:
    found = read("maxPods: 5\n---\nbroken: [")
    assert found.config.max_pods == 5
    assert [str(warning) for warning in found.warnings] == [
        "config.yaml:6: only the first document in the file is used"
    ]


def test_what_the_kubelet_only_warns_about() -> None:
    found = read("maxPods: 1\nauthentication: {}\nbogus: 1\nmaxpods: 7\nmaxPods: 2\n---\nkind: Other\n")
    assert found.config.max_pods == 2
    assert tuple(map(str, found.warnings)) == (
        'config.yaml:7: key "maxPods" already set in map, the last one is used',
        'config.yaml:5: bogus: unknown field "bogus" is ignored',
        'config.yaml:6: maxpods: unknown field "maxpods" is ignored: did you mean maxPods?',
        "config.yaml:9: only the first document in the file is used",
    )


def test_the_document_knows_the_line_of_a_value() -> None:
    assert read("kubeReserved:\n  cpu: 500m").document.line_of(("kubeReserved", "cpu")) == 4


JSON_HEAD = f'{{"apiVersion": "{API_VERSION}", "kind": "{KIND}", '


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_configurations_are_clean(path: Path) -> None:
    assert read_kubelet_config(path.read_bytes(), path.name).warnings == ()


def test_the_number_of_warnings_on_unknown_fields_is_limited() -> None:
    fields = "".join(f"field{number}: 1\n" for number in range(1000))
    reported = list(map(str, read(fields).warnings))
    assert reported[99:] == [
        'config.yaml:102: field99: unknown field "field99" is ignored',
        "config.yaml:103: 900 more unknown fields are ignored",
    ]
