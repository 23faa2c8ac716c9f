"""What an in-place resize does to a container: ``resizePolicy``.

Rule: ``validateResizePolicy`` in ``pkg/apis/core/validation``, 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.pods.rules import ServerRules
from cpuctl.pods.validation.draft import ContainerDraft
from cpuctl.pods.validation.finding import Finding

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
