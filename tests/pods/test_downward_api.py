"""Resources in variables and files: kubelet 1.27 to 1.36, and KEP-6122 for assigned.cpuset."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.pods.downward_api import DownwardContext, DownwardValue, downward_value
from cpuctl.pods.model import Pod, ResourceFieldRef
from cpuctl.quantity import Quantity
from tests.support.pods import amounts, app, init, manifest, resources

NODE = amounts("cpu=7500m memory=16Gi")


def variable(resource: str, divisor: str = "0", *, of: str = "", reader: str = "main") -> ResourceFieldRef:
    return ResourceFieldRef(resource, of, Quantity.parse(divisor), "X", reader=reader)


def file(resource: str, divisor: str = "0", *, of: str = "main") -> ResourceFieldRef:
    return ResourceFieldRef(resource, of, Quantity.parse(divisor), "x", volume="podinfo")


def read(given: Pod, ref: ResourceFieldRef, *, minor: int = 36, assigned: str | None = None) -> DownwardValue:
    held = {} if assigned is None else {"main": assigned}
    return downward_value(given, ref, DownwardContext(minor, NODE, held))


@dataclass(frozen=True)
class Case:
    """The value that one reference reads."""

    name: str
    pod: Pod
    ref: ResourceFieldRef
    want: str
    minor: int = 36


SMALL = manifest(app("cpu=1250m memory=1Gi hugepages-2Mi=4Mi", "cpu=1500m hugepages-2Mi=4Mi"))
POD_LEVEL = manifest(app(), init(name="first"), pod_level=resources("", "cpu=3 memory=2Gi"))
CASES = [
    Case("whole CPUs, rounded up", SMALL, variable("limits.cpu"), "2"),
    Case("in milli", SMALL, variable("limits.cpu", "1m"), "1500"),
    Case("the request", SMALL, file("requests.cpu", "1m"), "1250"),
    Case("no request", manifest(app()), variable("requests.memory"), "0"),
    Case("bytes", SMALL, variable("requests.memory"), str(1 << 30)),
    Case("in mebibytes", SMALL, file("requests.memory", "1Mi"), "1024"),
    Case("in gigabytes, rounded up", SMALL, file("requests.memory", "1G"), "2"),
    Case("huge pages", SMALL, file("limits.hugepages-2Mi", "1Mi"), "4"),
    Case("huge pages have no default", manifest(app()), file("limits.hugepages-1Gi"), "0"),
    Case("the node's, rounded up", manifest(app()), file("limits.cpu"), "8"),
    Case("the node's in a variable", manifest(app()), variable("limits.memory", "1Gi"), "16"),
    Case("the pod's in a variable", POD_LEVEL, variable("limits.cpu"), "3"),
    Case(
        "the pod's where a variable names an app container", POD_LEVEL, variable("limits.cpu", of="main"), "3"
    ),
    Case("not the pod's before 1.34", POD_LEVEL, variable("limits.cpu"), "8", minor=33),
    Case("not the pod's in a file", POD_LEVEL, file("limits.memory", "1Gi"), "16"),
    Case("an init container's own variable", POD_LEVEL, variable("limits.cpu", reader="first"), "3"),
    Case("a variable that names an init container", POD_LEVEL, variable("limits.cpu", of="first"), "0"),
    Case("a file about an init container", POD_LEVEL, file("limits.cpu", of="first"), "8"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_amounts(case: Case) -> None:
    reported = read(case.pod, case.ref, minor=case.minor)
    assert (reported.text, reported.error) == (case.want, "")
    assert reported.rule


def test_storage_of_a_node_that_reports_none_is_unknown() -> None:
    assert read(manifest(app()), file("limits.ephemeral-storage")).text is None
    assert downward_value(manifest(app()), file("limits.cpu"), DownwardContext(36)).text is None


def test_large_amounts_are_divided_in_floating_point() -> None:
    """As in the kubelet: above 2^53 not every number can be represented."""
    odd = (1 << 53) + 1
    assert read(manifest(app(f"memory={odd}")), file("requests.memory")).text == str(1 << 53)


@pytest.mark.parametrize(("assigned", "want"), [("2-3", "2-3"), ("", ""), (None, None)])
def test_assigned_cpus(assigned: str | None, want: str | None) -> None:
    reported = read(manifest(app()), file("assigned.cpuset"), minor=37, assigned=assigned)
    assert (reported.text, reported.error) == (want, "")


@pytest.mark.parametrize(
    ("ref", "minor", "error"),
    [
        (file("assigned.cpuset"), 36, "unsupported container resource : assigned.cpuset"),
        (variable("assigned.cpuset"), 37, "unsupported container resource : assigned.cpuset"),
        (file("assigned.memset"), 37, "unsupported container resource : assigned.memset"),
        (file("max.cpu"), 36, "unsupported container resource : max.cpu"),
        (file("limits.cpu", of="other"), 36, "container other not found"),
    ],
)
def test_references_without_a_value(ref: ResourceFieldRef, minor: int, error: str) -> None:
    assert read(manifest(app()), ref, minor=minor) == DownwardValue(error=error)
