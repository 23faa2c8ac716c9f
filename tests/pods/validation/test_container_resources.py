# ruff: noqa: E501, ISC004  # texts stand whole in one line, so that they can be searched for
"""Messages of the API server about the resources of containers, word for word.

Texts: ``pkg/apis/core/validation`` in 1.36. They follow ``The Pod "web" is invalid:`` in kubectl's output.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.diagnostics import Component, Severity
from tests.pods.validation.linting import container, findings, messages

QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WHERE = "spec.containers[0].resources"


@dataclass(frozen=True)
class Case:
    """The resources of a container, and the messages about them, each after the container's own path."""

    name: str
    resources: str
    want: tuple[str, ...] = ()


CASES = [
    Case("nothing", "{}"),
    Case("null", "null"),
    Case("requests below limits", "{requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 2, memory: 2Gi}}"),
    Case("limits alone", "{limits: {cpu: 2, hugepages-2Mi: 4Mi}}"),
    Case("the same amount in other words", "{requests: {cpu: 2000m}, limits: {cpu: 2.0}}"),
    Case("zero", "{requests: {cpu: 0, memory: null}, limits: {cpu: 0}}"),
    Case("devices", "{limits: {nvidia.com/gpu: 2}}"),
    Case("ephemeral storage", "{requests: {ephemeral-storage: 1Gi}}"),
    Case(
        "request above limit",
        "{requests: {cpu: 2}, limits: {cpu: 1}}",
        ('.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',),
    ),
    Case(
        "every request above its limit",
        "{requests: {cpu: 1500m, memory: 2Gi}, limits: {cpu: 1, memory: 1Gi}}",
        (
            '.requests: Invalid value: "1500m": must be less than or equal to cpu limit of 1',
            '.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi',
        ),
    ),
    Case(
        "negative",
        "{requests: {cpu: -1}}",
        ('.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',),
    ),
    Case(
        "negative limit: the request that follows from it, too",
        "{limits: {memory: -1Gi}}",
        (
            '.limits[memory]: Invalid value: "-1Gi": must be greater than or equal to 0',
            '.requests[memory]: Invalid value: "-1Gi": must be greater than or equal to 0',
        ),
    ),
    Case(
        "fraction of a device",
        "{limits: {nvidia.com/gpu: 0.5}}",
        (
            '.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
            '.requests[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
        ),
    ),
    Case(
        "fewer devices requested than the limit",
        "{requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}",
        ('.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2',),
    ),
    Case(
        "devices without a limit",
        "{requests: {nvidia.com/gpu: 1}}",
        (".limits: Required value: Limit must be set for non overcommitable resources",),
    ),
    Case(
        "an unknown name",
        "{requests: {gpu: 1}}",
        (
            '.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
            '.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers',
        ),
    ),
    Case(
        "a resource of quotas",
        "{requests: {pods: 1500m}}",
        (
            '.requests[pods]: Invalid value: "pods": must be a standard resource for containers',
            '.requests[pods]: Invalid value: "1500m": must be an integer',
        ),
    ),
    Case("a resource of Kubernetes with its domain", "{requests: {kubernetes.io/cpu: 1}}"),
    Case(
        "the prefix of quotas",
        "{limits: {requests.example.com/gpu: 1}, requests: {requests.example.com/gpu: 1}}",
        tuple(
            f'.{side}[requests.example.com/gpu]: Invalid value: "requests.example.com/gpu": '
            "doesn't follow extended resource name standard"
            for side in ("limits", "requests")
        ),
    ),
    Case(
        "two slashes",
        "{requests: {a/b/c: 0}, limits: {a/b/c: 0}}",
        tuple(
            text
            for side in ("limits", "requests")
            for text in (
                f'.{side}[a/b/c]: Invalid value: "a/b/c": a valid label key {QUALIFIED} with an optional DNS '
                "subdomain prefix and '/' (e.g. 'example.com/MyName')",
                f'.{side}[a/b/c]: Invalid value: "a/b/c": doesn\'t follow extended resource name standard',
            )
        ),
    ),
    Case(
        "a domain in capitals, an empty name",
        "{limits: {Vendor.com/: 1}, requests: {Vendor.com/: 1}}",
        tuple(
            f'.{side}[Vendor.com/]: Invalid value: "Vendor.com/": {problem}'
            for side in ("limits", "requests")
            for problem in (
                f"prefix part {SUBDOMAIN}",
                "name part must be non-empty",
                f"name part {QUALIFIED}",
                "doesn't follow extended resource name standard",
            )
        ),
    ),
    Case(
        "a long name",
        f"{{requests: {{{'c' * 64}: 1}}}}",
        (
            f'.requests[{"c" * 64}]: Invalid value: "{"c" * 64}": name part must be no more than 63 bytes',
            f'.requests[{"c" * 64}]: Invalid value: "{"c" * 64}": must be a standard resource for containers',
        ),
    ),
    Case(
        "no quantity",
        "{requests: {cpu: two}}",
        (f'.requests[cpu]: Pod in version "v1" cannot be handled as a Pod: {FORMAT}',),
    ),
    Case(
        "no quantities, one by one",
        "{requests: {cpu: true, memory: 1Gii}, limits: {memory: 1..5, nvidia.com/gpu: [1]}}",
        (
            f'.requests[cpu]: Pod in version "v1" cannot be handled as a Pod: {FORMAT}',
            '.requests[memory]: Pod in version "v1" cannot be handled as a Pod: '
            "unable to parse quantity's suffix",
            f'.limits[memory]: Pod in version "v1" cannot be handled as a Pod: {FORMAT}',
            f'.limits[nvidia.com/gpu]: Pod in version "v1" cannot be handled as a Pod: {FORMAT}',
        ),
    ),
    Case(
        "huge pages alone",
        "{limits: {hugepages-2Mi: 4Mi}}",
        (": Forbidden: HugePages require cpu or memory",),
    ),
    Case(
        "huge pages with a request",
        "{requests: {cpu: 1}, limits: {hugepages-2Mi: 4Mi, hugepages-1Gi: 2Gi}}",
    ),
    Case(
        "a fraction of a huge page",
        "{limits: {cpu: 1, hugepages-2Mi: 3Mi, hugepages-1Gi: 1Gi}}",
        (
            '.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
            '.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of '
            "hugepages-2Mi",
        ),
    ),
    Case(
        "an invalid size",
        "{limits: {cpu: 1, hugepages-big: 0}, requests: {hugepages-big: 0}}",
        (
            '.limits[hugepages-big]: Invalid value: "0": 0 is not positive integer multiple of hugepages-big',
            '.requests[hugepages-big]: Invalid value: "0": 0 is not positive integer multiple of hugepages-big',
        ),
    ),
    Case(
        "fewer huge pages requested than the limit",
        "{requests: {cpu: 1, hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 4Mi}}",
        ('.requests: Invalid value: "2Mi": must be equal to hugepages-2Mi limit of 4Mi',),
    ),
    Case(
        "huge pages without a limit",
        "{requests: {cpu: 1, hugepages-2Mi: 2Mi}}",
        (".limits: Required value: Limit must be set for non overcommitable resources",),
    ),
    Case(
        "an amount that is unknown is not compared",
        "{requests: {memory: much, cpu: 3}, limits: {memory: 1Gi, cpu: 2, hugepages-2Mi: 2Mi}}",
        (
            f'.requests[memory]: Pod in version "v1" cannot be handled as a Pod: {FORMAT}',
            '.requests: Invalid value: "3": must be less than or equal to cpu limit of 2',
        ),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("place", ["containers[0]", "initContainers[0]", "initContainers[0], sidecar"])
def test_messages_of_the_api_server(case: Case, place: str) -> None:
    spec = container(case.resources)
    where, _, sidecar = place.partition(", ")
    if where.startswith("init"):
        policy = "restartPolicy: Always, " if sidecar else ""
        first = f"{{name: first, {policy}resources: {case.resources}}}"
        spec = f"{{containers: [{{name: main}}], initContainers: [{first}]}}"
    found = [finding for finding in findings(spec) if finding.severity is Severity.ERROR]
    assert messages(found) == [f"spec.{where}.resources{text}" for text in case.want]
    assert {finding.rejected_by for finding in found} <= {Component.API_SERVER}


@dataclass(frozen=True)
class Warned:
    """A spec and the fields that the API server warns about, with their amounts."""

    name: str
    spec: str
    want: dict[str, str]


WARNED = [
    Warned("whole bytes", container("{limits: {memory: 1Gi, ephemeral-storage: 1.5Ki, cpu: 100m}}"), {}),
    Warned(
        "milli bytes",
        container("{limits: {memory: 100m}}"),
        {f"{WHERE}.limits[memory]": "100m", f"{WHERE}.requests[memory]": "100m"},
    ),
    Warned(
        "finer than milli",
        container("{requests: {ephemeral-storage: 1n}}"),
        {f"{WHERE}.requests[ephemeral-storage]": "1m"},
    ),
    Warned(
        "half a byte of binary notation",
        container("{requests: {memory: 0.0001Ki}}"),
        {f"{WHERE}.requests[memory]": "103m"},
    ),
    Warned(
        "overhead and the pod level",
        "{containers: [{name: a}], runtimeClassName: kata, overhead: {memory: 1.5}, "
        "resources: {requests: {memory: 2500m}}}",
        {"spec.overhead[memory]": "1500m", "spec.resources.requests[memory]": "2500m"},
    ),
]


@pytest.mark.parametrize("case", WARNED, ids=lambda case: case.name)
def test_fractions_of_bytes_give_warnings(case: Warned) -> None:
    """``pkg/api/pod/warnings.go``; the API server does not warn about the pod level."""
    found = findings(case.spec)
    want = {
        field: f'fractional byte value "{amount}" is invalid, must be an integer'
        for field, amount in case.want.items()
    }
    assert {finding.place.field: finding.message for finding in found} == want
    assert {finding.severity for finding in found} <= {Severity.WARNING}


@pytest.mark.parametrize("name", ["limits", "requests"])
def test_resources_beside_their_field_are_unknown_fields(name: str) -> None:
    (found,) = findings(f"{{containers: [{{name: main, resources: {{}}, {name}: {{cpu: 1}}}}]}}")
    assert str(found).endswith(f'strict decoding error: unknown field "spec.containers[0].{name}"')
    assert found.fix == f"did you mean resources.{name}?"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cpus", "did you mean cpu?"),
        ("Memory", "did you mean memory?"),
        ("gpu", "use the full name of a device plugin's resource: vendor.com/device"),
    ],
)
def test_misspelt_resources_get_a_hint(name: str, hint: str) -> None:
    assert {finding.fix for finding in findings(container(f"{{requests: {{{name}: 1}}}}"))} == {hint}
