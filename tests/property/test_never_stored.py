"""All commands agree on whether the API server stores a pod: what one rejects, all reject."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cpuctl.cli.app import run
from cpuctl.diagnostics import Component, Severity
from cpuctl.documents.document import Document
from cpuctl.engine.pod_facts import NodeOfPods, pod_facts
from cpuctl.engine.pod_server import PodServer
from cpuctl.pods.reading.manifests import decode_manifests
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.pods.validation.lint import lint_document
from cpuctl.pods.validation.objects import documents_of
from tests.pods.validation.linting import node_rules, rules, server_rules

AMOUNTS = ("0", "1", "2", "0.5", "1.5", "500m", "1Gi", "2Gi", "3Mi", "-1")
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
        "restartPolicy": st.sampled_from(["Always", "Never", "OnFailure", "Sometimes"]),
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
def test_linting_rejects_exactly_what_planning_rejects(pod: dict[str, Any], minor: int) -> None:
    """Fields that a release does not know are rejected for kubectl, and dropped for other clients."""
    by, server = rules(minor), server_rules(minor)
    pod_rules = PodRules(server=server, node=node_rules(minor))
    (document,) = documents_of(json.dumps(pod).encode(), "pods.json")
    assert isinstance(document, Document)
    (linted,) = lint_document(document, by)
    found = [
        str(each)
        for each in linted.findings
        if each.severity is Severity.ERROR
        and each.rejected_by is Component.API_SERVER
        and each.code != "unknown-field"
    ]
    (read,) = decode_manifests(json.dumps(pod), "pods.json").pods
    stated = PodServer(server).create(stored_pod(read, pod_rules)).refusals
    assert bool(found) == bool(stated)
    for message in found:
        assert message in stated[0]
    facts = pod_facts(read, NodeOfPods(rules=pod_rules))
    assert facts.creation.refusals == stated


limit_ranges = st.fixed_dictionaries(
    {"type": st.sampled_from(["Container", "Pod"])},
    optional={
        "max": st.sampled_from([{"cpu": "1"}, {"memory": "1Gi"}]),
        "min": st.just({"cpu": "1"}),
        "maxLimitRequestRatio": st.just({"cpu": "1"}),
    },
)
quotas = st.sampled_from([{"pods": "1"}, {"requests.cpu": "1"}, {"limits.memory": "2Gi", "pods": "2"}])
governing = st.tuples(st.none() | limit_ranges, st.none() | quotas)
NODE = ("-m", "synthetic:1s2n8c2t")


def objects(specs: Sequence[dict[str, Any]], governed: tuple[Any, Any]) -> list[dict[str, Any]]:
    limits, hard = governed
    heads: list[tuple[str, Any]] = [("LimitRange", {"limits": [limits]})] if limits else []
    heads += [("ResourceQuota", {"hard": hard})] if hard else []
    heads += [("Pod", spec) for spec in specs]
    return [
        {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"{kind.lower()}-{number}"}, "spec": spec}
        for number, (kind, spec) in enumerate(heads)
    ]


def answer(*words: str) -> dict[str, Any]:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        run((*words, "-q", "-o", "json"))
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def rejected_by_commands(listed: list[dict[str, Any]], folder: Path) -> dict[str, set[str]]:
    """Return the pods that are never stored, by command."""
    file, timeline = folder / "pods.json", folder / "timeline.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": listed}))
    names = [each["metadata"]["name"] for each in listed if each["kind"] == "Pod"]
    events = [{"at": f"{at}s", "admit": name} for at, name in enumerate(names)]
    history = {"apiVersion": "cpuctl/v1alpha1", "kind": "Timeline", "machine": NODE[1], "events": events}
    timeline.write_text(json.dumps({**history, "pods": listed}))
    given = ("-f", str(file))
    planned = answer("plan", *NODE, *given)["pods"]
    # Pods that a kubelet rejects, or whose claims are not described, are not resized.
    resizable = [each["name"] for each in planned if each["outcome"] == "Admitted" or "rejections" in each]
    sets = [word for name in resizable for word in ("--set", f"{name}/app:memory=1Gi")]
    resized = answer("resize", *NODE, *given, *sets)["pods"] if sets else []
    linted = answer("pods", "lint", *given)["findings"]
    return {
        "plan": {each["name"] for each in planned if "rejections" in each},
        "explain": {name for name in names if "rejections" in answer("explain", name, *NODE, *given)["pod"]},
        "show": {
            each["name"] for each in answer("pods", "show", *given)["pods"] if each["apiServer"]["rejections"]
        },
        "lint": {each["object"]["name"] for each in linted if each["severity"] == "error"},
        "resize": {
            each["name"]
            for each in resized
            if (each["message"] or "").startswith("the API server rejects the pod itself")
        },
        "replay": {
            entry["text"].partition(" is rejected")[0].removeprefix("default/")
            for entry in answer("replay", str(timeline))["entries"]
            if entry["what"] == "Forbidden"
        },
    }


def named(spec: dict[str, Any]) -> dict[str, Any]:
    """Give the first container a name that a resize can refer to."""
    first, *others = spec["containers"]
    return {
        **spec,
        "containers": [{**first, "name": "app"}, *(each for each in others if each["name"] != "app")],
    }


@settings(max_examples=10)
@example([{"containers": [{"name": "app", "image": "app"}], "resourceClaims": [{"name": "a"}]}], (None, None))
@given(st.lists(specs.map(named), min_size=1, max_size=3), governing)
def test_commands_reject_the_same_pods(specs: list[dict[str, Any]], governed: tuple[Any, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = rejected_by_commands(objects(specs, governed), Path(folder))
    assert all(names == found["plan"] for names in found.values()), found
