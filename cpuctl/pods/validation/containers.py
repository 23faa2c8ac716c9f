"""What the API server asks of containers: names, resources, claims, resize policies.

Rule: ``validateContainerCommon`` and its callers in ``pkg/apis/core/validation``, 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.object_names import label_problems
from cpuctl.pods.model import Pod, ResourceRequirements
from cpuctl.pods.validation.claims import check_claims
from cpuctl.pods.validation.draft import ContainerDraft, EphemeralDraft, PodDraft
from cpuctl.pods.validation.finding import Finding, Spot
from cpuctl.pods.validation.requirements import check_requirements
from cpuctl.pods.validation.resize_policy import check_init_policy, check_resize_policy
from cpuctl.pods.validation.resource_names import container_resource

_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"


def check_containers(draft: PodDraft, pod: Pod, minor: int) -> Iterator[Finding]:
    """Check the containers of *pod*, which is the draft with or without defaults."""
    if not draft.containers:
        yield draft.spec.child("containers").required("containers-missing")
    names: set[str] = set()
    for raw, container in zip(draft.containers, pod.containers, strict=True):
        yield from _check_container(raw, container.resources, draft)
        yield from _check_unique(raw, names)
    for raw, container in zip(draft.inits, pod.init_containers, strict=True):
        yield from _check_container(raw, container.resources, draft)
        yield from _check_unique(raw, names)
        yield from check_init_policy(raw, minor)
    for ephemeral in draft.ephemeral:
        yield from _check_ephemeral(ephemeral, draft, names)


def _check_container(
    raw: ContainerDraft, resources: ResourceRequirements, draft: PodDraft
) -> Iterator[Finding]:
    name = raw.spot.child("name")
    if not raw.name:
        yield name.required("container-name")
    else:
        for problem in label_problems(raw.name):
            yield name.invalid("container-name", raw.name, problem)
    where = raw.spot.child("resources")
    yield from check_requirements(resources, where, container_resource)
    yield from check_claims(raw.claims, draft.claim_names, where.child("claims"))
    yield from check_resize_policy(raw, draft.restart_policy)


def _check_unique(raw: ContainerDraft, names: set[str]) -> Iterator[Finding]:
    if raw.name and raw.name in names:
        yield raw.spot.child("name").duplicate("container-name-repeated", raw.name)
    names.add(raw.name)


def _check_ephemeral(ephemeral: EphemeralDraft, draft: PodDraft, names: set[str]) -> Iterator[Finding]:
    raw = ephemeral.container
    yield from _check_container(raw, ephemeral.resources, draft)
    yield from _check_unique(raw, names)
    for field in ephemeral.forbidden:
        hint = "it shares what the pod has" if field == "resources" else ""
        yield raw.spot.child(field).forbidden("ephemeral-container-field", _NOT_EPHEMERAL, hint=hint)


def check_ephemeral_at_all(draft: PodDraft) -> Iterator[Finding]:
    """Check that ephemeral containers come through their own subresource, to a pod that runs."""
    spot: Spot = draft.spec.child("ephemeralContainers")
    hint = "add them to the running pod with kubectl debug"
    if draft.ephemeral and draft.is_template:
        why = "ephemeral containers not allowed in pod template"
        yield spot.forbidden("ephemeral-containers", why, hint=hint)
    elif draft.ephemeral and not draft.stored:
        yield spot.forbidden("ephemeral-containers", "cannot be set on create", hint=hint)
