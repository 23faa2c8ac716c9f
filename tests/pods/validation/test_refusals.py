"""Everything an API server rejects about one pod at once, in its order and words."""

from __future__ import annotations

import pytest

from cpuctl.engine.pod_server import PodServer
from cpuctl.pods.limit_ranges import LimitRange, LimitRangeItem
from cpuctl.pods.model import ContainerKind, Pod
from cpuctl.pods.reading.manifests import decode_manifests
from cpuctl.pods.rules import PodRules, ServerRules
from cpuctl.pods.stored import plainly_valid, provenance, stored_pod
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.pods import app, manifest, resources

SERVER = ServerRules()


RATIO = (
    'pods "pod" is forbidden: cpu max limit to request ratio per Container is 1, but provided ratio is '
    "2.000000"
)


def refused(given: Pod, rules: ServerRules = SERVER, *ranges: LimitRange) -> tuple[str, ...]:
    stored = provenance(given, PodRules(server=rules), ranges).pod
    return PodServer(rules, ranges).create(stored).refusals


PAGES = "hugepages-1Gi=2Gi hugepages-2Mi=4Mi"
BELOW = (
    'spec.containers[0].resources.requests: Invalid value: "3": must be less than or equal to cpu limit of 2'
)
SUM = (
    'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container '
    "requests of 2"
)


@pytest.mark.parametrize(
    ("given", "stated"),
    [
        (manifest(app("cpu=2", "cpu=3")), ()),
        (manifest(app(f"cpu=1 {PAGES}", PAGES)), ()),
        (manifest(app("cpu=3", "cpu=2")), (f'Pod "pod" is invalid: {BELOW}',)),
        (
            manifest(app("cpu=2", "cpu=2"), pod_level=resources("cpu=1", "cpu=4")),
            (f'Pod "pod" is invalid: {SUM}',),
        ),
        (
            manifest(app("cpu=3", "cpu=2"), pod_level=resources("cpu=1", "cpu=4")),
            (f'Pod "pod" is invalid: [{BELOW}, {SUM.replace("of 2", "of 3")}]',),
        ),
        (
            manifest(app(), pod_level=resources("cpu=1", "cpu=4"))._replace(os_name="windows"),
            ('Pod "pod" is invalid: spec.resources: Forbidden: may not be set for a windows pod',),
        ),
    ],
    ids=["fine", "huge pages", "limit below request", "sums above the total", "both at once", "windows"],
)
def test_validation(given: Pod, stated: tuple[str, ...]) -> None:
    assert refused(given) == stated
    assert plainly_valid(given) is (not stated)


def test_limit_ranges_follow_validation_one_by_one() -> None:
    most = LimitRangeItem(type="Pod", max={"cpu": Quantity.parse("2")})
    ratio = LimitRangeItem(type="Container", max_ratio={"cpu": Quantity.parse("1")})
    ranges = (LimitRange("b", items=(ratio,)), LimitRange("a", items=(most,)))
    assert refused(manifest(app("cpu=3", "cpu=2")), SERVER, *ranges) == (
        f'Pod "pod" is invalid: {BELOW}',
        'pods "pod" is forbidden: maximum cpu usage per Pod is 2, but request is 3',
    )
    assert refused(manifest(app("cpu=1", "cpu=2")), SERVER, *ranges) == (RATIO,)


def test_running_and_static_pods_are_not_rejected() -> None:
    given = manifest(app("cpu=3", "cpu=2"))
    assert refused(given._replace(phase="Running")) == ()
    assert refused(given._replace(static=True)) == ()


@pytest.mark.parametrize(
    "given",
    [
        manifest(app("cpu=-1")),
        manifest(app("cpu=1 hugepages-2Mi=3Mi", "hugepages-2Mi=3Mi")),
        manifest(app("cpu=1 hugepages-2Mi=2097152500m", "hugepages-2Mi=2097152500m")),
        manifest(app("hugepages-1Gi=1Gi", "hugepages-1Gi=1Gi")),
        manifest(app("cpu=1 hugepages-1Gi=1Gi", "hugepages-1Gi=2Gi")),
        manifest(app("cpu=1 hugepages-1Gi=1Gi")),
        manifest(app("example.com/card=1")),
        manifest(app("cpu=1", name="No_Label")),
        manifest(app("cpu=1", name="a" * 64)),
    ],
    ids=[
        "negative",
        "half a huge page",
        "a fraction of a byte",
        "huge pages alone",
        "huge pages above the request",
        "huge pages without a limit",
        "device without a limit",
        "name",
        "long name",
    ],
)
def test_rejected_pods_are_never_plainly_valid(given: Pod) -> None:
    assert refused(given)
    assert not plainly_valid(given)


INIT_POLICY = 'spec.initContainers[0].restartPolicy: Unsupported value: "Sometimes": supported values: '
NEVER = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"


@pytest.mark.parametrize(
    ("kind", "minor", "stated"),
    [
        (
            "initContainers",
            36,
            INIT_POLICY + '"Always", "Never", "OnFailure"',
        ),
        (
            "initContainers",
            33,
            INIT_POLICY + '"Always"',
        ),
        (
            "containers",
            33,
            "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers",
        ),
        ("containers", 34, ""),
    ],
)
def test_restart_policies_of_containers_are_those_of_the_release(kind: str, minor: int, stated: str) -> None:
    odd = replace(app("cpu=1"), restart_policy="Sometimes")
    given = manifest(app("cpu=1", name="other"))
    if kind == "containers":
        given = given._replace(containers=(odd,))
    else:
        given = given._replace(init_containers=(replace(odd, kind=ContainerKind.INIT),))
    assert refused(given, ServerRules(minor=minor)) == (
        (f'Pod "pod" is invalid: {stated}',) if stated else ()
    )
    assert not plainly_valid(given)


@pytest.mark.parametrize(
    ("restarts", "policy", "stated"),
    [
        (
            {"cpu", "memory"},
            "Never",
            f'spec.containers[0].resizePolicy: Invalid value: "RestartContainer": {NEVER}',
        ),
        (
            {"disk"},
            "Always",
            'spec.containers[0].resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"',
        ),
        ({"cpu"}, "OnFailure", ""),
        (set(), "Never", ""),
    ],
    ids=["restarts never", "other resource", "restarts", "not set"],
)
def test_resize_policies_must_suit_the_pod(restarts: set[str], policy: str, stated: str) -> None:
    given = manifest(replace(app("cpu=1"), restarts=frozenset(restarts)))._replace(restart_policy=policy)
    assert refused(given) == ((f'Pod "pod" is invalid: {stated}',) if stated else ())
    assert not (stated and plainly_valid(given))


def read(text: str) -> Pod:
    (found,) = decode_manifests(text, "pods.yaml").pods
    return found


POD = "apiVersion: v1\nkind: Pod\nmetadata: {metadata}\nspec: {spec}"
CONTAINERS = "containers: [{name: app, resources: {limits: {cpu: 1}}}]"
RESIZE = "resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]"
LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start"
OF_MANIFESTS = [
    (
        "init container that resizes restart",
        "{name: web}",
        f"{{{CONTAINERS}, initContainers: [{{name: init, {RESIZE}}}]}}",
        'spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must not ',
    ),
    (
        "variable of a resource",
        "{name: web}",
        "{containers: [{name: a, env: [{name: E, valueFrom: {resourceFieldRef: {resource: limits.disk}}}]}]}",
        'spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.disk"',
    ),
    (
        "size of a volume",
        "{name: web}",
        f"{{{CONTAINERS}, volumes: [{{name: v, emptyDir: {{sizeLimit: -1Gi}}}}]}}",
        "spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity",
    ),
    (
        "claim that the pod does not have",
        "{name: web}",
        "{containers: [{name: app, resources: {claims: [{name: a}]}}], resourceClaims: [{name: b}]}",
        'spec.containers[0].resources.claims[0]: Not found: "a": must be one of the names in',
    ),
    ("name", "{name: Web}", f"{{{CONTAINERS}}}", 'metadata.name: Invalid value: "Web": a lowercase RFC 1123'),
    (
        "generated name",
        "{generateName: W-}",
        f"{{{CONTAINERS}}}",
        'metadata.generateName: Invalid value: "W-": a lowercase RFC 1123 subdomain',
    ),
    (
        "namespace",
        "{name: web, namespace: Shop}",
        f"{{{CONTAINERS}}}",
        f'metadata.namespace: Invalid value: "Shop": {LABEL}',
    ),
    (
        "restart policy",
        "{name: web}",
        f"{{{CONTAINERS}, restartPolicy: Sometimes}}",
        'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", ',
    ),
    ("system", "{name: web}", f"{{{CONTAINERS}, os: {{}}}}", "spec.os.name: Required value: cannot be empty"),
]


@pytest.mark.parametrize(
    ("metadata", "spec", "stated"),
    [each[1:] for each in OF_MANIFESTS],
    ids=[each[0] for each in OF_MANIFESTS],
)
def test_fields_only_in_the_manifest_are_validated(metadata: str, spec: str, stated: str) -> None:
    given = read(POD.format(metadata=metadata, spec=spec))
    assert not plainly_valid(given)
    (found,) = refused(given)
    assert stated in found


def test_unused_amounts_must_be_valid() -> None:
    spec = f"{{{CONTAINERS}, volumes: [{{name: v, emptyDir: {{sizeLimit: much}}}}]}}"
    (found,) = refused(read(POD.format(metadata="{name: web}", spec=spec)))
    assert found.startswith('Pod in version "v1" cannot be handled as a Pod: quantities must match')


def test_pods_of_workloads_are_validated_with_their_template() -> None:
    spec = "{containers: [{name: app, env: [{name: E, valueFrom: {resourceFieldRef: {resource: disk}}}]}]}"
    head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}"
    (found,) = refused(read(f"{head}\nspec: {{template: {{spec: {spec}}}}}"))
    assert found.startswith('Pod "web-0" is invalid: spec.containers[0].env[0].valueFrom')


def test_amounts_are_reported_as_they_were_written() -> None:
    """Up to 1.33 with Go's own fields: a kubelet gets 1.5 as 1500m, while the API server validates 1.5."""
    spec = '{containers: [{name: app, resources: {limits: {"a.b/c": 1.5}}}]}'
    given = read(POD.format(metadata="{name: web}", spec=spec))
    rules = ServerRules(minor=33)
    handed = stored_pod(given, PodRules(server=rules))
    (found,) = PodServer(rules).create(handed).refusals
    assert "resource.int64Amount{value:15, scale:-1}" in found
