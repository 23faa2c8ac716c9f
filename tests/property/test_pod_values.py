"""Laws of values derived from pods: classes, sums, weights, scores, orders, advice."""

from __future__ import annotations

from itertools import combinations

from hypothesis import assume, given
from hypothesis import strategies as st

from cpuctl.engine.cpu.exclusive_advice import SpecEdit, advise
from cpuctl.engine.cpu.exclusive_claim import exclusive_claim
from cpuctl.engine.pod_facts import NodeOfPods, pod_facts
from cpuctl.pods.cgroups.linux_resources import (
    curved_weight,
    linear_weight,
    quota_of,
    shares_of,
    shares_of_weight,
)
from cpuctl.pods.cgroups.values import CgroupSettings, container_cgroup, pod_cgroup
from cpuctl.pods.effective import effective_limits, effective_requests
from cpuctl.pods.model import Container, ContainerKind, Pod, QosClass, ResourceRequirements
from cpuctl.pods.out_of_memory import eviction_order, eviction_request, oom_score
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import container_requests, pod_limits, pod_requests
from cpuctl.pods.resource_quotas import QuotaLedger, ResourceQuota
from cpuctl.pods.rules import NodeRules, PodRules, ServerRules
from cpuctl.pods.stored import provenance
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.pods import stored

quantities = st.sampled_from(["0", "1", "2", "1500m", "250m", "1Gi", "64Mi", "3"]).map(Quantity.parse)
lists = st.dictionaries(st.sampled_from(["cpu", "memory", "hugepages-2Mi"]), quantities)
requirements = st.builds(ResourceRequirements, requests=lists, limits=lists)
kinds = st.sampled_from([ContainerKind.INIT, ContainerKind.SIDECAR])


def containers(kind: st.SearchStrategy[ContainerKind]) -> st.SearchStrategy[Container]:
    return st.builds(Container, name=st.just(""), kind=kind, resources=requirements)


def numbered(pod: Pod) -> Pod:
    """Give every container a unique name."""
    inits = tuple(replace(each, name=f"i{n}") for n, each in enumerate(pod.init_containers))
    apps = tuple(replace(each, name=f"a{n}") for n, each in enumerate(pod.containers))
    return pod._replace(init_containers=inits, containers=apps)


pods = st.builds(
    Pod,
    name=st.just("pod"),
    containers=st.lists(containers(st.just(ContainerKind.APP)), min_size=1, max_size=3).map(tuple),
    init_containers=st.lists(containers(kinds), max_size=3).map(tuple),
    resources=st.none() | requirements,
    overhead=lists,
).map(numbered)
rules = st.builds(
    lambda minor, server, node, empty: PodRules(
        server=ServerRules(minor=minor, pod_level=server, pod_level_limits=minor >= 37),
        node=NodeRules(minor=minor, pod_level=node, empty_counts=empty),
    ),
    st.integers(32, 38),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


def positive(side: dict[str, Quantity]) -> dict[str, Quantity]:
    return {name: side[name] for name in ("cpu", "memory") if name in side and side[name].sign > 0}


@given(pods)
def test_classes_follow_their_definition(pod: Pod) -> None:
    """The definition is the documented one: request equals limit for both, in each part that counts."""
    parts = [pod.resources] if pod.resources is not None else [each.resources for each in pod.all_containers]
    for part in parts:
        requests, limits = positive(dict(part.requests)), positive(dict(part.limits))
        assume(
            all(
                name not in limits or requests.get(name, Quantity()) <= limits[name]
                for name in ("cpu", "memory")
            )
        )
    found = pod_qos(pod).qos_class
    sides = [(positive(dict(part.requests)), positive(dict(part.limits))) for part in parts]
    if not any(requests or limits for requests, limits in sides):
        assert found is QosClass.BEST_EFFORT
    elif all(requests == limits and len(limits) == 2 for requests, limits in sides):
        assert found is QosClass.GUARANTEED
    else:
        assert found is QosClass.BURSTABLE


@given(pods)
def test_effective_amounts_are_the_schedulers(pod: Pod) -> None:
    assert {name: each.amount for name, each in effective_requests(pod).items()} == pod_requests(pod)
    assert {name: each.amount for name, each in effective_limits(pod).items()} == pod_limits(pod)


@given(pods)
def test_requests_are_the_larger_of_running_and_starting(pod: Pod) -> None:
    """The sum of KEP-753, computed again with plain numbers."""
    for name in ("cpu", "memory", "hugepages-2Mi"):
        before = peak = 0
        for container in pod.init_containers:
            own = container.resources.requests.get(name, Quantity()).nano
            if container.kind is ContainerKind.SIDECAR:
                before += own
            peak = max(peak, before if container.kind is ContainerKind.SIDECAR else before + own)
        running = before + sum(each.resources.requests.get(name, Quantity()).nano for each in pod.containers)
        assert container_requests(pod).get(name, Quantity()).nano == max(running, peak)


@given(st.integers(0, 300_000), st.integers(0, 300_000))
def test_shares_weights_and_quotas_grow(less: int, more: int) -> None:
    less, more = sorted((less, more))
    assert shares_of(less) <= shares_of(more)
    assert quota_of(less) <= quota_of(more) or less == 0
    for weigh in (linear_weight, curved_weight):
        assert 1 <= weigh(shares_of(less)) <= weigh(shares_of(more)) <= 10_000


@given(st.integers(1, 10_000))
def test_a_weight_read_back_is_never_more(weight: int) -> None:
    assert linear_weight(shares_of_weight(weight)) <= weight
    assert linear_weight(shares_of_weight(weight) + 27) >= weight


@given(pods, rules)
def test_no_pod_ends_in_an_error(pod: Pod, by: PodRules) -> None:
    facts = pod_facts(pod, NodeOfPods(rules=by, memory=64 << 30, static=frozenset({"cpu"})))
    assert len(facts.containers) == len(pod.all_containers)
    assert facts.cgroup.shares >= 2


@given(pods, rules)
def test_every_amount_has_a_source(pod: Pod, by: PodRules) -> None:
    stored = provenance(pod, by)
    parts = [each.resources for each in stored.pod.all_containers]
    parts += [stored.pod.resources] if stored.pod.resources else []
    amounts = sum(len(part.requests) + len(part.limits) for part in parts) + len(stored.pod.overhead)
    assert len(stored.sources) == amounts


@given(pods, rules)
def test_storing_a_stored_pod_changes_nothing(pod: Pod, by: PodRules) -> None:
    once = provenance(pod, by).pod
    assert provenance(once._replace(phase="Running"), by).pod == once._replace(phase="Running")
    assert stored(once, by.server) == once


@given(pods)
def test_a_pod_cgroup_is_limited_only_if_all_its_containers_are(pod: Pod) -> None:
    own = {} if pod.resources is None else pod.resources.limits
    values = pod_cgroup(pod, pod_qos(pod).qos_class, CgroupSettings())
    unlimited = [each for each in pod.containers if not each.resources.limits.get("memory", Quantity()).sign]
    if unlimited and not own.get("memory", Quantity()).sign:
        assert not values.memory


@given(pods, st.booleans())
def test_exclusive_cpus_change_nothing_but_the_quota(pod: Pod, exclusive: bool) -> None:
    qos = pod_qos(pod).qos_class
    for container in pod.all_containers:
        shared = container_cgroup(pod, container, qos, CgroupSettings())
        other = container_cgroup(pod, container, qos, CgroupSettings(), exclusive=exclusive)
        assert replace(other, quota=None) == replace(shared, quota=None)
        assert other.quota == (-1 if exclusive else shared.quota)


@given(pods, st.integers(1 << 30, 1 << 40))
def test_scores_are_kept_in_bounds(pod: Pod, memory: int) -> None:
    """Only requests that the API server rejects result in more than 1000."""
    sound = pod._replace(resources=None)
    qos = pod_qos(sound).qos_class
    for container in sound.all_containers:
        score = oom_score(sound, container, qos, memory).value
        assert score is not None
        assert score in (-997, 1000) or 3 <= score <= 999


@given(st.lists(st.tuples(pods, st.none() | st.integers(0, 4 << 30)), max_size=5))
def test_eviction_starts_with_pods_that_exceed_their_requests(usage: list[tuple[Pod, int | None]]) -> None:
    ranked = eviction_order(usage)
    assert len(ranked) == len(usage)
    levels = [
        0 if each.usage is None else 1 if each.usage > eviction_request(each.pod) else 2 for each in ranked
    ]
    assert levels == sorted(levels)


@given(pods)
def test_advice_helps_and_no_part_of_it_can_be_left_out(pod: Pod) -> None:
    pod = stored(pod)
    for container in pod.all_containers:
        advice = advise(pod, container)
        if advice.claim.cpus or not advice.changes:
            continue
        assert claimed(pod, container.name, advice.changes) == advice.count_after > 0
        for fewer in combinations(advice.changes, len(advice.changes) - 1):
            assert claimed(pod, container.name, fewer) == 0


@given(pods)
def test_there_is_advice_for_every_container(pod: Pod) -> None:
    pod = stored(pod)
    for container in pod.all_containers:
        advice = advise(pod, container)
        assert advice.claim.cpus or advice.changes


def claimed(pod: Pod, name: str, changes: tuple[SpecEdit, ...]) -> int:
    """Apply some changes and count the CPUs that the container is then due."""
    for change in changes:
        pod = applied(pod, change)
    pod = stored(pod)
    container = next(each for each in pod.all_containers if each.name == name)
    return exclusive_claim(pod, container, pod_qos(pod)).cpus


def applied(pod: Pod, change: SpecEdit) -> Pod:
    if change.after is None:
        return pod._replace(resources=None)
    amount = change.after

    def edited(each: Container) -> Container:
        if each.name != change.place.container:
            return each
        own, more = each.resources, {change.place.resource: amount}
        if change.place.side == "requests":
            return replace(each, resources=replace(own, requests={**own.requests, **more}))
        return replace(each, resources=replace(own, limits={**own.limits, **more}))

    return pod._replace(
        containers=tuple(map(edited, pod.containers)),
        init_containers=tuple(map(edited, pod.init_containers)),
    )


@given(
    st.lists(pods, max_size=6),
    st.dictionaries(st.sampled_from(["pods", "requests.cpu", "limits.memory"]), quantities),
)
def test_quotas_are_never_exceeded(given_pods: list[Pod], hard: dict[str, Quantity]) -> None:
    quota = ResourceQuota(name="team", hard=hard)
    ledger = QuotaLedger([quota])
    for each in given_pods:
        ledger.create(each, pod_qos(each).qos_class)
    assert all(amount <= hard[name] for name, amount in ledger.used[0].items())
