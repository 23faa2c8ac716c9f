from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.golang.json_mistakes import Mistake
from cpuctl.kubelet.config import ATTRIBUTES, DEFAULT_EVICTION_HARD, KubeletConfiguration
from cpuctl.kubelet.configuration.main_file import explained
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


@dataclass(frozen=True)
class Refusal:
    """A configuration that cannot be used, the whole message, and the kubelet's error if it is known."""

    name: str
    text: str
    want: str
    kubelet: str = ""


GO = "failed to decode: json: cannot unmarshal"
FIELD = "into Go struct field KubeletConfiguration"
PARSING = "couldn't get version/kind; json parse error: json: cannot unmarshal"
JSON_HEAD = f'{{"apiVersion": "{API_VERSION}", "kind": "{KIND}", '
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
        'c.yaml:2: kind: expected KubeletConfiguration, found the string "Pod"',
        'failed to decode: no kind "Pod" is registered for version "v1" in scheme ...',
    ),
    Refusal(
        "no version",
        "kind: KubeletConfiguration",
        "c.yaml:1: apiVersion is missing: expected kubelet.config.k8s.io/v1beta1",
        "failed to decode: Object 'apiVersion' is missing in 'kind: KubeletConfiguration'",
    ),
    Refusal(
        "a group without a version",
        "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/",
        "c.yaml:1: apiVersion is missing: expected kubelet.config.k8s.io/v1beta1",
        "failed to decode: Object 'apiVersion' is missing in"
        " 'kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/'",
    ),
    Refusal(
        "more than a group and a version",
        "kind: KubeletConfiguration\napiVersion: a/b/c",
        'c.yaml:2: apiVersion: expected kubelet.config.k8s.io/v1beta1, found the string "a/b/c"',
        "failed to decode: unexpected GroupVersion string: a/b/c",
    ),
    Refusal(
        "only null",
        "---\n",
        "c.yaml: empty: expected YAML or JSON",
        "failed to decode: Object 'Kind' is missing in '---\n'",
    ),
    Refusal(
        "an empty document before the object",
        f"---\n---\n{HEAD}",
        "c.yaml: empty: expected YAML or JSON",
        f"failed to decode: Object 'Kind' is missing in '---\n---\n{HEAD}'",
    ),
    Refusal(
        "other version",
        "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration",
        "c.yaml:1: apiVersion: expected kubelet.config.k8s.io/v1beta1,"
        ' found the string "kubelet.config.k8s.io/v1"',
        'failed to decode: no kind "KubeletConfiguration" is registered for version'
        ' "kubelet.config.k8s.io/v1" in scheme ...',
    ),
    Refusal(
        "kind of a wrong type",
        "kind: 5",
        "c.yaml:1: kind: expected KubeletConfiguration, found the number 5",
        f"failed to decode: {PARSING} number into Go struct field .kind of type string",
    ),
    Refusal(
        "a list",
        "- 1",
        "c.yaml:1: expected a mapping, found a list",
        f"failed to decode: {PARSING} array into Go value of type struct"
        r' { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }',
    ),
    Refusal(
        "not YAML: the scanner's lines count from 1",
        "kind: KubeletConfiguration\n maxPods: 1",
        "c.yaml:2:9: not YAML: mapping values are not allowed in this context",
        "failed to decode: yaml: line 2: mapping values are not allowed in this context",
    ),
    Refusal(
        "not YAML: the parser's lines count from 0",
        "kind: KubeletConfiguration\n- maxPods: 1",
        "c.yaml:2:1: not YAML: did not find expected key while parsing a block mapping",
        "failed to decode: yaml: line 1: did not find expected key",
    ),
    Refusal(
        "not YAML: line 0 is not reported",
        "kind: a: b",
        "c.yaml:1:8: not YAML: mapping values are not allowed in this context",
        "failed to decode: yaml: mapping values are not allowed in this context",
    ),
    Refusal(
        "a control character",
        "kind: \x01",
        "c.yaml:1:7: the character U+0001 is not allowed in YAML",
        "failed to decode: yaml: control characters are not allowed",
    ),
    Refusal(
        "a key without its colon",
        "kind: a\nb\nc: d",
        "c.yaml:3:1: not YAML: could not find expected ':' while scanning a simple key",
        "failed to decode: yaml: line 3: could not find expected ':'",
    ),
    Refusal(
        "a key without its colon at the end",
        'kind: a\n"b" # c',
        "c.yaml:3:1: not YAML: could not find expected ':' while scanning a simple key",
        "failed to decode: yaml: line 3: could not find expected ':'",
    ),
    Refusal(
        "an undefined alias",
        "kind: *a",
        "c.yaml:1:7: the alias *a has no preceding anchor &a",
        "failed to decode: yaml: unknown anchor 'a' referenced",
    ),
    Refusal(
        "a colon that Go reads as part of a text",
        "kind: {a:}",
        "c.yaml:1:9: not YAML: found unexpected ':' while scanning a plain scalar",
    ),
    Refusal(
        "two objects in JSON",
        '{"kind": "A"}\n{"kind": "B"}',
        "c.yaml:2:1: not JSON: unexpected '{'",
        "failed to decode: couldn't get version/kind; json parse error: invalid character '{' after"
        " top-level value",
    ),
    Refusal(
        "JSON that ends too early",
        JSON_HEAD + '"maxPods": 1',
        "c.yaml:1:93: not JSON: unexpected end of JSON",
        "failed to decode: couldn't get version/kind; json parse error: unexpected end of JSON input",
    ),
    Refusal(
        "YAML that begins like JSON",
        "{kind: KubeletConfiguration}",
        "c.yaml:1:2: not JSON: unexpected 'k'",
        "failed to decode: couldn't get version/kind; json parse error: invalid character 'k' looking for"
        " beginning of object key string",
    ),
    Refusal(
        "a whole number with a point in JSON",
        JSON_HEAD + '"maxPods": 110.0}',
        "c.yaml:1: maxPods: expected a whole number without a decimal point or exponent, found 110.0",
        f"{GO} number 110.0 {FIELD}.maxPods of type int32",
    ),
    Refusal(
        "a whole number with an exponent in a list in JSON",
        JSON_HEAD + '"tlsCurvePreferences": [1, 1E2]}',
        "c.yaml:1: tlsCurvePreferences[1]: expected a whole number without a decimal point or exponent,"
        " found 1E2",
        f"{GO} number 1E2 {FIELD}.tlsCurvePreferences of type int32",
    ),
    Refusal(
        "a huge float in YAML",
        HEAD + "maxPods: 1e21",
        "c.yaml:3: maxPods: expected a whole number of at most 2147483647, found the number 1e+21",
        f"{GO} number 1e+21 {FIELD}.maxPods of type int32",
    ),
    Refusal(
        "a tiny float in YAML",
        HEAD + "maxPods: 0.00001",
        "c.yaml:3: maxPods: expected a whole number, found the number 1e-05",
        f"{GO} number 0.00001 {FIELD}.maxPods of type int32",
    ),
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
        'c.yaml:3: featureGates.MemoryQoS: expected true or false, found the string "true"',
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
        "null as duration, which is not a pointer",
        HEAD + "cpuManagerReconcilePeriod: null",
        "c.yaml:3: cpuManagerReconcilePeriod: expected a duration, found null",
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
        "a switch as quantity",
        HEAD + "reservedMemory: [{limits: {memory: true}}]",
        "c.yaml:3: reservedMemory[0].limits.memory: expected a quantity, found true",
        "failed to decode: quantities must match the regular expression"
        " '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    Refusal(
        "text as NUMA node",
        HEAD + "reservedMemory: [{numaNode: one}]",
        'c.yaml:3: reservedMemory[0].numaNode: expected a whole number, found the string "one"',
        f"{GO} string into Go struct field MemoryReservation.reservedMemory.numaNode of type int32",
    ),
    Refusal(
        "text for a struct that no manager reads",
        HEAD + "authentication: none",
        'c.yaml:3: authentication: expected a mapping, found the string "none"',
        f"{GO} string {FIELD}.authentication of type v1beta1.KubeletAuthentication",
    ),
    Refusal(
        "a list for a text of a named type",
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
def test_errors_state_the_place_and_the_reason(case: Refusal) -> None:
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


def test_a_mistake_that_only_go_finds_keeps_its_text() -> None:
    document = load_documents("maxPods: 5", "c.yaml")[0]
    error = explained(Mistake(("maxPods",), "int32", "too round"), document, ("maxPods",))
    assert str(error) == "c.yaml:1: maxPods: too round"


def test_the_first_mistake_of_json_is_the_first_in_the_text() -> None:
    text = f'{{"apiVersion": "{API_VERSION}", "kind": "{KIND}", "maxPods": "x", "clusterDNS": {{}}}}'
    with pytest.raises(ConfigRefusedError) as caught:
        read_kubelet_config(text, "c.json")
    assert caught.value.refusal.error == f"{GO} string {FIELD}.maxPods of type int32"


def test_an_error_keeps_the_kubelets_text_when_its_place_is_extended() -> None:
    with pytest.raises(ConfigRefusedError) as caught:
        read_kubelet_config("", "c.yaml")
    within = caught.value.within("node7.tar")
    assert str(within) == "node7.tar: c.yaml: empty: expected YAML or JSON"
    assert within.refusal == caught.value.refusal


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
