"""``spec.resources``: what it may hold, and how it must agree with the containers (KEP-2837).

Rule: ``validatePodResources`` and ``validatePodResourceConsistency`` in ``pkg/apis/core/validation``, 1.36;
where 1.32 and 1.33 differ, theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.pods.model import Pod, ResourceRequirements
from cpuctl.pods.requests import container_limits, container_requests
from cpuctl.pods.rules import ServerRules
from cpuctl.pods.validation.claims import check_claims
from cpuctl.pods.validation.draft import PodDraft
from cpuctl.pods.validation.finding import Finding, Spot
from cpuctl.pods.validation.requirements import check_requirements
from cpuctl.pods.validation.resource_names import is_hugepages, pod_level_resource
from cpuctl.quantity import Quantity

_REWRITTEN_SINCE = 34
"""The first minor that refuses Windows pods, and compares only what ``spec.resources`` sets."""
_ZERO = Quantity()


def check_pod_resources(draft: PodDraft, pod: Pod, spec: Spot, rules: ServerRules) -> Iterator[Finding]:
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
        pod.resources, resources, lambda name, spot: pod_level_resource(name, spot, rules), rules
    ):
        yield _with_origin(finding, draft)
    claims = draft.pod_level or ()
    yield from check_claims(claims, draft.claim_names, resources.child("claims"))
    yield from _check_requests(pod, pod.resources, resources, rules)
    yield from _check_hugepages(pod, pod.resources, resources, rules)
    yield from _check_containers(pod, pod.resources, spec)


def _with_origin(finding: Finding, draft: PodDraft) -> Finding:
    """Say where an amount comes from that nobody has written, if that is what goes beyond another."""
    written, name = draft.pod.resources, finding.place.path[-1]
    if finding.code != "limit-below-request" or written is None:
        return finding
    if name not in written.requests:
        return finding._replace(note="the request is not given: it is the sum of the containers' requests")
    if name not in written.limits:
        return finding._replace(note="the limit is not given: it is the sum of the containers' limits")
    return finding


def _check_requests(
    pod: Pod, resources: ResourceRequirements, spot: Spot, rules: ServerRules
) -> Iterator[Finding]:
    for name, needed in container_requests(pod).items():
        given = resources.requests.get(name)
        if given is None and rules.minor >= _REWRITTEN_SINCE:
            continue
        given = given or _ZERO
        if given < needed:
            why = f"must be greater than or equal to aggregate container requests of {needed}"
            place = spot.child("requests").key(name)
            yield place.invalid("pod-request-below-containers", str(given), why)


def _check_hugepages(
    pod: Pod, resources: ResourceRequirements, spot: Spot, rules: ServerRules
) -> Iterator[Finding]:
    if not rules.hugepages:
        return
    for name, needed in container_limits(pod).items():
        given = resources.limits.get(name)
        if is_hugepages(name) and given is not None and given < needed:
            why = f"must be greater than or equal to aggregate container limits of {needed}"
            place = spot.child("limits").key(name)
            yield place.invalid("pod-limit-below-containers", str(given), why)


def _check_containers(pod: Pod, resources: ResourceRequirements, spec: Spot) -> Iterator[Finding]:
    """Compare every app container's limits with the pod's; those of init containers are not looked at."""
    for number, container in enumerate(pod.containers):
        limits = spec.child("containers").item(number).child("resources", "limits")
        for name, limit in container.resources.limits.items():
            bound = resources.limits.get(name)
            if bound is not None and bound < limit:
                # The API server builds the name of the field from the pod-level resources.
                field = f"{spec.field}.resources.containers[{number}][{name}].limits"
                place = Spot((*limits.path, name), field)
                why = f"must be less than or equal to pod limits of {bound}"
                yield place.invalid("container-limit-above-pod", str(limit), why)
