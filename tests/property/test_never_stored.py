"""All commands agree on whether the API server stores a pod: what one refuses, each of them refuses."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.documents.document import Document
from cpuctl.engine.pod_facts import NodeOfPods, pod_facts
from cpuctl.engine.pod_server import PodServer
from cpuctl.pods.reading.manifests import decode_manifests
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import handed_pod
from cpuctl.pods.validation.finding import Refuser, Severity
from cpuctl.pods.validation.lint import lint_document
from cpuctl.pods.validation.texts import documents_of
from tests.pods.validation.linting import node_rules, rules, server_rules

AMOUNTS = ("0", "1", "2", "500m", "1Gi", "2Gi", "3Mi", "-1")
RESOURCES = ("cpu", "memory", "hugepages-2Mi", "ephemeral-storage", "example.com/card", "card")

amounts = st.dictionaries(st.sampled_from(RESOURCES), st.sampled_from(AMOUNTS), max_size=2)
requirements = st.fixed_dictionaries({}, optional={"requests": amounts, "limits": amounts})
claims = st.lists(st.fixed_dictionaries({"name": st.sampled_from(["a", "b"])}), min_size=1, max_size=2)
field_refs = st.fixed_dictionaries(
    {"resource": st.sampled_from(["limits.cpu", "requests.memory", "limits.disk", "assigned.cpuset"])},
    optional={"containerName": st.just("app"), "divisor": st.sampled_from(["1", "1m", "3", "1Mi"])},
)
variables = st.builds(lambda ref: [{"name": "E", "valueFrom": {"resourceFieldRef": ref}}], field_refs)
resize_policies = st.lists(
    st.fixed_dictionaries(
        {
            "resourceName": st.sampled_from(["cpu", "memory", "disk"]),
            "restartPolicy": st.sampled_from(["NotRequired", "RestartContainer", "Never"]),
        }
    ),
    max_size=2,
)
containers = st.fixed_dictionaries(
    {"name": st.sampled_from(["app", "b", "C", "x" * 64]), "image": st.just("app")},
    optional={
        "resources": requirements | st.builds(lambda names: {"claims": names}, claims),
        "restartPolicy": st.sampled_from(["Always", "Never", "Sometimes"]),
        "resizePolicy": resize_policies,
        "env": variables,
    },
)
volumes = st.sampled_from(
    [
        [{"name": "v", "emptyDir": {"sizeLimit": "-1Gi"}}],
        [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
        [
            {
                "name": "v",
                "downwardAPI": {"items": [{"path": "p", "resourceFieldRef": {"resource": "limits.cpu"}}]},
            }
        ],
    ]
)
specs = st.fixed_dictionaries(
    {"containers": st.lists(containers, min_size=1, max_size=2, unique_by=lambda each: str(each["name"]))},
    optional={
        "initContainers": st.lists(
            containers.map(lambda each: {**each, "name": f"init-{each['name']}"}), max_size=1
        ),
        "resources": requirements,
        "restartPolicy": st.sampled_from(["Always", "Never", "OnFailure"]),
        "os": st.fixed_dictionaries({"name": st.sampled_from(["linux", "windows", "mac"])}),
        "volumes": volumes,
        "overhead": st.fixed_dictionaries({}, optional={"cpu": st.sampled_from(AMOUNTS)}),
        "resourceClaims": st.just([{"name": "a"}]),
    },
)
metadata = st.fixed_dictionaries(
    {"name": st.sampled_from(["web", "Web", "web.a", "-web"])},
    optional={
        "namespace": st.sampled_from(["shop", "Shop", "a.b"]),
        "generateName": st.sampled_from(["w-", "W-"]),
    },
)
pods = st.fixed_dictionaries(
    {"apiVersion": st.just("v1"), "kind": st.just("Pod"), "metadata": metadata, "spec": specs}
)


@given(pods, st.integers(27, 38))
def test_linting_refuses_just_what_planning_refuses(pod: dict[str, Any], minor: int) -> None:
    """Fields that a release does not know are refused to kubectl, and dropped for other clients."""
    by, server = rules(minor), server_rules(minor)
    pod_rules = PodRules(server=server, node=node_rules(minor))
    (document,) = documents_of(json.dumps(pod).encode(), "pods.json")
    assert isinstance(document, Document)
    (linted,) = lint_document(document, by)
    found = [
        each.message
        for each in linted.findings
        if each.severity is Severity.ERROR
        and each.refused_by is Refuser.API_SERVER
        and each.code != "unknown-field"
    ]
    (read,) = decode_manifests(json.dumps(pod), "pods.json").pods
    said = PodServer(server).create(handed_pod(read, pod_rules)).refusals
    assert bool(found) == bool(said)
    for message in found:
        assert message in said[0]
    facts = pod_facts(read, NodeOfPods(rules=pod_rules))
    assert facts.creation.refusals == said
