"""Resource claims that containers name: each must be one of the pod's.

Rule: ``validateResourceClaimNames`` in ``pkg/apis/core/validation``, 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuctl.object_names import label_problems
from cpuctl.pods.validation.finding import Finding, Spot

_LONGEST_LIST = 1000
"""Characters of all names together that are listed: as many as any real pod has."""


class Claim(NamedTuple):
    """A claim by name, and which request in it; none stands for all of them."""

    name: str
    request: str = ""

    @property
    def key(self) -> str:
        """``name/request``, or the name alone."""
        return f"{self.name}/{self.request}" if self.request else self.name


class ClaimNames(NamedTuple):
    """The names of a pod's claims; ``words`` is how the API server lists them."""

    names: frozenset[str] = frozenset()
    words: str = "must be one of the names in pod.spec.resourceClaims which is empty"

    @classmethod
    def of(cls, names: Iterable[str]) -> ClaimNames:
        """Take the names of a pod's claims."""
        found = frozenset(names)
        if not found:
            return cls()
        listed = ", ".join(sorted(found))
        if len(listed) > _LONGEST_LIST:
            listed = f"{listed[:_LONGEST_LIST]}..."
        return (
            cls(found, f"must be one of the names in pod.spec.resourceClaims: {listed}") if found else cls()
        )


def check_claims(claims: Sequence[Claim], of_pod: ClaimNames, spot: Spot) -> Iterator[Finding]:
    """Check the claims of one container against those *of_pod*."""
    seen: set[str] = set()
    partly: set[str] = set()
    for number, claim in enumerate(claims):
        place = spot.item(number)
        if not claim.name:
            yield place.required("claim-name")
            continue
        yield from _check_repeats(claim, seen, partly, place)
        seen.add(claim.key)
        if claim.request:
            partly.add(claim.name)
        if claim.name not in of_pod.names:
            yield place.not_found("claim-unknown", claim.name, of_pod.words)


def _check_repeats(claim: Claim, seen: set[str], partly: set[str], place: Spot) -> Iterator[Finding]:
    if claim.name in seen:
        yield place.duplicate("claim-repeated", claim.name)
        return
    if claim.request:
        for problem in label_problems(claim.request):
            yield place.child("request").invalid("claim-name", claim.request, problem)
    if claim.key in seen:
        yield place.duplicate("claim-repeated", claim.key)
    elif not claim.request and claim.name in partly:
        yield place.duplicate("claim-repeated", claim.name)
