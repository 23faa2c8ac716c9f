"""Requests, limits and claims of containers, overhead and the pod level: names, amounts, overcommitment.

Rule: ``validateResourceRequirements``, ``validatePodResourceClaims`` and ``validateResourceClaimNames`` in
``pkg/apis/core/validation``, 1.36, names of resources there and in ``pkg/apis/core/helper``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from cpuctl.golang.text import quoted
from cpuctl.object_names import label_problems, qualified_name_problems, subdomain_problems
from cpuctl.pods.model import ResourceRequirements, is_pod_level_resource
from cpuctl.pods.rules import ServerRules
from cpuctl.pods.validation.finding import FieldPath, Finding
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_LONGEST_LIST = 1000
"""The maximum total length of listed names, in characters: enough for any real pod."""


class Claim(Record):
    """A claim by name, and the request in it; an empty one means all requests."""

    name: str
    request: str = ""

    @property
    def key(self) -> str:
        """``name/request``, or only the name."""
        return f"{self.name}/{self.request}" if self.request else self.name


class ClaimNames(Record):
    """The names of a pod's claims; ``problem_text`` is the API server's list of them."""

    names: frozenset[str] = frozenset()
    problem_text: str = "must be one of the names in pod.spec.resourceClaims which is empty"

    @classmethod
    def of(cls, names: Iterable[str]) -> ClaimNames:
        """Return the value for the names of a pod's claims."""
        found = frozenset(names)
        if not found:
            return cls()
        listed = ", ".join(sorted(found))
        if len(listed) > _LONGEST_LIST:
            listed = f"{listed[:_LONGEST_LIST]}..."
        return (
            cls(found, f"must be one of the names in pod.spec.resourceClaims: {listed}") if found else cls()
        )


class PodClaim(Record):
    """An entry of ``spec.resourceClaims``: its name, and the claim or template that it names, None for none.

    ``in_source``: it names them in a ``source``, as entries up to 1.30 do.
    """

    name: str
    claim: str | None = None
    template: str | None = None
    in_source: bool = False

    def as_kept(self, minor: int) -> PodClaim:
        """Return the entry as kept by an API server of 1.*minor*, which drops unknown members."""
        return self if self.in_source == (minor < _FLAT_SINCE) else PodClaim(self.name)


_FLAT_SINCE = 31
"""The first minor whose entries name claim or template directly instead of in a ``source``."""
_JSON_SINCE = 34
"""The first minor that shows compound values as JSON; earlier ones use Go syntax."""
_NONE_MIRRORED_SINCE = 32
"""The first minor whose API server refuses mirror pods with claims (``validatePodResourceClaim``)."""
_ENTRY_CODE = "pod-claim"


def check_mirrored_claims(
    claims: Sequence[PodClaim], field_path: FieldPath, rules: ServerRules, pod: str
) -> Iterator[Finding]:
    """Check the claims of a mirror pod: API servers with a check for static pods' claims accept none."""
    if rules.minor < _NONE_MIRRORED_SINCE:
        yield from check_pod_claims(claims, field_path, rules, pod)
        return
    for number in range(len(claims)):
        # The API server uses a path without a name, which Go formats this way.
        place = field_path.item(number)._replace(field="[]")
        yield place.forbidden(_ENTRY_CODE, "static pods do not support resource claims")


def check_pod_claims(
    claims: Sequence[PodClaim], field_path: FieldPath, rules: ServerRules, pod: str
) -> Iterator[Finding]:
    """Check the claims of a pod: each names one claim or one claim template.

    *pod* is its name, empty for a pod template.
    """
    seen: set[str] = set()
    for number, entry in enumerate(each.as_kept(rules.minor) for each in claims):
        place = field_path.item(number)
        name = place.child("name")
        if not entry.name:
            yield name.required(_ENTRY_CODE)
        elif entry.name in seen:
            yield name.duplicate(_ENTRY_CODE, entry.name)
        else:
            for problem in label_problems(entry.name):
                yield name.invalid(_ENTRY_CODE, entry.name, problem)
            if rules.minor < _FLAT_SINCE and pod and entry.template is not None:
                made = f"{pod}-{entry.name}"
                for problem in subdomain_problems(made) if not label_problems(entry.name) else ():
                    yield name.invalid(_ENTRY_CODE, made, f"final ResourceClaim name: {problem}")
        seen.add(entry.name)
        yield from _check_source(entry, place if rules.minor >= _FLAT_SINCE else place.child("source"), rules)


def _check_source(entry: PodClaim, place: FieldPath, rules: ServerRules) -> Iterator[Finding]:
    why = ""
    if entry.claim is not None and entry.template is not None:
        why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
    elif entry.claim is None and entry.template is None:
        why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
    if why:
        yield place.rejected(_ENTRY_CODE, f"Invalid value: {_entry_text(entry, rules)}: {why}")
    for member, named in (
        ("resourceClaimName", entry.claim),
        ("resourceClaimTemplateName", entry.template),
    ):
        for problem in subdomain_problems(named) if named is not None else ():
            yield place.child(member).invalid(_ENTRY_CODE, named or "", problem)


def _entry_text(entry: PodClaim, rules: ServerRules) -> str:
    """Format an entry as Go does; if Go shows a pointer, the address cannot be predicted."""
    named = {"ResourceClaimName": entry.claim, "ResourceClaimTemplateName": entry.template}
    if rules.minor >= _JSON_SINCE:
        import json

        return json.dumps({"Name": entry.name, **named}, ensure_ascii=False, separators=(",", ":"))
    pointers = ", ".join(
        f"{member}:(*string)({'nil' if name is None else '0x...'})" for member, name in named.items()
    )
    if rules.minor < _FLAT_SINCE:
        return f"core.ClaimSource{{{pointers}}}"
    return f"core.PodResourceClaim{{Name:{quoted(entry.name)}, {pointers}}}"


def check_claims(claims: Sequence[Claim], of_pod: ClaimNames, field_path: FieldPath) -> Iterator[Finding]:
    """Check the claims of one container against those *of_pod*."""
    seen: set[str] = set()
    partly: set[str] = set()
    for number, claim in enumerate(claims):
        place = field_path.item(number)
        if not claim.name:
            yield place.required("claim-name")
            continue
        yield from _check_repeats(claim, seen, partly, place)
        seen.add(claim.key)
        if claim.request:
            partly.add(claim.name)
        if claim.name not in of_pod.names:
            yield place.not_found("claim-unknown", claim.name, of_pod.problem_text)


def _check_repeats(claim: Claim, seen: set[str], partly: set[str], place: FieldPath) -> Iterator[Finding]:
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


HUGEPAGES = "hugepages-"
_CODE = "resource-name"
_LABEL_KEYS_SINCE = 35
"""The first minor that reports the type of name that is checked, and counts its length in bytes."""
_OF_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED = frozenset(
    [
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    ]
)
_STANDARD = (
    _OF_CONTAINERS
    | _COUNTED
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _OF_CONTAINERS}
    | {"storage", "requests.storage"}
)


def is_hugepages(name: str) -> bool:
    """Return whether a resource is a size of huge pages."""
    return name.startswith(HUGEPAGES)


def may_be_overcommitted(name: str) -> bool:
    """Return whether a request may be below its limit: for Kubernetes' own resources except huge pages."""
    return _is_native(name) and not is_hugepages(name)


def is_counted_resource(name: str) -> bool:
    """Return whether a resource is counted in whole units: those of devices and of quotas."""
    return name in _COUNTED or _is_extended(name)


def container_resource(rules: ServerRules, name: str, field_path: FieldPath) -> Iterator[Finding]:
    """Check the name of a resource of a container or of the pod's overhead."""
    yield from standard_resource(name, field_path, rules)
    if "/" not in name:
        if name not in _OF_CONTAINERS and not is_hugepages(name):
            why = "must be a standard resource for containers"
            yield _wrong(name, field_path, why, rules, fix=_hint(name))
    elif not _is_native(name) and not _is_extended(name):
        yield _wrong(name, field_path, "doesn't follow extended resource name standard", rules)


def pod_level_resource(name: str, field_path: FieldPath, rules: ServerRules) -> Iterator[Finding]:
    """Check the name of a resource in ``spec.resources``."""
    problems = list(standard_resource(name, field_path, rules))
    yield from problems
    supported = ("cpu", HUGEPAGES, "memory") if rules.hugepages else ("cpu", "memory")
    known = is_pod_level_resource(name) and (rules.hugepages or not is_hugepages(name))
    if not problems and not known:
        fix = "set it on the containers that need it"
        yield field_path.unsupported("pod-level-resource-name", name, supported, fix=fix)


def _wrong(name: str, field_path: FieldPath, why: str, rules: ServerRules, fix: str = "") -> Finding:
    if rules.quotes_names:
        return field_path.invalid(_CODE, name, why, fix=fix)
    return field_path.rejected(_CODE, f"Invalid value: {name}: {why}", fix=fix)


def standard_resource(name: str, field_path: FieldPath, rules: ServerRules) -> Iterator[Finding]:
    """Check the name of a resource of any object."""
    problems = qualified_name_problems(name)
    for problem in problems:
        yield _wrong(name, field_path, _worded(problem, rules), rules)
    quota_pages = name.startswith((HUGEPAGES, f"requests.{HUGEPAGES}"))
    if not problems and "/" not in name and name not in _STANDARD and not quota_pages:
        why = "must be a standard resource type or fully qualified"
        yield _wrong(name, field_path, why, rules, fix=_hint(name))


def _worded(problem: str, rules: ServerRules) -> str:
    if rules.minor >= _LABEL_KEYS_SINCE:
        return problem.replace("a qualified name must", "a valid label key must", 1)
    return problem.replace(" bytes", " characters", 1)


def _hint(name: str) -> str:
    from cpuctl.spelling import did_you_mean

    vendors = "use the full name of a device plugin's resource: vendor.com/device"
    return did_you_mean(name, _OF_CONTAINERS, "" if name in _STANDARD else vendors, likeness=0.75)


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    if _is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name_problems(f"requests.{name}")


NameCheck = Callable[[str, FieldPath], Iterator[Finding]]
_REQUIRED_WITH_HUGEPAGES = ("cpu", "memory")


def check_requirements(
    resources: ResourceRequirements, field_path: FieldPath, check_name: NameCheck, rules: ServerRules
) -> Iterator[Finding]:
    """Check requests and limits in the API server's order: limits, requests, then both together."""
    limits, requests = field_path.child("limits"), field_path.child("requests")
    for name, amount in resources.limits.items():
        yield from check_name(name, limits.key(name))
        yield from _check_amount(name, amount, limits.key(name), rules)
        yield from _check_pages(name, amount, limits.key(name))
    for name, amount in resources.requests.items():
        yield from check_name(name, requests.key(name))
        yield from _check_amount(name, amount, requests.key(name), rules)
        yield from _check_limit(name, amount, resources.limits, field_path)
        yield from _check_pages(name, amount, requests.key(name))
    names = {**resources.limits, **resources.requests}
    if any(map(is_hugepages, names)) and not any(name in names for name in _REQUIRED_WITH_HUGEPAGES):
        yield field_path.forbidden(
            "hugepages-alone", "HugePages require cpu or memory", fix="request cpu or memory, too"
        )


def _check_amount(
    name: str, amount: Quantity, field_path: FieldPath, rules: ServerRules
) -> Iterator[Finding]:
    if amount.sign < 0:
        yield field_path.invalid("negative-amount", str(amount), "must be greater than or equal to 0")
    if is_counted_resource(name) and amount.milli_value % 1000:
        value = f'"{amount}"' if rules.quotes_names or not amount.short else _go_struct(amount)
        yield field_path.rejected("fractional-count", f"Invalid value: {value}: must be an integer")


def _go_struct(amount: Quantity) -> str:
    """Format an amount as the Go struct that holds it, as releases up to 1.33 do."""
    held = f"i:resource.int64Amount{{value:{amount.unscaled}, scale:{amount.exponent}}}"
    nothing = "d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}"
    return f'resource.Quantity{{{held}, {nothing}, s:"{amount.verbatim}", Format:"{amount.format}"}}'


def _check_limit(
    name: str, request: Quantity, limits: Mapping[str, Quantity], field_path: FieldPath
) -> Iterator[Finding]:
    """Check one request against its limit; the API server's error names all requests, not the one."""
    place = FieldPath((*field_path.path, "requests", name), f"{field_path.field}.requests")
    limit = limits.get(name)
    if limit is None:
        if not may_be_overcommitted(name):
            why = "Limit must be set for non overcommitable resources"
            yield field_path.child("limits").required(
                "limit-missing", why, fix=f"set a limit of {request} for {name}"
            )
    elif request != limit and not may_be_overcommitted(name):
        why = f"must be equal to {name} limit of {limit}"
        fix = f"set requests.{name}: {limit}"
        yield place.invalid("request-differs-from-limit", str(request), why, fix=fix)
    elif limit < request:
        why = f"must be less than or equal to {name} limit of {limit}"
        fix = f"set limits.{name}: {request}, or requests.{name}: {limit}"
        yield place.invalid("limit-below-request", str(request), why, fix=fix)


def _check_pages(name: str, amount: Quantity, field_path: FieldPath) -> Iterator[Finding]:
    if is_hugepages(name) and not _is_multiple(amount, name.removeprefix(HUGEPAGES)):
        why = f"{amount} is not positive integer multiple of {name}"
        yield field_path.invalid("hugepages-fraction", str(amount), why)


def _is_multiple(amount: Quantity, page_size: str) -> bool:
    try:
        page = Quantity.parse(page_size)
    except ValueError:
        return False
    # A size beyond 64 bits is read as zero or negative: the API server would crash on it.
    if page.sign <= 0 or page.milli_value % 1000 or page.value <= 0:
        return False
    return amount.value % page.value == 0
