# ruff: noqa: E501  # texts stand whole in one line, so that they can be searched for
"""Messages of the API server about the other parts of a pod that affect resources, word for word.

Texts: ``pkg/apis/core/validation`` in 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.diagnostics import Severity
from tests.pods.validation.linting import findings, messages, rules

LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
SUBDOMAIN = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
GPU = "{name: gpu, resourceClaimName: gpu}"
ONE_OF = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
AT_MOST = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
MIRROR = "{name: web, annotations: {kubernetes.io/config.mirror: abc}}"
CLAIMS = "must be one of the names in pod.spec.resourceClaims"


@dataclass(frozen=True)
class Case:
    """The spec of a pod, and the messages about it."""

    name: str
    spec: str
    want: tuple[str, ...] = ()
    metadata: str = "{name: web}"
    minor: int = 36


def claims(first: str, *, of_pod: str = "") -> str:
    return f"{{resourceClaims: [{of_pod}], containers: [{{name: a, resources: {{claims: [{first}]}}}}]}}"


def policies(first: str, more: str = "") -> str:
    return f"{{containers: [{{name: a, resizePolicy: [{first}]}}]{more}}}"


def init_policy(restart: str, container: str = "") -> str:
    return f"{{containers: [{{name: a}}], initContainers: [{{name: b, resizePolicy: [{{resourceName: cpu, restartPolicy: {restart}}}]{container}}}]}}"


CASES = [
    # Names and containers
    Case("no containers", "{}", ("spec.containers: Required value",)),
    Case("an empty list of containers", "{containers: []}", ("spec.containers: Required value",)),
    Case("no spec", "null", ("spec.containers: Required value",)),
    Case(
        "no name",
        "{containers: [{image: x}, null]}",
        ("spec.containers[0].name: Required value", "spec.containers[1].name: Required value"),
    ),
    Case(
        "a name in capitals",
        "{containers: [{name: Main}]}",
        (f'spec.containers[0].name: Invalid value: "Main": {LABEL}',),
    ),
    Case(
        "a name with dots",
        "{containers: [{name: a.b}]}",
        ('spec.containers[0].name: Invalid value: "a.b": must not contain dots',),
    ),
    Case(
        "a long name",
        f"{{containers: [{{name: {'a' * 64}}}]}}",
        (f'spec.containers[0].name: Invalid value: "{"a" * 64}": must be no more than 63 bytes',),
    ),
    Case(
        "a name twice",
        "{containers: [{name: a}, {name: a}], initContainers: [{name: a}]}",
        (
            'spec.containers[1].name: Duplicate value: "a"',
            'spec.initContainers[0].name: Duplicate value: "a"',
        ),
    ),
    Case(
        "no name of the pod",
        "{containers: [{name: a}]}",
        ("metadata.name: Required value: name or generateName is required",),
        metadata="{}",
    ),
    Case(
        "no metadata",
        "{containers: [{name: a}]}",
        ("metadata.name: Required value: name or generateName is required",),
        metadata="null",
    ),
    Case("a generated name", "{containers: [{name: a}]}", metadata="{generateName: web-}"),
    Case(
        "a wrong generated name",
        "{containers: [{name: a}]}",
        (f'metadata.generateName: Invalid value: "Web-": {SUBDOMAIN}',),
        metadata="{generateName: Web-}",
    ),
    Case(
        "a pod name that is not a domain",
        "{containers: [{name: a}]}",
        (f'metadata.name: Invalid value: "a_b": {SUBDOMAIN}',),
        metadata="{name: a_b}",
    ),
    # Ephemeral containers
    Case(
        "an ephemeral container on create",
        "{containers: [{name: a}], ephemeralContainers: [{name: b}]}",
        ("spec.ephemeralContainers: Forbidden: cannot be set on create",),
    ),
    Case(
        "an ephemeral container of a running pod",
        "{containers: [{name: a}], ephemeralContainers: [{name: b, resources: {}}]}",
        metadata="{name: web, uid: abc}",
    ),
    Case(
        "resources of an ephemeral container",
        "{containers: [{name: a}], ephemeralContainers: [{name: b, resizePolicy: [], resources: {limits: {cpu: 1}, requests: {cpu: 2}}}, {name: a, resources: {limits: {}}}]}",
        (
            'spec.ephemeralContainers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
            "spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container",
            "spec.ephemeralContainers[0].resizePolicy: Forbidden: cannot be set for an Ephemeral Container",
            'spec.ephemeralContainers[1].name: Duplicate value: "a"',
            "spec.ephemeralContainers[1].resources: Forbidden: cannot be set for an Ephemeral Container",
        ),
        metadata="{name: web, uid: abc}",
    ),
    # Claims
    Case("a claim of the pod", claims("{name: gpu}", of_pod=GPU)),
    Case(
        "requests of one claim",
        claims("{name: gpu, request: a}, {name: gpu, request: b}", of_pod=GPU),
    ),
    Case(
        "no such claim",
        claims("{name: gpu}"),
        (f'spec.containers[0].resources.claims[0]: Not found: "gpu": {CLAIMS} which is empty',),
    ),
    Case(
        "no such claim among others",
        claims(
            "{name: gpu}",
            of_pod="{name: nic, resourceClaimName: nic}, {name: fpga, resourceClaimTemplateName: fpga}",
        ),
        (f'spec.containers[0].resources.claims[0]: Not found: "gpu": {CLAIMS}: fpga, nic',),
    ),
    Case(
        "a claim without a name",
        claims("{request: a}"),
        ("spec.containers[0].resources.claims[0]: Required value",),
    ),
    Case(
        "a claim twice",
        claims("{name: gpu}, {name: gpu}", of_pod=GPU),
        ('spec.containers[0].resources.claims[1]: Duplicate value: "gpu"',),
    ),
    Case(
        "a request twice",
        claims("{name: gpu, request: a}, {name: gpu, request: a}", of_pod=GPU),
        ('spec.containers[0].resources.claims[1]: Duplicate value: "gpu/a"',),
    ),
    Case(
        "all of a claim after a part",
        claims("{name: gpu, request: a}, {name: gpu}", of_pod=GPU),
        ('spec.containers[0].resources.claims[1]: Duplicate value: "gpu"',),
    ),
    Case(
        "a part of a claim after all",
        claims("{name: gpu}, {name: gpu, request: a}", of_pod=GPU),
        ('spec.containers[0].resources.claims[1]: Duplicate value: "gpu"',),
    ),
    Case(
        "a request that is not a label",
        claims("{name: gpu, request: A}", of_pod=GPU),
        (f'spec.containers[0].resources.claims[0].request: Invalid value: "A": {LABEL}',),
    ),
    Case(
        "entries that name nothing, or both",
        "{containers: [{name: a}], resourceClaims: [{name: gpu}, {name: nic, resourceClaimName: a, resourceClaimTemplateName: b}]}",
        (
            f'spec.resourceClaims[0]: Invalid value: {{"Name":"gpu","ResourceClaimName":null,"ResourceClaimTemplateName":null}}: {ONE_OF}',
            f'spec.resourceClaims[1]: Invalid value: {{"Name":"nic","ResourceClaimName":"a","ResourceClaimTemplateName":"b"}}: {AT_MOST}',
        ),
    ),
    Case(
        "an entry that names nothing, shown as Go source",
        "{containers: [{name: a}], resourceClaims: [{name: gpu}]}",
        (
            f'spec.resourceClaims[0]: Invalid value: core.PodResourceClaim{{Name:"gpu", ResourceClaimName:(*string)(nil), ResourceClaimTemplateName:(*string)(nil)}}: {ONE_OF}',
        ),
        minor=33,
    ),
    Case(
        "an entry with a source that names both, or without one",
        "{containers: [{name: a}], resourceClaims: [{name: gpu, source: {resourceClaimName: a, resourceClaimTemplateName: b}}, {name: nic, resourceClaimName: a}]}",
        (
            f"spec.resourceClaims[0].source: Invalid value: core.ClaimSource{{ResourceClaimName:(*string)(0x...), ResourceClaimTemplateName:(*string)(0x...)}}: {AT_MOST}",
            f"spec.resourceClaims[1].source: Invalid value: core.ClaimSource{{ResourceClaimName:(*string)(nil), ResourceClaimTemplateName:(*string)(nil)}}: {ONE_OF}",
        ),
        minor=30,
    ),
    Case(
        "a source that no API server knows any more",
        "{containers: [{name: a}], resourceClaims: [{name: gpu, source: {resourceClaimName: a}}]}",
        (
            f'spec.resourceClaims[0]: Invalid value: {{"Name":"gpu","ResourceClaimName":null,"ResourceClaimTemplateName":null}}: {ONE_OF}',
        ),
    ),
    Case(
        "names of entries, and what they name",
        "{containers: [{name: a}], resourceClaims: [{resourceClaimName: a}, {name: A, resourceClaimName: ''}, {name: b, resourceClaimTemplateName: T}, {name: b, resourceClaimName: a}]}",
        (
            "spec.resourceClaims[0].name: Required value",
            f'spec.resourceClaims[1].name: Invalid value: "A": {LABEL}',
            f'spec.resourceClaims[1].resourceClaimName: Invalid value: "": {SUBDOMAIN}',
            f'spec.resourceClaims[2].resourceClaimTemplateName: Invalid value: "T": {SUBDOMAIN}',
            'spec.resourceClaims[3].name: Duplicate value: "b"',
        ),
    ),
    Case(
        "claims of a mirror pod",
        "{containers: [{name: a}], resourceClaims: [{name: A}, {name: b, resourceClaimName: c}]}",
        ("[]: Forbidden: static pods do not support resource claims",) * 2,
        MIRROR,
    ),
    Case(
        "claims of a mirror pod that a server does not know of",
        "{containers: [{name: a}], resourceClaims: [{name: b, resourceClaimName: c}]}",
        (),
        MIRROR,
        31,
    ),
    # Overhead and system
    Case(
        "overhead that is not an amount of resources",
        "{containers: [{name: a}], runtimeClassName: kata, overhead: {cpu: -1, gpu: 1}}",
        (
            'spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
            'spec.overhead.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
            'spec.overhead.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers',
        ),
    ),
    Case(
        "an empty system",
        "{containers: [{name: a}], os: {}}",
        ("spec.os.name: Required value: cannot be empty",),
    ),
    Case(
        "another system",
        "{containers: [{name: a}], os: {name: beos}}",
        ('spec.os: Unsupported value: "beos": supported values: "linux", "windows"',),
    ),
    # Resize policies
    Case(
        "resize policies",
        policies(
            "{resourceName: cpu, restartPolicy: NotRequired}, {resourceName: memory, restartPolicy: RestartContainer}"
        ),
    ),
    Case(
        "a resize policy twice",
        policies(
            "{resourceName: cpu, restartPolicy: NotRequired}, {resourceName: cpu, restartPolicy: NotRequired}"
        ),
        ('spec.containers[0].resizePolicy[1]: Duplicate value: "cpu"',),
    ),
    Case("an empty resize policy", policies("{}"), ("spec.containers[0].resizePolicy: Required value",) * 2),
    Case(
        "unknown words in a resize policy",
        policies("{resourceName: gpu, restartPolicy: Maybe}"),
        (
            'spec.containers[0].resizePolicy: Unsupported value: "gpu": supported values: "cpu", "memory"',
            'spec.containers[0].resizePolicy: Unsupported value: "Maybe": supported values: "NotRequired", "RestartContainer"',
        ),
    ),
    Case(
        "a restart policy without restarts",
        policies("{resourceName: cpu, restartPolicy: RestartContainer}", ", restartPolicy: Never"),
        (
            "spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
        ),
    ),
    Case("a restart of a sidecar", init_policy("RestartContainer", ", restartPolicy: Always")),
    Case(
        "a restart of an init container",
        init_policy("RestartContainer"),
        (
            "spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: \"RestartContainer\": must not be set to 'RestartContainer' for non-sidecar initContainers",
        ),
    ),
    # Structure
    Case(
        "a field that does not exist",
        "{containers: [{name: a, resources: {limit: {cpu: 1}}}]}",
        ('strict decoding error: unknown field "spec.containers[0].resources.limit"',),
    ),
    Case(
        "misspelt fields around resources",
        "{resorces: {}, containers: [{name: a, Resource: {}}], initcontainers: []}",
        (
            'strict decoding error: unknown field "spec.resorces"',
            'strict decoding error: unknown field "spec.initcontainers"',
            'strict decoding error: unknown field "spec.containers[0].Resource"',
        ),
    ),
    Case(
        "fields of other parts",
        "{volumes: [], containers: [{name: a, image: x, lifecycle: {}}], evictions: {}}",
    ),
    Case(
        "values of a wrong kind",
        "{containers: {}, overhead: 3, priority: high, restartPolicy: [x], os: windows}",
        (
            "spec.containers: expected a list, found a mapping",
            "spec.overhead: expected a mapping, found the number 3",
            'spec.os: expected a mapping, found the string "windows"',
            'spec.priority: expected a whole number, found the string "high"',
            "spec.restartPolicy: expected a string, found a list",
        ),
    ),
    Case(
        "an unknown restart policy",
        "{containers: [{name: a}], restartPolicy: Sometimes}",
        (
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
        ),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_messages_of_the_api_server(case: Case) -> None:
    found = findings(case.spec, rules(case.minor), metadata=case.metadata)
    assert messages(found) == list(case.want)
    assert {finding.severity for finding in found} <= {Severity.ERROR}


def test_overhead_is_set_by_a_runtime_class() -> None:
    spec = "{containers: [{name: a}], overhead: {cpu: 250m}}"
    (found,) = findings(spec)
    assert str(found) == (
        "spec.overhead: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    )
    assert found.severity is Severity.WARNING
    assert findings(spec, metadata="{name: web, uid: abc}") == []
    assert findings(spec, rules(static=True)) == []
