"""Which resources a container, the pod level and overhead may name.

Rule: ``pkg/apis/core/validation`` (names of resources) and ``pkg/apis/core/helper`` in 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.object_names import qualified_name_problems
from cpuctl.pods.model import is_pod_level_resource
from cpuctl.pods.rules import ServerRules
from cpuctl.pods.validation.finding import Finding, Spot

HUGEPAGES = "hugepages-"
_CODE = "resource-name"
_LABEL_KEYS_SINCE = 35
"""The first minor that names what names of resources are checked as, and counts them in bytes."""
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
    """Tell the name of a size of huge pages."""
    return name.startswith(HUGEPAGES)


def may_be_overcommitted(name: str) -> bool:
    """Tell whether a request may stay below its limit: for Kubernetes' own resources but huge pages."""
    return _is_native(name) and not is_hugepages(name)


def comes_in_wholes(name: str) -> bool:
    """Tell whether a resource is counted: what devices offer, and what quotas count."""
    return name in _COUNTED or _is_extended(name)


def container_resource(rules: ServerRules, name: str, spot: Spot) -> Iterator[Finding]:
    """Check the name of a resource that a container, or the pod's overhead, names."""
    yield from _standard(name, spot, rules)
    if "/" not in name:
        if name not in _OF_CONTAINERS and not is_hugepages(name):
            why = "must be a standard resource for containers"
            yield _wrong(name, spot, why, rules, fix=_hint(name))
    elif not _is_native(name) and not _is_extended(name):
        yield _wrong(name, spot, "doesn't follow extended resource name standard", rules)


def pod_level_resource(name: str, spot: Spot, rules: ServerRules) -> Iterator[Finding]:
    """Check the name of a resource in ``spec.resources``."""
    problems = list(_standard(name, spot, rules))
    yield from problems
    supported = ("cpu", HUGEPAGES, "memory") if rules.hugepages else ("cpu", "memory")
    known = is_pod_level_resource(name) and (rules.hugepages or not is_hugepages(name))
    if not problems and not known:
        fix = "set it on the containers that need it"
        yield spot.unsupported("pod-level-resource-name", name, supported, fix=fix)


def _wrong(name: str, spot: Spot, why: str, rules: ServerRules, fix: str = "") -> Finding:
    if rules.quotes_names:
        return spot.invalid(_CODE, name, why, fix=fix)
    return spot.rejected(_CODE, f"Invalid value: {name}: {why}", fix=fix)


def _standard(name: str, spot: Spot, rules: ServerRules) -> Iterator[Finding]:
    problems = qualified_name_problems(name)
    for problem in problems:
        yield _wrong(name, spot, _in_words_of(problem, rules), rules)
    quota_pages = name.startswith((HUGEPAGES, f"requests.{HUGEPAGES}"))
    if not problems and "/" not in name and name not in _STANDARD and not quota_pages:
        why = "must be a standard resource type or fully qualified"
        yield _wrong(name, spot, why, rules, fix=_hint(name))


def _in_words_of(problem: str, rules: ServerRules) -> str:
    if rules.minor >= _LABEL_KEYS_SINCE:
        return problem.replace("a qualified name must", "a valid label key must", 1)
    return problem.replace(" bytes", " characters", 1)


def _hint(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), _OF_CONTAINERS, n=1, cutoff=0.75)
    if near:
        return f"did you mean {near[0]}?"
    return "" if name in _STANDARD else "name what a device plugin offers with its domain: vendor.com/device"


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    if _is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name_problems(f"requests.{name}")
