"""Configurations that a kubelet rejects: the place, the reason, and the kubelet's own error."""

from dataclasses import dataclass

import pytest

from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.golang.json_mistakes import Mistake
from cpuctl.kubelet.configuration.main_file import explained
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.type_meta import API_VERSION, KIND
from tests.kubelet.configuration.test_main_file import HEAD, JSON_HEAD
from tests.support.kubelet_config import read_kubelet_config


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
