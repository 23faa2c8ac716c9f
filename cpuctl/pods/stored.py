"""A pod on its way through the API server, and the source of every amount in it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Literal, TypeAlias

from cpuctl.pods.defaulting import Step, creation_steps, decoding_steps, storing_steps, update_steps
from cpuctl.pods.manifest import manifest_of
from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements, Side, StoredPod
from cpuctl.pods.rules import PodRules, ServerRules
from cpuctl.pods.validation.raw import items_of, mapping_of, member_of
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.pods.limit_ranges import LimitRange

AmountsChange = Callable[[Mapping[str, Quantity]], Mapping[str, Quantity]]
_PAGES = {"hugepages-2Mi": 2 << 20, "hugepages-1Gi": 1 << 30}
"""The sizes of huge pages that most nodes have, in bytes."""
_PLAIN = frozenset({"cpu", "memory", "ephemeral-storage", *_PAGES})
_VALIDATED = frozenset({"volumes", "ephemeralContainers", "os"})
_RESTART_POLICIES = frozenset({"Always", "OnFailure", "Never"})
_LONGEST_LABEL = 63
_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


AmountOrigin: TypeAlias = Literal["written", "defaulted", "derived"]
"""The origin of an amount: written in the manifest, filled in by a default, or computed."""


class AmountSource(Record):
    """The origin of an amount and its rule; a written one has no rule."""

    how: AmountOrigin
    rule: str = ""


class AmountField(Record):
    """The location of an amount in a pod; ``container`` is empty for ``spec.resources`` and the overhead."""

    container: str
    side: Side
    resource: str


class Provenance(Record):
    """A pod with its defaults, its amounts as they were written, and the source of each.

    ``dropped`` maps the amounts that the API server drops to the rules that drop them.
    """

    pod: StoredPod
    sources: Mapping[AmountField, AmountSource]
    dropped: Mapping[AmountField, str]


def stored_pod(
    pod: Pod, rules: PodRules, limit_ranges: Sequence["LimitRange"] = (), *, before: Pod | None = None
) -> StoredPod:
    """Return *pod* as its kubelet gets it; *limit_ranges* of other namespaces are ignored.

    A pod that exists in the cluster (it has a phase) is only read again; one that replaces *before*, as in a
    resize, gets defaults again, and keeps fields that *before* had. The kubelet reads amounts as the API
    server writes them: ``1.5Gi`` arrives as ``1536Mi``. A static pod never reaches an API server: its kubelet
    fills in the defaults, and amounts stay as they were written.
    """
    # Without the sources of amounts, which take most of the time; there may be thousands of pods.
    steps = _steps(pod, rules, limit_ranges, before)
    stored = _with_priority(reduce(lambda each, step: step.apply(each), steps, pod))
    if stored.static:
        return StoredPod(stored)
    try:
        return StoredPod(as_sent(stored))
    except ValueError:
        return StoredPod(stored)  # a sum beyond what quantities can express


def provenance(pod: Pod, rules: PodRules, limit_ranges: Sequence["LimitRange"] = ()) -> Provenance:
    """Return the source of every amount of a pod that is processed as by ``stored_pod``."""
    amounts = dict(_amounts(pod))
    sources = dict.fromkeys(amounts, _source_of(pod))
    dropped: dict[AmountField, str] = {}
    for step in _steps(pod, rules, limit_ranges, None):
        pod = step.apply(pod)
        after = dict(_amounts(pod))
        for place in [place for place in amounts if place not in after]:
            dropped[place] = step.rule
            del sources[place]
        for place in after:
            sources.setdefault(place, AmountSource("defaulted", step.rule))
        amounts = after
    return Provenance(pod=StoredPod(_with_priority(pod)), sources=sources, dropped=dropped)


def _source_of(pod: Pod) -> AmountSource:
    """Return the source of the amounts of an unchanged pod."""
    if pod.virtual_machine is None:
        return AmountSource("written")

    from cpuctl.pods.launcher_pod import RULE

    return AmountSource("derived", RULE)


def plainly_valid(pod: Pod) -> bool:
    """Return whether a pod is so simple that the API server certainly accepts it; False: not known."""
    return (
        pod.resources is None
        and not pod.resource_claims
        and not pod.overhead
        and not pod.os_name
        and pod.restart_policy in _RESTART_POLICIES
        and _plain_name(pod.name)
        and _plain_name(pod.namespace)
        and all(map(_plain, pod.all_containers))
        and _plainly_written(pod)
    )


def _plain_name(name: str) -> bool:
    plain = name.isascii() and name.replace("-", "").isalnum() and name == name.lower()
    return plain and name[0] != "-" != name[-1] and len(name) <= _LONGEST_LABEL


def _plainly_written(pod: Pod) -> bool:
    """Return whether the manifest has no validated fields that the model omits."""
    written = manifest_of(pod)
    if written is None:
        return True
    if "generateName" in written.metadata or not _VALIDATED.isdisjoint(written.spec):
        return False
    containers = (
        each for name in ("containers", "initContainers") for each in items_of(written.spec.get(name))
    )
    return not any(
        "resizePolicy" in mapping_of(each) or any(map(_refers, items_of(member_of(each, "env"))))
        for each in containers
    )


def _refers(variable: object) -> bool:
    return member_of(variable, "valueFrom") is not None


def _plain(container: Container) -> bool:
    resources = container.resources
    if container.restarts or (container.restart_policy and container.kind is not ContainerKind.SIDECAR):
        return False
    if not _plain_name(container.name) or resources.claims:
        return False
    named = {**resources.limits, **resources.requests}
    return (
        named.keys() <= _PLAIN
        and all(amount.sign >= 0 for amount in (*resources.limits.values(), *resources.requests.values()))
        and all(not limit < resources.requests.get(key, limit) for key, limit in resources.limits.items())
        and (_PAGES.keys().isdisjoint(named) or _plain_pages(resources))
    )


def _plain_pages(resources: ResourceRequirements) -> bool:
    """Return whether huge pages are whole, with limits equal to requests, and not the only request."""
    limits, requests = resources.limits, resources.requests
    return not {"cpu", "memory"}.isdisjoint((*limits, *requests)) and all(
        name in limits and limits[name] == requests.get(name) and limits[name].nano % (size * 10**9) == 0
        for name, size in _PAGES.items()
        if name in limits or name in requests
    )


def _steps(
    pod: Pod, rules: PodRules, limit_ranges: Sequence["LimitRange"], before: Pod | None
) -> Iterator[Step]:
    if pod.static:
        # A kubelet reads the file with the API's defaults, but does not store anything.
        yield from decoding_steps(ServerRules(minor=rules.node.minor, pod_level=rules.node.pod_level))
        return
    if before is not None or not pod.phase:
        yield from admission_steps(pod, rules.server, limit_ranges, before)
    # Reading a pod from storage applies the decoding defaults.
    yield from decoding_steps(rules.server)


def admission_steps(
    pod: Pod, server: ServerRules, limit_ranges: Sequence["LimitRange"], before: Pod | None
) -> Iterator[Step]:
    """Yield the steps for a pod on its way into storage; it may replace *before*."""
    yield from creation_steps(server) if before is None else update_steps(server, before)
    yield from decoding_steps(server)
    if limit_ranges:
        from cpuctl.pods.limit_ranges import limit_range_steps

        yield from limit_range_steps(pod, limit_ranges)
    if pod.runtime_class is not None and before is None:
        from cpuctl.pods.runtime_classes import overhead_steps

        yield from overhead_steps(pod)
    yield from storing_steps(server)


def _with_priority(pod: Pod) -> Pod:
    """Fill in the priority if the class is one that every cluster has."""
    if pod.priority is None and pod.priority_class_name in _SYSTEM_PRIORITIES:
        return pod._replace(priority=_SYSTEM_PRIORITIES[pod.priority_class_name])
    return pod


def _amounts(pod: Pod) -> Iterator[tuple[AmountField, Quantity]]:
    groups = [(each.name, each.resources) for each in pod.all_containers]
    if pod.resources is not None:
        groups.append(("", pod.resources))
    for name, resources in groups:
        for side, amounts in resources.sides:
            for resource, amount in amounts.items():
                yield AmountField(name, side, resource), amount
    for resource, amount in pod.overhead.items():
        yield AmountField("", "overhead", resource), amount


def with_amounts(pod: Pod, change: AmountsChange) -> Pod:
    """Return *pod* with *change* made to the amounts of containers, of the pod level and of the overhead."""

    def changed(resources: ResourceRequirements) -> ResourceRequirements:
        return replace(resources, requests=change(resources.requests), limits=change(resources.limits))

    def container(each: Container) -> Container:
        return replace(each, resources=changed(each.resources))

    return pod._replace(
        containers=tuple(map(container, pod.containers)),
        init_containers=tuple(map(container, pod.init_containers)),
        resources=None if pod.resources is None else changed(pod.resources),
        overhead=change(pod.overhead),
    )


def as_sent(pod: Pod) -> Pod:
    """Return *pod* as a kubelet reads it from the API server: ``1.5Gi`` arrives as ``1536Mi``."""
    return with_amounts(pod, lambda amounts: {name: amount.canonical() for name, amount in amounts.items()})
