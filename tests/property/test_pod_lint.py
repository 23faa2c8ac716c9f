"""Laws of linting: it never crashes, and a manifest without errors can be planned."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from cpuctl.diagnostics import Severity
from cpuctl.documents.document import Document
from cpuctl.engine.pod_lints import KubeletView, PodLintSubject, lint_pod
from cpuctl.errors import InputError
from cpuctl.pods.validation.lint import Linted, LintRules, lint_document
from cpuctl.pods.validation.objects import documents_of
from cpuctl.quantity import Quantity
from tests.pods.validation.linting import rules, shapes
from tests.property.test_pods import objects
from tests.support.manifests import read_pods
from tests.support.pods import stored

KINDS = ("Pod", "List", "Deployment", "CronJob", "StatefulSet")
AMOUNTS = ("0", "1", "2", "1500m", "100u", "-1", "1Gi", "1.5Gi", "1G", "0.5", "2Mi", "1e400", "x", "")
NAMES = (
    "cpu",
    "memory",
    "hugepages-2Mi",
    "hugepages-x",
    "example.com/gpu",
    "ephemeral-storage",
    "gpu",
    "a/b/c",
)

settings = st.builds(rules, st.integers(27, 38), static=st.booleans(), cgroup_version=st.sampled_from([1, 2]))
amounts = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(AMOUNTS) | st.integers(-1, 9), max_size=3)
odd: st.SearchStrategy[Any] = st.none() | st.integers(0, 3) | st.just("x") | st.just([])
claims = st.lists(
    st.fixed_dictionaries({}, optional={"name": st.sampled_from(["a", "b"]), "request": st.just("r")})
)
requirements = st.fixed_dictionaries(
    {}, optional={"requests": amounts | odd, "limits": amounts, "claims": claims}
)
resize_policies = st.lists(
    st.fixed_dictionaries(
        {
            "resourceName": st.sampled_from(["cpu", "memory"]),
            "restartPolicy": st.sampled_from(["NotRequired", "RestartContainer"]),
        }
    ),
    max_size=2,
)
containers = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "C"])},
    optional={
        "resources": requirements | odd,
        "restartPolicy": st.sampled_from(["Always", "Never"]),
        "resizePolicy": resize_policies,
    },
)
specs = st.fixed_dictionaries(
    {"containers": st.lists(containers | odd, max_size=3)},
    optional={
        "initContainers": st.lists(containers, max_size=2) | odd,
        "ephemeralContainers": st.lists(containers, max_size=1),
        "resources": requirements | odd,
        "overhead": amounts,
        "os": st.fixed_dictionaries({"name": st.sampled_from(["linux", "windows", "x"])}) | odd,
        "resourceClaims": st.lists(st.fixed_dictionaries({"name": st.just("a")}), max_size=1),
        "restartPolicy": st.sampled_from(["Always", "Never", "x"]),
        "priority": odd,
    },
)
metadata = st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from(["web", "Web", ""]), "uid": st.just("1")}
)
pods = st.fixed_dictionaries(
    {"apiVersion": st.just("v1"), "kind": st.just("Pod"), "metadata": metadata | odd, "spec": specs | odd}
)


def lint(text: str, by: LintRules) -> list[Linted]:
    return [
        linted
        for document in documents_of(text.encode(errors="surrogatepass"), "input")
        if isinstance(document, Document)
        for linted in lint_document(document, by)
    ]


def as_yaml(value: object) -> str:
    """Write YAML that every parser reads the same way as JSON."""
    return "---\n" + json.dumps(value, indent=1)


def has_errors(linted: Linted) -> bool:
    return any(finding.severity is Severity.ERROR for finding in linted.findings)


@given(objects, st.sampled_from(KINDS), settings)
def test_no_object_ends_in_a_traceback(value: Any, kind: str, by: LintRules) -> None:
    document = {**(value if isinstance(value, dict) else {"spec": value}), "kind": kind}
    assert lint(json.dumps(document), by)


@example("---", rules())
@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")), settings)
def test_no_text_ends_in_a_traceback(text: str, by: LintRules) -> None:
    found = list(documents_of(text.encode(errors="surrogatepass"), "input"))
    assert found
    lint(text, by)


@given(pods, settings)
def test_a_pod_without_errors_can_be_planned(pod: Mapping[str, Any], by: LintRules) -> None:
    """The reverse does not hold: planning requires less of a pod than the API server."""
    (linted,) = lint(json.dumps(pod), by)
    try:
        (planned,) = read_pods(json.dumps(pod), "input").pods
    except InputError:
        assert has_errors(linted)
        return
    if not has_errors(linted):
        assert linted.pod is not None
        kept = stored(planned, by.server)
        assert linted.pod.all_containers == kept.all_containers
        assert linted.pod.restart_policy == kept.restart_policy


@given(pods, settings, st.sampled_from(["", "static", "none"]), st.sampled_from(["", "Static"]))
def test_pods_without_errors_are_checked_for_the_kubelet(
    pod: Mapping[str, Any], by: LintRules, cpu_policy: str, memory_policy: str
) -> None:
    (linted,) = lint(json.dumps(pod), by)
    assert (linted.pod is None) == has_errors(linted)
    if linted.pod is not None and linted.draft is not None:
        view = KubeletView(rules=by.pods.node, cpu_policy=cpu_policy, memory_policy=memory_policy)
        for finding in lint_pod(PodLintSubject(linted.pod, linted.draft.spec, view)):
            assert finding.place.path[: len(linted.draft.spec.path)] == linted.draft.spec.path


@given(pods, settings)
def test_notation_changes_only_places(pod: Mapping[str, Any], by: LintRules) -> None:
    from_json, from_yaml = (lint(text, by) for text in (json.dumps(pod), as_yaml(pod)))
    assert [each.findings for each in from_json] == [each.findings for each in from_yaml]


@given(pods, settings)
def test_findings_about_existing_parts_point_at_them(pod: Mapping[str, Any], by: LintRules) -> None:
    (document,) = documents_of(as_yaml(pod).encode(), "input")
    assert isinstance(document, Document)
    for linted in lint_document(document, by):
        for finding in linted.findings:
            line = document.line_of(finding.place.path)
            assert line in (None, document.nearest_position(finding.place.path).line)


@given(pods, settings)
def test_pods_and_their_workloads_are_rejected_for_the_same_reasons(
    pod: Mapping[str, Any], by: LintRules
) -> None:
    """If a pod is rejected, its workload or the workload's pods are rejected for the same reason.

    A kubelet's files contain no workloads.
    """
    spec, by = pod["spec"], replace(by, static=False)
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    workload = {**head, "spec": {"template": {"spec": spec}}}
    named = {**pod, "metadata": {"name": "web"}}
    (one,), (other,) = lint(json.dumps(named), by), lint(json.dumps(workload), by)
    assert _refusals(one) <= _refusals(other)


def _refusals(linted: Linted) -> set[tuple[str, str]]:
    errors = (each for each in linted.findings if each.severity is Severity.ERROR)
    return {
        (each.code, each.message.replace("Deployment", "Pod").replace("spec.template.spec", "spec"))
        for each in errors
        if each.code != "ephemeral-containers"
    }


QUANTITY = re.compile(shapes().schema["$defs"]["quantity"]["pattern"], re.ASCII)


@given(st.from_regex(r"\A[+-]?[0-9.]{0,4}([eEinumkKMGTP]{0,2}[-+]?[0-9]?)\Z") | st.sampled_from(AMOUNTS))
def test_the_schema_accepts_the_amounts_that_kubernetes_accepts(text: str) -> None:
    """Except those without a digit, which the API server reads as zero and are never intended."""
    taken = True
    try:
        Quantity.parse(text)
    except ValueError as error:
        taken = "cpuctl computes" in str(error)
    has_digits = any(char.isdigit() for char in re.split("[eE]", text)[0])
    assert (QUANTITY.search(text) is not None) == (taken and has_digits)
