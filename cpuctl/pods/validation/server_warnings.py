"""What the API server takes, and warns of: amounts of bytes that are no whole number.

Rule: ``pkg/api/pod/warnings.go`` in 1.36. ``kubectl`` prints these behind ``Warning:``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cpuctl.pods.model import Pod, ResourceRequirements
from cpuctl.pods.validation.draft import PodDraft
from cpuctl.pods.validation.finding import Finding, Spot
from cpuctl.quantity import Quantity

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
