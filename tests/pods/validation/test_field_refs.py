"""Resources that the downward API may expose; the answers of real API servers are in the recorded cases."""

from __future__ import annotations

import dataclasses

import pytest

from cpuctl.diagnostics import Component, Severity
from cpuctl.pods.validation.lint import LintRules
from cpuctl.records import replace
from tests.pods.validation.linting import findings, messages, rules

RESOURCES = ", ".join(
    f'"{side}.{name}"' for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
DIVISOR = "only divisor's values 1m and 1 are supported with the cpu resource"


def variable(ref: str) -> str:
    return f"{{containers: [{{name: a, env: [{{name: X, valueFrom: {{resourceFieldRef: {ref}}}}}]}}]}}"


def volume(ref: str, *, projected: bool = False) -> str:
    source = f"{{downwardAPI: {{items: [{{path: x, resourceFieldRef: {ref}}}]}}}}"
    held = f"{{name: v, projected: {{sources: [{source}]}}}}" if projected else f"{{name: v, {source[1:]}"
    return f"{{containers: [{{name: a}}], volumes: [{held}]}}"


@pytest.mark.parametrize(
    ("ref", "wanted"),
    [
        ("{resource: limits.cpu}", []),
        ("{resource: limits.cpu, divisor: 1m}", []),
        ("{resource: limits.cpu, divisor: '0'}", []),
        ("{resource: requests.hugepages-2Mi, divisor: 1Mi}", []),
        ("{resource: limits.cpu, divisor: 2}", [f'divisor: Invalid value: "limits.cpu": {DIVISOR}']),
        ("{resource: ''}", ["resource: Required value"]),
        (
            "{resource: limits.gpu}",
            [f'resource: Unsupported value: "limits.gpu": supported values: {RESOURCES}'],
        ),
    ],
)
def test_resources_that_a_variable_may_expose(ref: str, wanted: list[str]) -> None:
    place = "spec.containers[0].env[0].valueFrom.resourceFieldRef"
    assert messages(findings(variable(ref))) == [f"{place}.{text}" for text in wanted]


@pytest.mark.parametrize("projected", [False, True])
def test_a_file_names_its_container(projected: bool) -> None:
    place = "spec.volumes[0].projected.sources[0].downwardAPI" if projected else "spec.volumes[0].downwardAPI"
    found = findings(volume("{resource: limits.cpu, divisor: 1k}", projected=projected))
    assert messages(found) == [
        f"{place}.resourceFieldRef.containerName: Required value",
        f'{place}.resourceFieldRef.divisor: Invalid value: "limits.cpu": {DIVISOR}',
    ]
    assert not findings(volume("{containerName: a, resource: limits.cpu}", projected=projected))


@pytest.mark.parametrize(("minor", "taken"), [(36, False), (37, True)])
def test_assigned_cpus_can_be_exposed_by_volumes_from_1_37_on(minor: int, taken: bool) -> None:
    ref = "{containerName: a, resource: assigned.cpuset}"
    found = findings(volume(ref), rules(minor))
    assert any(each.severity is Severity.ERROR for each in found) is not taken
    assert findings(variable(ref), rules(minor))


MAY_EXPOSE = "{containerName: a, resource: assigned.cpuset}"


def assigned(*, takes: bool, node: int = 37, static: bool = False) -> LintRules:
    """Return the rules of an API server 1.37 with the gate DownwardAPIAssignedResources on or off."""
    by = rules(37, node=node, static=static)
    return dataclasses.replace(
        by, pods=replace(by.pods, server=replace(by.pods.server, takes_assigned=takes))
    )


@pytest.mark.parametrize(
    ("metadata", "takes", "wanted"),
    [
        ("{name: web}", True, []),
        ("{name: web}", False, ["assigned-cpuset-dropped"]),
        ("{name: web, uid: u1}", False, ["assigned-cpuset-kept"]),
    ],
)
def test_a_disabled_gate_drops_assigned_cpus_from_new_pods(
    metadata: str, takes: bool, wanted: list[str]
) -> None:
    found = findings(volume(MAY_EXPOSE), assigned(takes=takes), metadata=metadata)
    assert [each.code for each in found] == wanted
    assert all(each.severity is Severity.WARNING for each in found)


def test_static_pods_lose_nothing_at_the_api_server() -> None:
    assert not findings(volume(MAY_EXPOSE), assigned(takes=False, static=True))


def test_an_older_kubelet_cannot_expose_assigned_cpus() -> None:
    (found,) = findings(volume(MAY_EXPOSE), assigned(takes=True, node=36))
    assert (found.code, found.rejected_by) == ("assigned-cpuset-unknown-to-kubelet", Component.KUBELET)
    assert found.message == "unsupported container resource : assigned.cpuset"
    assert found.note.startswith("kubelet 1.36 cannot set up the volume")
    # What never reaches it cannot fail there.
    (dropped,) = findings(volume(MAY_EXPOSE), assigned(takes=False, node=36))
    assert dropped.code == "assigned-cpuset-dropped"


def test_no_release_exposes_assigned_memory_yet() -> None:
    """KEP-6122 announces it for its second alpha."""
    (found,) = findings(volume("{containerName: a, resource: assigned.memset}"), assigned(takes=True))
    assert found.message.startswith('Unsupported value: "assigned.memset"')
    assert "second alpha" in found.note


def test_an_invalid_divisor() -> None:
    (found,) = findings(variable("{resource: limits.cpu, divisor: x}"))
    assert found.code == "bad-quantity"


def test_the_size_of_an_empty_dir() -> None:
    spec = "{containers: [{name: a}], volumes: [{name: v, emptyDir: {sizeLimit: %s}}]}"
    assert not findings(spec % "1Gi")
    assert messages(findings(spec % "-1")) == [
        "spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"
    ]


@pytest.mark.parametrize(
    ("minor", "kind", "policy", "wanted"),
    [
        (33, "initContainers", "Never", 'Unsupported value: "Never": supported values: "Always"'),
        (33, "containers", "Never", "Forbidden: may not be set for non-init containers"),
        (34, "initContainers", "Never", ""),
        (34, "containers", "Never", ""),
        (36, "initContainers", "Never", ""),
        (36, "containers", "Never", ""),
        (
            36,
            "containers",
            "Some",
            'Unsupported value: "Some": supported values: "Always", "Never", "OnFailure"',
        ),
    ],
)
def test_which_release_accepts_which_restart_policy(minor: int, kind: str, policy: str, wanted: str) -> None:
    other = "containers: [{name: b}], " if kind == "initContainers" else ""
    found = findings(f"{{{other}{kind}: [{{name: a, restartPolicy: {policy}}}]}}", rules(minor))
    place = f"spec.{kind}[0].restartPolicy"
    assert [text for text in messages(found) if text.startswith(place)] == (
        [f"{place}: {wanted}"] if wanted else []
    )


REF = "resourceFieldRef: {containerName: %s, resource: limits.cpu}"
NAMED = f"{{name: A, valueFrom: {{{REF}}}}}"
FILE = f"{{name: v, downwardAPI: {{items: [{{path: f, {REF}}}]}}}}"


@pytest.mark.parametrize("name", ["main", "setup", "nobody", "debug"])
@pytest.mark.parametrize("by", ["variable", "file"])
def test_a_reference_to_a_missing_container(name: str, by: str) -> None:
    """The API server accepts any name; a kubelet searches app and init containers."""
    env = f"env: [{NAMED % name}]" if by == "variable" else "env: []"
    volumes = FILE % name if by == "file" else ""
    found = findings(
        f"{{initContainers: [{{name: setup}}], containers: [{{name: main, {env}}}], volumes: [{volumes}]}}"
    )
    if name in ("main", "setup"):
        assert found == []
        return
    (finding,) = found
    assert (finding.rejected_by, finding.code) == (Component.KUBELET, "resource-field-ref-container")
    assert finding.message == f"container {name} not found"
    assert finding.place.path[-2:] == ("resourceFieldRef", "containerName")
