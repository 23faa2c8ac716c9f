"""Everything the API server says about the resources of one manifest, in its order.

A Pod gets its defaults first. A workload's pod template does not: what its defaults break is refused only
when a pod is made of it, so templates are looked at twice. Rule: ``pkg/apis/core/validation`` of 1.36;
``pkg/api/pod/warnings.go`` for what it takes, and warns of, which ``kubectl`` prints behind ``Warning:``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING

from cpuctl.diagnostics import Component, Severity
from cpuctl.object_names import label_problems, subdomain_problems
from cpuctl.pods.model import Pod, ResourceRequirements
from cpuctl.pods.rules import ServerRules
from cpuctl.pods.stored import admission_steps
from cpuctl.pods.validation.containers import check_containers, check_ephemeral_at_all
from cpuctl.pods.validation.draft import PodDraft
from cpuctl.pods.validation.field_refs import check_field_ref
from cpuctl.pods.validation.finding import Finding, Spot
from cpuctl.pods.validation.pod_resources import check_pod_resources
from cpuctl.pods.validation.requirements import check_requirements
from cpuctl.pods.validation.resource_names import container_resource
from cpuctl.quantity import Quantity

if TYPE_CHECKING:
    from cpuctl.pods.namespace_limits import LimitRange


_IN_BYTES = ("memory", "ephemeral-storage")
_CODE = "fractional-bytes"


def check_bytes(draft: PodDraft, pod: Pod) -> Iterator[Finding]:
    """Look for fractions of bytes in *pod*, which is the draft with or without defaults.

    The API server is silent about those of ``spec.resources``, which mean no more.
    """
    yield from _check_amounts(pod.overhead, draft.spec.child("overhead"))
    drafts = (*draft.containers, *draft.inits)
    for raw, container in zip(drafts, (*pod.containers, *pod.init_containers), strict=True):
        yield from _check_resources(container.resources, raw.spot.child("resources"))
    for ephemeral in draft.ephemeral:
        yield from _check_resources(ephemeral.resources, ephemeral.container.spot.child("resources"))
    if pod.resources is not None:
        yield from _check_resources(pod.resources, draft.spec.child("resources"))


def _check_resources(resources: ResourceRequirements, spot: Spot) -> Iterator[Finding]:
    yield from _check_amounts(resources.limits, spot.child("limits"))
    yield from _check_amounts(resources.requests, spot.child("requests"))


def _check_amounts(amounts: Mapping[str, Quantity], spot: Spot) -> Iterator[Finding]:
    for name in _IN_BYTES:
        amount = amounts.get(name)
        if amount is not None and amount.milli_value % 1000:
            detail = f'fractional byte value "{amount}" is invalid, must be an integer'
            fix = "m means thousandths: write M or Mi" if str(amount).endswith("m") else ""
            yield spot.key(name).warning(_CODE, detail, fix=fix)


_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_SYSTEMS = ("linux", "windows")


def check_at_server(
    draft: PodDraft, rules: ServerRules, limit_ranges: Sequence[LimitRange] = ()
) -> Iterator[Finding]:
    """Check a manifest as ``kubectl apply`` sends it, and the pods that are made of a workload.

    *limit_ranges* fill in defaults; what they refuse is not told here.
    """
    yield from check_metadata(draft)
    defaulted = defaulted_pod(draft, rules, limit_ranges)
    if not draft.is_template:
        yield from check_spec(draft, defaulted, rules)
        return
    at_once = list(check_spec(draft, _template(draft, rules), rules))
    yield from at_once
    said = {(finding.code, finding.place.path, finding.message) for finding in at_once}
    for finding in check_spec(draft, defaulted, rules):
        # Warnings about pods go to the controller that creates them: nobody reads those.
        news = (finding.code, finding.place.path, finding.message) not in said
        if news and finding.severity is Severity.ERROR:
            yield _later(finding, draft)


def defaulted_pod(draft: PodDraft, rules: ServerRules, limit_ranges: Sequence[LimitRange] = ()) -> Pod:
    """Return the pod with the API server's defaults; one that is stored already keeps what new ones lose."""
    new, pod = not draft.stored or draft.is_template, draft.pod
    ranges, before = (limit_ranges, None) if new else ((), pod)
    return reduce(lambda each, step: step.apply(each), admission_steps(pod, rules, ranges, before), pod)


def _template(draft: PodDraft, rules: ServerRules) -> Pod:
    """Return the pod of a template as it is: without pod-level resources where they are dropped."""
    return draft.pod if rules.pod_level or draft.stored else draft.pod._replace(resources=None)


def _later(finding: Finding, draft: PodDraft) -> Finding:
    """Word a refusal of the pods of a workload, whose own object the API server takes."""
    whose = f"the API server takes the {draft.kind}, and rejects its pods"
    field = finding.place.field.removeprefix(draft.spec.field).removeprefix(".")
    return finding._replace(
        place=finding.place._replace(field=f"spec.{field}" if field else "spec"),
        note=f"{whose}; {finding.note}" if finding.note else whose,
    )


def check_spec(draft: PodDraft, pod: Pod, rules: ServerRules) -> Iterator[Finding]:
    """Check what *pod* asks for, which is the draft with or without defaults."""
    yield from check_containers(draft, pod, rules)
    if rules.pod_level:
        yield from check_pod_resources(draft, pod, draft.spec, rules)
    yield from _check_overhead(draft, pod, rules)
    yield from _check_system(draft)
    yield from _check_volumes(draft, rules)
    yield from check_ephemeral_at_all(draft)
    yield from check_bytes(draft, pod)


def check_metadata(draft: PodDraft) -> Iterator[Finding]:
    """Check what the object is called, and its namespace."""
    name, prefix = draft.pod.name, draft.generate_name
    if prefix:
        # A dash at the end is fine: letters follow.
        for problem in subdomain_problems(f"{prefix[:-1]}a" if prefix.endswith("-") else prefix):
            yield draft.metadata.child("generateName").invalid("object-name", prefix, problem)
    spot = draft.metadata.child("name")
    if name:
        for problem in subdomain_problems(name):
            yield spot.invalid("object-name", name, problem)
    elif not prefix:
        yield spot.required("object-name", "name or generateName is required")
    for problem in label_problems(draft.pod.namespace):
        yield draft.metadata.child("namespace").invalid("namespace-name", draft.pod.namespace, problem)


def check_restart(pod: Pod, spec: Spot) -> Iterator[Finding]:
    """Check the pod's restart policy, which the schema of manifests checks where they are linted."""
    if pod.restart_policy not in _RESTART_POLICIES:
        yield spec.child("restartPolicy").unsupported(
            "unsupported-value", pod.restart_policy, _RESTART_POLICIES
        )


def _check_overhead(draft: PodDraft, pod: Pod, rules: ServerRules) -> Iterator[Finding]:
    """Check overhead, which only the runtime class may set (admission plug-in ``RuntimeClass``)."""
    spot = draft.spec.child("overhead")
    amounts = ResourceRequirements(limits=pod.overhead)
    for finding in check_requirements(amounts, spot, partial(container_resource, rules), rules):
        # The API server checks overhead as if it were limits.
        path = tuple(step for step in finding.place.path if step != "limits")
        yield finding._replace(place=finding.place._replace(path=path))
    if pod.overhead and not draft.runtime_class and not draft.stored and not pod.static:
        why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        fix = "leave it to the admission plug-in RuntimeClass, which fills it in"
        yield spot.warning("overhead-without-runtime-class", why, by=Component.API_SERVER, fix=fix)


def _check_volumes(draft: PodDraft, rules: ServerRules) -> Iterator[Finding]:
    for spot, size in draft.empty_dirs:
        if size.sign < 0:
            yield spot.forbidden("empty-dir-size", "SizeLimit field must be a valid resource quantity")
    for ref in draft.field_refs:
        yield from check_field_ref(ref, rules)


def _check_system(draft: PodDraft) -> Iterator[Finding]:
    spot: Spot = draft.spec.child("os")
    name = draft.pod.os_name
    if draft.os_given and not name:
        yield spot.child("name").required("os-name", "cannot be empty")
    elif name and name not in _SYSTEMS:
        yield spot.unsupported("os-name", name, _SYSTEMS)
