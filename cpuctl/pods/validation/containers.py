"""What the API server asks of containers: names, resources, claims, resize policies.

Rule: ``validateContainerCommon``, ``validateResizePolicy`` and their callers in
``pkg/apis/core/validation``, 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cpuctl.object_names import label_problems
from cpuctl.pods.model import Pod, ResourceRequirements
from cpuctl.pods.rules import ServerRules
from cpuctl.pods.validation.claims import check_claims
from cpuctl.pods.validation.draft import ContainerDraft, EphemeralDraft, PodDraft
from cpuctl.pods.validation.field_refs import check_field_ref
from cpuctl.pods.validation.finding import Finding, Spot
from cpuctl.pods.validation.requirements import check_requirements
from cpuctl.pods.validation.resource_names import container_resource

_CODE = "resize-policy"
_RESOURCES = ("cpu", "memory")
_RESTARTS = ("NotRequired", "RestartContainer")
_INIT_SINCE = 36
"""The first minor that takes resize policies of ordinary init containers, with this one exception."""


def check_resize_policy(raw: ContainerDraft, pod_restart: str, rules: ServerRules) -> Iterator[Finding]:
    """Check the resize policies of any container; *pod_restart* is the pod's restart policy."""
    spot = raw.spot.child("resizePolicy")
    seen: set[str] = set()
    for number, policy in enumerate(raw.resize_policy):
        if policy.resource in seen:
            yield _unquoted(spot.item(number).duplicate(_CODE, policy.resource), policy.resource, rules)
        seen.add(policy.resource)
        if not policy.resource:
            yield spot.required(_CODE)
        elif policy.resource not in _RESOURCES:
            found = spot.unsupported(_CODE, policy.resource, _RESOURCES)
            yield _unquoted(found, policy.resource, rules)
        if not policy.restart:
            yield spot.required(_CODE)
        elif policy.restart not in _RESTARTS:
            yield spot.unsupported(_CODE, policy.restart, _RESTARTS)
        if pod_restart == "Never" and policy.restart != "NotRequired":
            whose = "pod " if rules.minor >= _INIT_SINCE else ""
            why = f"must be 'NotRequired' when {whose}`restartPolicy` is 'Never'"
            yield spot.invalid(_CODE, policy.restart, why)


def _unquoted(finding: Finding, name: str, rules: ServerRules) -> Finding:
    """Take the quotes off a resource's name where the release prints none."""
    plain = (
        finding.message
        if rules.quotes_names
        else finding.message.replace(f'value: "{name}"', f"value: {name}", 1)
    )
    return finding._replace(message=plain)


def check_init_policy(raw: ContainerDraft, minor: int) -> Iterator[Finding]:
    """Check what resize policies of init containers must not say."""
    spot = raw.spot.child("resizePolicy")
    sidecar = raw.restart_policy == "Always"
    for number, policy in enumerate(raw.resize_policy if minor >= _INIT_SINCE and not sidecar else ()):
        if policy.restart == "RestartContainer":
            why = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield spot.item(number).child("restartPolicy").invalid(_CODE, policy.restart, why)


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
    name = raw.spot.child("name")
    if not raw.name:
        yield name.required("container-name")
    else:
        for problem in label_problems(raw.name):
            yield name.invalid("container-name", raw.name, problem)
    for ref in raw.field_refs:
        yield from check_field_ref(ref, rules)
    where = raw.spot.child("resources")
    yield from check_requirements(resources, where, partial(container_resource, rules), rules)
    if rules.claims or draft.stored:
        yield from check_claims(raw.claims, draft.claim_names, where.child("claims"))
    if rules.resize_policies or draft.stored:
        yield from check_resize_policy(raw, draft.restart_policy, rules)


def _check_unique(raw: ContainerDraft, names: set[str]) -> Iterator[Finding]:
    if raw.name and raw.name in names:
        yield raw.spot.child("name").duplicate("container-name-repeated", raw.name)
    names.add(raw.name)


def _check_ephemeral(
    ephemeral: EphemeralDraft, draft: PodDraft, rules: ServerRules, names: set[str]
) -> Iterator[Finding]:
    raw = ephemeral.container
    yield from _check_container(raw, ephemeral.resources, draft, rules)
    yield from _check_unique(raw, names)
    for field in ephemeral.forbidden:
        note = "it shares what the pod has" if field == "resources" else ""
        yield raw.spot.child(field).forbidden("ephemeral-container-field", _NOT_EPHEMERAL, note=note)


def check_restart_policy(raw: ContainerDraft, rules: ServerRules, *, init: bool) -> Iterator[Finding]:
    """Check a container's own restart policy."""
    known, spot = rules.restart_policies, raw.spot.child("restartPolicy")
    if not raw.restart_policy or known is None:
        return
    if not init and len(known) == 1:
        yield spot.forbidden("container-restart-policy", "may not be set for non-init containers")
    elif raw.restart_policy not in known:
        yield spot.unsupported("container-restart-policy", raw.restart_policy, known)


def check_ephemeral_at_all(draft: PodDraft) -> Iterator[Finding]:
    """Check that ephemeral containers come through their own subresource, to a pod that runs."""
    spot: Spot = draft.spec.child("ephemeralContainers")
    fix = "add them to the running pod with kubectl debug"
    if draft.ephemeral and draft.is_template:
        why = "ephemeral containers not allowed in pod template"
        yield spot.forbidden("ephemeral-containers", why, fix=fix)
    elif draft.ephemeral and not draft.stored:
        yield spot.forbidden("ephemeral-containers", "cannot be set on create", fix=fix)
