# ruff: noqa: E501, ISC004  # texts stand whole in one line, so that they can be searched for
"""Messages of the API server about ``spec.resources`` (KEP-2837), word for word, release by release.

Texts: ``pkg/apis/core/validation`` in 1.36, executed; differences in 1.32 and 1.33 come from their source.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest

from cpuctl.diagnostics import Severity
from cpuctl.pods.model import QosClass
from tests.pods.validation.linting import findings, linted, messages, rules

SUPPORTED = 'supported values: "cpu", "hugepages-", "memory"'
ALONE = "spec.resources: Forbidden: HugePages require cpu or memory"


@dataclass(frozen=True)
class Case:
    """Pod-level resources, the resources of the containers, and the messages in a release."""

    name: str
    resources: str
    want: tuple[str, ...] = ()
    containers: tuple[str, ...] = ("{}",)
    inits: tuple[str, ...] = ()
    minor: int = 36
    more: str = ""

    @property
    def spec(self) -> str:
        lists = {
            group: ", ".join(
                f"{{name: {group[0]}{n}, resources: {each}}}" for n, each in enumerate(resources)
            )
            for group, resources in (("containers", self.containers), ("initContainers", self.inits))
        }
        members = "".join(f", {group}: [{items}]" for group, items in lists.items())
        return f"{{resources: {self.resources}{members}{self.more}}}"


CASES = [
    Case("no resources", "{}"),
    Case("null", "null"),
    Case("both sides", "{requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 2, memory: 2Gi}}"),
    Case("empty sides", "{requests: {}, limits: null}"),
    Case(
        "Windows: nothing else is checked",
        "{requests: {cpu: -1}}",
        ("spec.resources: Forbidden: may not be set for a windows pod",),
        more=", os: {name: windows}",
    ),
    Case("Linux", "{requests: {cpu: 1}}", more=", os: {name: linux}"),
    Case(
        "claims",
        "{claims: [{name: a}]}",
        (
            "spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level",
            'spec.resources.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims '
            "which is empty",
        ),
    ),
    Case(
        "an empty list of claims is one, too",
        "{claims: []}",
        ("spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level",),
    ),
    Case("null claims do not count", "{claims: null}"),
    Case(
        "claims in 1.33",
        "{claims: []}",
        ("spec.resources.claims: Forbidden: claims cannot be set for Resources at pod-level",),
        minor=33,
    ),
    Case(
        "a device",
        "{limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 1}}",
        (
            f'spec.resources.limits[nvidia.com/gpu]: Unsupported value: "nvidia.com/gpu": {SUPPORTED}',
            f'spec.resources.requests[nvidia.com/gpu]: Unsupported value: "nvidia.com/gpu": {SUPPORTED}',
        ),
    ),
    Case(
        "a resource of containers",
        "{requests: {ephemeral-storage: 1Gi}}",
        (f'spec.resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": {SUPPORTED}',),
    ),
    Case(
        "an unknown name",
        "{requests: {gpu: 1}}",
        (
            'spec.resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully '
            "qualified",
        ),
    ),
    Case(
        "negative",
        "{limits: {cpu: -1}}",
        (
            'spec.resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
            'spec.resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
    ),
    Case(
        "request above limit",
        "{requests: {cpu: 4}, limits: {cpu: 3}}",
        ('spec.resources.requests: Invalid value: "4": must be less than or equal to cpu limit of 3',),
    ),
    Case(
        "a fraction of a huge page",
        "{requests: {cpu: 1, hugepages-2Mi: 3Mi}, limits: {hugepages-2Mi: 3Mi}}",
        tuple(
            f'spec.resources.{side}[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer '
            "multiple of hugepages-2Mi"
            for side in ("limits", "requests")
        ),
    ),
    Case(
        "huge pages requested and limited differently",
        "{requests: {cpu: 1, hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 4Mi}}",
        ('spec.resources.requests: Invalid value: "2Mi": must be equal to hugepages-2Mi limit of 4Mi',),
    ),
    Case(
        "huge pages without a limit",
        "{requests: {cpu: 1, hugepages-2Mi: 2Mi}}",
        ("spec.resources.limits: Required value: Limit must be set for non overcommitable resources",),
    ),
    Case("huge pages alone", "{limits: {hugepages-2Mi: 2Mi}}", (ALONE,)),
    Case("two sizes of huge pages", "{limits: {memory: 1Gi, hugepages-2Mi: 4Mi, hugepages-1Gi: 2Gi}}"),
    Case(
        "huge pages in 1.33",
        "{limits: {memory: 1Gi, hugepages-2Mi: 4Mi}, requests: {hugepages-2Mi: 4Mi}}",
        tuple(
            f'spec.resources.{side}[hugepages-2Mi]: Unsupported value: "hugepages-2Mi": supported values: '
            '"cpu", "memory"'
            for side in ("limits", "requests")
        ),
        minor=33,
    ),
    Case(
        "less than the containers request",
        "{requests: {cpu: 1}}",
        (
            'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate '
            "container requests of 4",
        ),
        containers=("{requests: {cpu: 2}}", "{limits: {cpu: 2}}"),
    ),
    Case(
        "less than an init container requests",
        "{requests: {memory: 1Gi}}",
        (
            'spec.resources.requests[memory]: Invalid value: "1Gi": must be greater than or equal to aggregate '
            "container requests of 3Gi",
        ),
        containers=("{requests: {memory: 512Mi}}",),
        inits=("{requests: {memory: 3Gi}}",),
    ),
    Case(
        "a request that the pod level leaves out",
        "{requests: {cpu: 1}}",
        containers=("{requests: {cpu: 1, memory: 1Gi, ephemeral-storage: 1Gi}}",),
    ),
    Case(
        "a request that the pod level leaves out, in 1.33",
        "{requests: {cpu: 1}}",
        (
            'spec.resources.requests[ephemeral-storage]: Invalid value: "0": must be greater than or equal to '
            "aggregate container requests of 1Gi",
        ),
        containers=("{requests: {cpu: 1, ephemeral-storage: 1Gi}}",),
        minor=33,
    ),
    Case(
        "fewer huge pages than the containers",
        "{limits: {cpu: 1, hugepages-2Mi: 3Mi}}",
        (
            'spec.resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple '
            "of hugepages-2Mi",
            'spec.resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer '
            "multiple of hugepages-2Mi",
            'spec.resources.requests[hugepages-2Mi]: Invalid value: "3Mi": must be greater than or equal to '
            "aggregate container requests of 4Mi",
            'spec.resources.limits[hugepages-2Mi]: Invalid value: "3Mi": must be greater than or equal to '
            "aggregate container limits of 4Mi",
        ),
        containers=("{limits: {cpu: 500m, hugepages-2Mi: 2Mi}}",) * 2,
    ),
    Case(
        "huge pages of containers add up",
        "{limits: {cpu: 4}}",
        containers=("{limits: {cpu: 1, hugepages-2Mi: 2Mi}}",) * 2,
    ),
    Case(
        "a container's limit above the pod's",
        "{requests: {cpu: 1}, limits: {cpu: 1500m}}",
        (
            'spec.resources.containers[1][cpu].limits: Invalid value: "2": must be less than or equal to pod '
            "limits of 1500m",
        ),
        containers=("{}", "{requests: {cpu: 0}, limits: {cpu: 2}}"),
    ),
    Case(
        "limits of init containers are not compared",
        "{requests: {cpu: 6}, limits: {cpu: 6}}",
        inits=("{requests: {cpu: 1}, limits: {cpu: 10}}",),
    ),
    Case(
        "the sum of limits may be above the pod's",
        "{requests: {cpu: 1}, limits: {cpu: 2}}",
        containers=("{requests: {cpu: 0}, limits: {cpu: 2}}",) * 3,
    ),
    Case(
        "overhead does not count",
        "{requests: {cpu: 1}, limits: {cpu: 1}}",
        containers=("{requests: {cpu: 1}}",),
        more=", overhead: {cpu: 250m}, runtimeClassName: kata",
    ),
    Case(
        "the request that follows from the containers is above the pod's limit (KEP, row 6)",
        "{limits: {memory: 100Gi}}",
        (
            'spec.resources.requests: Invalid value: "120Gi": must be less than or equal to memory limit of '
            "100Gi",
        ),
        containers=("{limits: {memory: 60Gi}}",) * 2,
    ),
    Case(
        "the limit that follows from the containers is below the pod's request, from 1.37 on",
        "{requests: {memory: 5Gi}}",
        ('spec.resources.requests: Invalid value: "5Gi": must be less than or equal to memory limit of 4Gi',),
        containers=("{requests: {memory: 1Gi}, limits: {memory: 2Gi}}",) * 2,
        minor=37,
    ),
    Case(
        "before, nothing is derived",
        "{requests: {memory: 5Gi}}",
        containers=("{requests: {memory: 1Gi}, limits: {memory: 2Gi}}",) * 2,
    ),
    Case(
        "if one container has no limit, nothing is derived",
        "{requests: {memory: 5Gi}}",
        containers=("{limits: {memory: 2Gi}}", "{}"),
        minor=37,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_messages_of_the_api_server(case: Case) -> None:
    found = [each for each in findings(case.spec, rules(case.minor)) if each.severity is Severity.ERROR]
    assert messages(found) == list(case.want)


ROWS = list(product((False, True), repeat=4))
"""Which of pod requests, pod limits, container requests and container limits are set, in table order."""


@pytest.mark.parametrize("minor", range(32, 39))
@pytest.mark.parametrize("row", range(16), ids=lambda row: f"row {row + 1}")
def test_all_combinations(row: int, minor: int) -> None:
    """All are valid up to 1.36; from 1.37 on, rows 10 and 12 get a pod-level limit that is too low.

    Two containers: 1 CPU/1Gi requested, 2/2Gi limits; the pod 5/5Gi and 6/6Gi (specification, section 6).
    """
    pr, pl, cr, cl = ROWS[row]
    own = _sides(requests=1 if cr else 0, limits=2 if cl else 0)
    whole = _sides(requests=5 if pr else 0, limits=6 if pl else 0)
    pod_level = f"resources: {whole}, " if pr or pl else ""
    spec = f"{{{pod_level}containers: [{{name: a, resources: {own}}}, {{name: b, resources: {own}}}]}}"
    found = [each for each in findings(spec, rules(minor)) if each.severity is Severity.ERROR]
    refused = minor >= 37 and row + 1 in (10, 12)
    assert messages(found) == [
        f'spec.resources.requests: Invalid value: "{request}": must be less than or equal to {name} limit of '
        f"{limit}"
        for name, request, limit in (("cpu", "5", "4"), ("memory", "5Gi", "4Gi"))
        if refused
    ]


def _sides(*, requests: int, limits: int) -> str:
    amounts = {"requests": requests, "limits": limits}
    sides = (f"{side}: {{cpu: {n}, memory: {n}Gi}}" for side, n in amounts.items() if n)
    return f"{{{', '.join(sides)}}}"


def test_places_name_the_wrong_amount_even_if_it_is_a_default() -> None:
    """A default amount has no line, but the member that it belongs to has."""
    (found,) = findings(CASES[-4].spec)
    assert (found.place.path, found.code) == (
        ("spec", "resources", "requests", "memory"),
        "limit-below-request",
    )


@pytest.mark.parametrize(
    ("minor", "pod_level", "hint"),
    [
        (
            36,
            "{limits: {memory: 1Gi}}",
            "the request defaults to the sum of the containers' requests",
        ),
        (37, "{requests: {memory: 5Gi}}", "the limit defaults to the sum of the containers' limits"),
        (36, "{requests: {memory: 5Gi}, limits: {memory: 4Gi}}", ""),
    ],
)
def test_default_amounts_are_explained(minor: int, pod_level: str, hint: str) -> None:
    own = "{requests: {memory: 2Gi}, limits: {memory: 2Gi}}"
    spec = f"{{resources: {pod_level}, containers: [{{name: a, resources: {own}}}]}}"
    found = [each for each in findings(spec, rules(minor)) if each.code == "limit-below-request"]
    assert [each.note for each in found] == [hint]


@pytest.mark.parametrize(
    ("pod_level", "container", "fixes"),
    [
        (
            "",
            "{requests: {cpu: 3, memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}}",
            ["set limits.cpu: 3, or requests.cpu: 2"],
        ),
        ("{requests: {cpu: 1}}", "{requests: {cpu: 2}}", ["set requests.cpu: 2"]),
        (
            "{limits: {cpu: 2}}",
            "{limits: {cpu: 3}, requests: {cpu: 1}}",
            ["set limits.cpu: 2, or 3 in spec.resources"],
        ),
        (
            "{limits: {cpu: 2}}",
            "{limits: {cpu: 4}, requests: {cpu: 3}}",
            ["set limits.cpu: 3", "set limits.cpu: 4 in spec.resources"],
        ),
        (
            "{limits: {cpu: 2}, requests: {cpu: 3}}",
            "{requests: {cpu: 3}}",
            ["set limits.cpu: 3"],
        ),
        ("{limits: {memory: 1Gi}}", "{requests: {memory: 2Gi}}", ["set limits.memory: 2Gi"]),
        (
            "",
            "{requests: {cpu: 1, hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 4Mi}}",
            ["set requests.hugepages-2Mi: 4Mi"],
        ),
    ],
    ids=[
        "below a request",
        "below the containers",
        "above the pod",
        "request above the pod",
        "pod below both",
        "a default",
        "huge pages",
    ],
)
def test_amounts_that_exclude_each_other_have_a_fix(pod_level: str, container: str, fixes: list[str]) -> None:
    own = f"resources: {pod_level}, " if pod_level else ""
    found = findings(f"{{{own}containers: [{{name: a, resources: {container}}}]}}")
    assert [each.fix for each in found if each.severity is Severity.ERROR] == fixes


def test_the_class_of_a_stored_pod_is_the_one_in_its_status() -> None:
    text = "{apiVersion: v1, kind: Pod, metadata: {name: a, uid: b}, spec: {containers: [{name: a}]}, status: {qosClass: Burstable}}"
    (one,) = linted(text)
    assert one.pod is not None
    assert one.pod.qos_class is QosClass.BURSTABLE
