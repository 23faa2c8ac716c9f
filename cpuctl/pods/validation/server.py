"""All messages of the API server about the resources of one manifest, in its order.

A Pod gets its defaults first. A workload's pod template does not: errors caused by defaults appear only
when a pod is created from it, so templates are checked twice.

Rule: ``pkg/apis/core/validation`` of 1.36: ``validateContainerCommon``, ``validateResizePolicy`` and their
callers for containers; ``validatePodResources`` and ``validatePodResourceConsistency`` for
``spec.resources`` (KEP-2837), or the code of 1.32 and 1.33 if it differs; ``pkg/api/pod/warnings.go`` for
what it accepts with a warning, which ``kubectl`` prints after ``Warning:``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING

from cpuctl.diagnostics import Component, Severity
from cpuctl.object_names import label_problems, subdomain_problems
from cpuctl.pods.model import Pod, ResourceRequirements
from cpuctl.pods.requests import container_limits, container_requests
from cpuctl.pods.rules import ServerRules
from cpuctl.pods.stored import admission_steps
from cpuctl.pods.validation.draft import ContainerDraft, EphemeralDraft, PodDraft
from cpuctl.pods.validation.field_refs import check_field_ref
from cpuctl.pods.validation.finding import FieldPath, Finding
from cpuctl.pods.validation.resource_requirements import (
    check_claims,
    check_mirrored_claims,
    check_pod_claims,
    check_requirements,
    container_resource,
    is_hugepages,
    pod_level_resource,
)
from cpuctl.quantity import Quantity
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.pods.limit_ranges import LimitRange


_POLICY_CODE = "resize-policy"
_RESOURCES = ("cpu", "memory")
_RESTARTS = ("NotRequired", "RestartContainer")
_INIT_SINCE = 36
"""The first minor that accepts resize policies of ordinary init containers, with this one exception."""


def check_resize_policy(raw: ContainerDraft, pod_restart: str, rules: ServerRules) -> Iterator[Finding]:
    """Check the resize policies of any container; *pod_restart* is the pod's restart policy."""
    field_path = raw.field_path.child("resizePolicy")
    seen: set[str] = set()
    for number, policy in enumerate(raw.resize_policy):
        if policy.resource in seen:
            yield _unquoted(
                field_path.item(number).duplicate(_POLICY_CODE, policy.resource), policy.resource, rules
            )
        seen.add(policy.resource)
        if not policy.resource:
            yield field_path.required(_POLICY_CODE)
        elif policy.resource not in _RESOURCES:
            found = field_path.unsupported(_POLICY_CODE, policy.resource, _RESOURCES)
            yield _unquoted(found, policy.resource, rules)
        if not policy.restart:
            yield field_path.required(_POLICY_CODE)
        elif policy.restart not in _RESTARTS:
            yield field_path.unsupported(_POLICY_CODE, policy.restart, _RESTARTS)
        if pod_restart == "Never" and policy.restart != "NotRequired":
            owner = "pod " if rules.minor >= _INIT_SINCE else ""
            why = f"must be 'NotRequired' when {owner}`restartPolicy` is 'Never'"
            yield field_path.invalid(_POLICY_CODE, policy.restart, why)


def _unquoted(finding: Finding, name: str, rules: ServerRules) -> Finding:
    """Remove the quotes around a resource's name if the release prints none."""
    plain = (
        finding.message
        if rules.quotes_names
        else finding.message.replace(f'value: "{name}"', f"value: {name}", 1)
    )
    return replace(finding, message=plain)


def check_init_policy(raw: ContainerDraft, minor: int) -> Iterator[Finding]:
    """Check for invalid resize policies of init containers."""
    field_path = raw.field_path.child("resizePolicy")
    sidecar = raw.restart_policy == "Always"
    for number, policy in enumerate(raw.resize_policy if minor >= _INIT_SINCE and not sidecar else ()):
        if policy.restart == "RestartContainer":
            why = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield field_path.item(number).child("restartPolicy").invalid(_POLICY_CODE, policy.restart, why)


_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"


def check_containers(draft: PodDraft, pod: Pod, rules: ServerRules) -> Iterator[Finding]:
    """Check the containers of *pod*, which is the draft with or without defaults."""
    if not draft.containers:
        yield draft.spec.child("containers").required("containers-missing")
    names: set[str] = set()
    for raw, container in zip(draft.containers, pod.containers, strict=True):
        yield from _check_container(raw, container.resources, draft, rules)
        yield from _check_unique(raw, names)
        yield from check_restart_policy(raw, rules, init=False)
    for raw, container in zip(draft.inits, pod.init_containers, strict=True):
        yield from _check_container(raw, container.resources, draft, rules)
        yield from _check_unique(raw, names)
        yield from check_restart_policy(raw, rules, init=True)
        yield from check_init_policy(raw, rules.minor)
    for ephemeral in draft.ephemeral:
        yield from _check_ephemeral(ephemeral, draft, rules, names)


def _check_container(
    raw: ContainerDraft, resources: ResourceRequirements, draft: PodDraft, rules: ServerRules
) -> Iterator[Finding]:
    name = raw.field_path.child("name")
    if not raw.name:
        yield name.required("container-name")
    else:
        for problem in label_problems(raw.name):
            yield name.invalid("container-name", raw.name, problem)
    for ref in raw.field_refs:
        yield from check_field_ref(ref, rules)
    where = raw.field_path.child("resources")
    yield from check_requirements(resources, where, partial(container_resource, rules), rules)
    if rules.claims or draft.stored:
        yield from check_claims(raw.claims, draft.claim_names, where.child("claims"))
    if rules.resize_policies or draft.stored:
        yield from check_resize_policy(raw, draft.restart_policy, rules)


def _check_unique(raw: ContainerDraft, names: set[str]) -> Iterator[Finding]:
    if raw.name and raw.name in names:
        yield raw.field_path.child("name").duplicate("container-name-repeated", raw.name)
    names.add(raw.name)


def _check_ephemeral(
    ephemeral: EphemeralDraft, draft: PodDraft, rules: ServerRules, names: set[str]
) -> Iterator[Finding]:
    raw = ephemeral.container
    yield from _check_container(raw, ephemeral.resources, draft, rules)
    yield from _check_unique(raw, names)
    for field in ephemeral.forbidden:
        note = "it shares the pod's resources" if field == "resources" else ""
        yield raw.field_path.child(field).forbidden("ephemeral-container-field", _NOT_EPHEMERAL, note=note)


def check_restart_policy(raw: ContainerDraft, rules: ServerRules, *, init: bool) -> Iterator[Finding]:
    """Check a container's own restart policy."""
    known, field_path = rules.restart_policies, raw.field_path.child("restartPolicy")
    if not raw.restart_policy or known is None:
        return
    if not init and len(known) == 1:
        yield field_path.forbidden("container-restart-policy", "may not be set for non-init containers")
    elif raw.restart_policy not in known:
        yield field_path.unsupported("container-restart-policy", raw.restart_policy, known)


def check_ephemeral_at_all(draft: PodDraft) -> Iterator[Finding]:
    """Check that ephemeral containers are only added through their subresource, to a running pod."""
    field_path: FieldPath = draft.spec.child("ephemeralContainers")
    fix = "add them to the running pod with kubectl debug"
    if draft.ephemeral and draft.is_template:
        why = "ephemeral containers not allowed in pod template"
        yield field_path.forbidden("ephemeral-containers", why, fix=fix)
    elif draft.ephemeral and not draft.stored:
        yield field_path.forbidden("ephemeral-containers", "cannot be set on create", fix=fix)


_REWRITTEN_SINCE = 34
"""The first minor that refuses Windows pods, and compares only resources set in ``spec.resources``."""
_ZERO = Quantity()


def check_pod_resources(draft: PodDraft, pod: Pod, spec: FieldPath, rules: ServerRules) -> Iterator[Finding]:
    """Check the pod-level resources of *pod*, which is the draft with or without defaults."""
    if pod.resources is None:
        return
    resources = spec.child("resources")
    if pod.os_name == "windows" and rules.minor >= _REWRITTEN_SINCE:
        fix = "set resources on the containers"
        yield resources.forbidden("pod-level-on-windows", "may not be set for a windows pod", fix=fix)
        return
    if draft.pod_level is not None:
        verb = "may not" if rules.minor >= _REWRITTEN_SINCE else "cannot"
        why = f"claims {verb} be set for Resources at pod-level"
        yield resources.child("claims").forbidden("pod-level-claims", why)
    for finding in check_requirements(
        pod.resources, resources, lambda name, field_path: pod_level_resource(name, field_path, rules), rules
    ):
        yield _with_origin(finding, draft)
    claims = draft.pod_level or ()
    yield from check_claims(claims, draft.claim_names, resources.child("claims"))
    yield from _check_requests(pod, pod.resources, resources, rules)
    yield from _check_hugepages(pod, pod.resources, resources, rules)
    yield from _check_containers(pod, pod.resources, spec)


def _with_origin(finding: Finding, draft: PodDraft) -> Finding:
    """Add the source of an amount that is not in the manifest, if it is the one that exceeds another."""
    written, name = draft.pod.resources, str(finding.place.path[-1])
    if finding.code != "limit-below-request" or written is None:
        return finding
    raised = finding.fix.partition(", or ")[0]
    if name not in written.requests:
        # No pod may request less than its containers do.
        note = "the request defaults to the sum of the containers' requests"
        return replace(finding, note=note, fix=raised)
    if name not in written.limits:
        return replace(finding, note="the limit defaults to the sum of the containers' limits", fix=raised)
    needed = container_requests(draft.pod).get(name, _ZERO)
    return replace(finding, fix=raised) if written.limits[name] < needed else finding


def _check_requests(
    pod: Pod, resources: ResourceRequirements, field_path: FieldPath, rules: ServerRules
) -> Iterator[Finding]:
    for name, needed in container_requests(pod).items():
        given = resources.requests.get(name)
        if given is None and rules.minor >= _REWRITTEN_SINCE:
            continue
        given = given or _ZERO
        if given < needed:
            why = f"must be greater than or equal to aggregate container requests of {needed}"
            place = field_path.child("requests").key(name)
            fix = f"set requests.{name}: {needed}"
            yield place.invalid("pod-request-below-containers", str(given), why, fix=fix)


def _check_hugepages(
    pod: Pod, resources: ResourceRequirements, field_path: FieldPath, rules: ServerRules
) -> Iterator[Finding]:
    if not rules.hugepages:
        return
    for name, needed in container_limits(pod).items():
        given = resources.limits.get(name)
        if is_hugepages(name) and given is not None and given < needed:
            why = f"must be greater than or equal to aggregate container limits of {needed}"
            place = field_path.child("limits").key(name)
            fix = f"set limits.{name}: {needed}"
            yield place.invalid("pod-limit-below-containers", str(given), why, fix=fix)


def _check_containers(pod: Pod, resources: ResourceRequirements, spec: FieldPath) -> Iterator[Finding]:
    """Compare every app container's limits with the pod's; those of init containers are not checked."""
    for number, container in enumerate(pod.containers):
        limits = spec.child("containers").item(number).child("resources", "limits")
        for name, limit in container.resources.limits.items():
            bound = resources.limits.get(name)
            if bound is not None and bound < limit:
                # The API server derives the name of the field from the pod-level resources.
                field = f"{spec.field}.resources.containers[{number}][{name}].limits"
                place = FieldPath((*limits.path, name), field)
                why = f"must be less than or equal to pod limits of {bound}"
                requested = container.resources.requests.get(name, _ZERO)
                fix = f"set limits.{name}: {limit} in spec.resources"
                if requested <= bound:
                    fix = f"set limits.{name}: {bound}, or {limit} in spec.resources"
                yield place.invalid("container-limit-above-pod", str(limit), why, fix=fix)


_IN_BYTES = ("memory", "ephemeral-storage")
_FRACTION_CODE = "fractional-bytes"


def check_bytes(draft: PodDraft, pod: Pod) -> Iterator[Finding]:
    """Report fractions of bytes in *pod*, which is the draft with or without defaults.

    The API server does not report those of ``spec.resources``, which are equally meaningless.
    """
    yield from _check_amounts(pod.overhead, draft.spec.child("overhead"))
    drafts = (*draft.containers, *draft.inits)
    for raw, container in zip(drafts, (*pod.containers, *pod.init_containers), strict=True):
        yield from _check_resources(container.resources, raw.field_path.child("resources"))
    for ephemeral in draft.ephemeral:
        yield from _check_resources(ephemeral.resources, ephemeral.container.field_path.child("resources"))
    if pod.resources is not None:
        yield from _check_resources(pod.resources, draft.spec.child("resources"))


def _check_resources(resources: ResourceRequirements, field_path: FieldPath) -> Iterator[Finding]:
    yield from _check_amounts(resources.limits, field_path.child("limits"))
    yield from _check_amounts(resources.requests, field_path.child("requests"))


def _check_amounts(amounts: Mapping[str, Quantity], field_path: FieldPath) -> Iterator[Finding]:
    for name in _IN_BYTES:
        amount = amounts.get(name)
        if amount is not None and amount.milli_value % 1000:
            detail = f'fractional byte value "{amount}" is invalid, must be an integer'
            fix = "use a unit such as Mi or Gi (m means thousandths)" if str(amount).endswith("m") else ""
            yield field_path.key(name).warning(_FRACTION_CODE, detail, fix=fix)


_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_SYSTEMS = ("linux", "windows")


def check_at_server(
    draft: PodDraft, rules: ServerRules, limit_ranges: Sequence[LimitRange] = ()
) -> Iterator[Finding]:
    """Check a manifest as ``kubectl apply`` sends it, and the pods that a workload creates.

    *limit_ranges* fill in defaults; their refusals are not reported here.
    """
    yield from check_metadata(draft)
    defaulted = defaulted_pod(draft, rules, limit_ranges)
    if not draft.is_template:
        yield from check_spec(draft, defaulted, rules)
        return
    at_once = list(check_spec(draft, _template(draft, rules), rules))
    yield from at_once
    stated = {(finding.code, finding.place.path, finding.message) for finding in at_once}
    for finding in check_spec(draft, defaulted, rules):
        # Warnings about pods go to the controller that creates them, so users do not see them.
        news = (finding.code, finding.place.path, finding.message) not in stated
        if news and finding.severity is Severity.ERROR:
            yield _later(finding, draft)


def defaulted_pod(draft: PodDraft, rules: ServerRules, limit_ranges: Sequence[LimitRange] = ()) -> Pod:
    """Return the pod with the API server's defaults; a stored one keeps fields that new ones lose."""
    new, pod = not draft.stored or draft.is_template, draft.pod
    ranges, before = (limit_ranges, None) if new else ((), pod)
    return reduce(lambda each, step: step.apply(each), admission_steps(pod, rules, ranges, before), pod)


def _template(draft: PodDraft, rules: ServerRules) -> Pod:
    """Return the pod of a template without defaults, and without pod-level resources if they are dropped."""
    return draft.pod if rules.pod_level or draft.stored else draft.pod._replace(resources=None)


def _later(finding: Finding, draft: PodDraft) -> Finding:
    """Reword a refusal for the pods of a workload, whose own object the API server accepts."""
    owner = f"the API server accepts the {draft.kind}, but rejects its pods"
    field = finding.place.field.removeprefix(draft.spec.field).removeprefix(".")
    return replace(
        finding,
        place=finding.place._replace(field=f"spec.{field}" if field else "spec"),
        note=f"{owner}; {finding.note}" if finding.note else owner,
    )


def check_spec(draft: PodDraft, pod: Pod, rules: ServerRules) -> Iterator[Finding]:
    """Check the resources of *pod*, which is the draft with or without defaults."""
    if rules.claims or draft.stored:
        name = "" if draft.is_template else draft.pod.name
        check = check_mirrored_claims if draft.mirror else check_pod_claims
        yield from check(draft.pod_claims, draft.spec.child("resourceClaims"), rules, name)
    yield from check_containers(draft, pod, rules)
    if rules.pod_level:
        yield from check_pod_resources(draft, pod, draft.spec, rules)
    yield from _check_overhead(draft, pod, rules)
    yield from _check_system(draft)
    yield from _check_volumes(draft, rules)
    yield from check_ephemeral_at_all(draft)
    yield from check_bytes(draft, pod)


def check_metadata(draft: PodDraft) -> Iterator[Finding]:
    """Check the object's name and namespace."""
    name, prefix = draft.pod.name, draft.generate_name
    if prefix:
        # A dash at the end is valid: generated letters follow.
        for problem in subdomain_problems(f"{prefix[:-1]}a" if prefix.endswith("-") else prefix):
            yield draft.metadata.child("generateName").invalid("object-name", prefix, problem)
    field_path = draft.metadata.child("name")
    if name:
        for problem in subdomain_problems(name):
            yield field_path.invalid("object-name", name, problem)
    elif not prefix:
        yield field_path.required("object-name", "name or generateName is required")
    for problem in label_problems(draft.pod.namespace):
        yield draft.metadata.child("namespace").invalid("namespace-name", draft.pod.namespace, problem)


def check_restart(pod: Pod, spec: FieldPath) -> Iterator[Finding]:
    """Check the pod's restart policy, which the schema of manifests checks when they are linted."""
    if pod.restart_policy not in _RESTART_POLICIES:
        yield spec.child("restartPolicy").unsupported(
            "unsupported-value", pod.restart_policy, _RESTART_POLICIES
        )


def _check_overhead(draft: PodDraft, pod: Pod, rules: ServerRules) -> Iterator[Finding]:
    """Check overhead, which only the runtime class may set (admission plugin ``RuntimeClass``)."""
    field_path = draft.spec.child("overhead")
    amounts = ResourceRequirements(limits=pod.overhead)
    for finding in check_requirements(amounts, field_path, partial(container_resource, rules), rules):
        # The API server checks overhead as if it were limits.
        path = tuple(step for step in finding.place.path if step != "limits")
        yield finding.at(finding.place._replace(path=path))
    if pod.overhead and not draft.runtime_class and not draft.stored and not pod.static:
        why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        fix = "remove it: the RuntimeClass admission plugin sets it"
        yield field_path.warning("overhead-without-runtime-class", why, by=Component.API_SERVER, fix=fix)


def _check_volumes(draft: PodDraft, rules: ServerRules) -> Iterator[Finding]:
    for field_path, size in draft.empty_dirs:
        if size.sign < 0:
            yield field_path.forbidden("empty-dir-size", "SizeLimit field must be a valid resource quantity")
    for ref in draft.field_refs:
        yield from check_field_ref(ref, rules)


def _check_system(draft: PodDraft) -> Iterator[Finding]:
    field_path: FieldPath = draft.spec.child("os")
    name = draft.pod.os_name
    if draft.os_given and not name:
        yield field_path.child("name").required("os-name", "cannot be empty")
    elif name and name not in _SYSTEMS:
        yield field_path.unsupported("os-name", name, _SYSTEMS)
