"""Claims on one node: allocated as pods are scheduled, prepared as they start, freed when they are removed.

Rule: kubernetes ``scheduler/framework/plugins/dynamicresources`` and kubernetes-sigs/dra-driver-cpu at
de98098, ``pkg/driver``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from cpuctl.cpuset import CPUSet, union
from cpuctl.dra.accounting import CPU, Accounts, ClaimRules, accounts_of, uncovered
from cpuctl.dra.allocation import Allocated, Books, Inventory, Unsatisfied, allocate
from cpuctl.dra.driver import DRIVER
from cpuctl.dra.model import Claim, Device, DeviceRequest, Grant
from cpuctl.dra.prepare import Driver, NotPrepared, Prepared
from cpuctl.dra.published import elsewhere
from cpuctl.dra.reading import ClaimObjects
from cpuctl.dra.selectors import Selectors
from cpuctl.engine.changeable import Copied
from cpuctl.engine.outcome import Pending, Undetermined
from cpuctl.phrases import not_among_manifests
from cpuctl.pods.cgroups.values import CgroupSettings
from cpuctl.pods.model import CountedClaim, Pod, PodClaim
from cpuctl.pods.rules import NodeRules

P = TypeVar("P", bound=Pod)
Key = tuple[str, str]
"""A claim's namespace and name; for one created from a template, the pod's UID and the name there."""


class ClaimOutcome(NamedTuple):
    """A claim of a pod: its name there and its own, its devices, and the CPUs that the driver assigns.

    ``containers`` are those that name it, by any of the pod's names for it. ``prepared`` is None if the
    driver has not been called, or none of the devices belongs to it.
    """

    name: str
    claim: str
    key: Key
    grants: tuple[Grant, ...] = ()
    prepared: Prepared | NotPrepared | Undetermined | None = None
    containers: tuple[str, ...] = ()

    @property
    def cpus(self) -> CPUSet:
        """The CPUs of the claim."""
        return self.prepared.cpus if isinstance(self.prepared, Prepared) else CPUSet()


class PodClaims(NamedTuple):
    """The result for a pod's claims; ``why`` is the reason if they are not satisfied or it is unknown.

    ``problem`` is why the pod does not start although its claims are allocated. ``counted`` are its claims
    that count as the node's resources.
    """

    pod: Pod
    claims: tuple[ClaimOutcome, ...] = ()
    why: Unsatisfied | Undetermined | None = None
    problem: str = ""
    counted: tuple[CountedClaim, ...] = ()

    @property
    def distinct(self) -> Iterable[ClaimOutcome]:
        """Its claims, each once, even if the pod has several names for one."""
        found: dict[Key, ClaimOutcome] = {}
        for each in self.claims:
            found.setdefault(each.key, each)
        return found.values()

    @property
    def unknown(self) -> Undetermined | None:
        """Why the CPUs of a claim are unknown although its devices are known; None if they are known."""
        doubts = (each.prepared for each in self.claims)
        return next((each for each in doubts if isinstance(each, Undetermined)), None)


class _Held(NamedTuple):
    """An allocated claim: its devices, the pods that use it (UIDs), and the CPUs if it is prepared.

    ``holder`` names the pod or container that holds it, ``holder_uid`` is the pod's UID, if known.
    """

    claim: Claim
    grants: tuple[Grant, ...]
    users: tuple[str, ...] = ()
    prepared: Prepared | NotPrepared | Undetermined | None = None
    holder: str = ""
    holder_uid: str = ""


class _UnknownError(Exception):
    """The result for a pod's claims is unknown."""


class _UnschedulableHereError(Exception):
    """The pod cannot run on this node, or its claim is never stored."""

    def __init__(self, claim: Claim, request: str, why: str) -> None:
        super().__init__(why)
        self.found = Unsatisfied(claim.full_name, request, why)


class NodeClaims(Copied):
    """The claims of the pods of a node (``name``), and the devices they hold; copies are independent.

    ``unknown`` are drivers whose devices may or may not be on the node; ``kubelet`` are the rules by which
    the kubelet evaluates pods, ``cgroups`` its cgroup settings.
    """

    def __init__(
        self,
        objects: ClaimObjects,
        inventory: Inventory,
        driver: Driver,
        rules: ClaimRules,
        name: str = "",
        unknown: frozenset[str] = frozenset(),
    ) -> None:
        self.objects = objects
        self.inventory = inventory
        self.driver = driver
        self.rules = rules
        self.name = name
        self.unknown = unknown
        self.kubelet = NodeRules()
        self.cgroups = CgroupSettings()
        self.books = Books()
        self.selectors = Selectors()
        self._scheduler_view = _scheduler_view(inventory, rules)
        self._drivers = frozenset(device.driver for device in inventory.devices)
        self.held: dict[Key, _Held] = {}
        self.pods: dict[str, PodClaims] = {}
        self.why_unknown = ""

    def know_drivers(self, drivers: Iterable[str]) -> None:
        """Assume that all slices of some drivers are known: without one, the node has no such devices."""
        self._drivers |= frozenset(drivers)

    def resume(self, pods: Iterable[Pod], cpus_of: Callable[[str], CPUSet | None]) -> None:
        """Adopt existing allocations; *pods* run, and *cpus_of* returns a prepared claim's CPUs by UID.

        Unknown claims of running pods may have any device.
        """
        devices = {each.id: each for each in self._scheduler_view.devices}
        for claim in self.objects.claims.values():
            results = [
                each for each in claim.results or () if (each.driver, each.pool, each.device) in devices
            ]
            if not results:
                continue
            grants = tuple(
                Grant(each.request, devices[each.driver, each.pool, each.device], each.consumed)
                for each in results
            )
            for grant in grants:
                self.books.book(grant)
            held = _Held(claim, grants, claim.users)
            if claim.users and any(each.driver == DRIVER for each in results):
                held = held._replace(
                    prepared=self.driver.resume(claim.full_name, grants, cpus_of(claim.uid)),
                    holder="a running pod",
                )
            self.held[_key_of(claim)] = held
        self.take_over(pods)

    def take_over(self, pods: Iterable[Pod]) -> None:
        """Mark the claims that running pods name as used by them."""
        for pod in pods:
            self._take_over(pod)

    def learn(self, other: NodeClaims) -> None:
        """Add the knowledge of *other*: objects, devices, and their allocations.

        Claims that were allocated or released here keep their state.
        """
        before = {_key_of(each) for each in self.objects.claims.values()}
        self.objects, self.inventory, self.name = other.objects, other.inventory, other.name
        self.unknown, self.why_unknown = other.unknown, other.why_unknown
        self._scheduler_view, self._drivers = other._scheduler_view, other._drivers
        for key, held in other.held.items():
            if key in self.held or key in before:
                continue
            self._book(key, held)
            if isinstance(held.prepared, Prepared):
                self.driver.resume(held.claim.full_name, held.grants, held.prepared.cpus)
        self.driver.why_unknown = other.driver.why_unknown
        self.pods = {**other.pods, **self.pods}

    def _take_over(self, pod: Pod) -> None:
        keys: dict[str, Key] = {}
        for each in pod.resource_claims:
            try:
                key, claim = self._claim(pod, each)
            except _UnknownError as error:
                self.why_unknown = self.why_unknown or f"pod {pod.full_name} is running: {error}"
                continue
            if (held := self.held.get(key)) is None:
                if claim.results is None:
                    text = f"pod {pod.full_name} is running, but its claim {claim.full_name} is not allocated"
                    self.why_unknown = (
                        self.why_unknown or f"{text} among the manifests (kubectl get resourceclaims -o yaml)"
                    )
                continue
            users = (*held.users, *((pod.uid,) if pod.uid not in held.users else ()))
            self.held[key] = held._replace(users=users, holder=f"pod {pod.full_name}", holder_uid=pod.uid)
            keys[each.name] = key
        if keys:
            outcomes = tuple(self._outcomes(pod, keys))
            # A running pod's status has what was counted: nothing if it was scheduled before the gate was on.
            counted = pod.counted_claims if pod.phase else self._counted(outcomes)
            self.pods[pod.uid] = PodClaims(pod, outcomes, counted=counted)

    def allocate(self, pod: Pod) -> Pending | Undetermined | None:
        """Allocate the claims of a new pod, or return why that is impossible or unknown."""
        if not pod.resource_claims or (pod.uid in self.pods and self.pods[pod.uid].why is None):
            return None
        if pod.static:
            return self._of_static_pod(pod)
        why = self._allocate(pod)
        if why is not None:
            self.pods[pod.uid] = PodClaims(pod, why=why)
        if isinstance(why, Unsatisfied):
            return Pending(why.text)
        return why

    def _of_static_pod(self, pod: Pod) -> Pending | None:
        """Return the result for a pod without a scheduler: its claims are not allocated."""
        if not (words := self.kubelet.static_claims):
            problem = "its claims cannot be allocated: the scheduler does not handle static pods"
            self.pods[pod.uid] = PodClaims(pod, problem=problem)
            return None
        first = pod.resource_claims[0]
        refused = f"the kubelet rejects the static pod: {words}"
        why = Unsatisfied(f"{pod.namespace}/{first.claim or first.name}", "", refused)
        self.pods[pod.uid] = PodClaims(pod, why=why)
        return Pending(why.text)

    def _allocate(self, pod: Pod) -> Unsatisfied | Undetermined | None:
        try:
            claims = {each.name: self._claim(pod, each) for each in pod.resource_claims}
            for key, claim in claims.values():
                self._check(key, claim)
            by_key = dict(claims.values())
            new = {key: self._understood(claim) for key, claim in by_key.items() if key not in self.held}
        except _UnknownError as error:
            return Undetermined(str(error))
        except _UnschedulableHereError as error:
            return error.found
        if uncertain := (self.why_unknown if new else "") or self._unknown_classes(list(new.values())):
            return Undetermined(uncertain)
        found = allocate(list(new.values()), self._scheduler_view, self.books, self.selectors)
        if not isinstance(found, Allocated):
            return found
        grants = dict(zip(new, found.grants, strict=True))
        keys = {name: key for name, (key, _) in claims.items()}
        counted = self._to_count(pod, keys, by_key, grants)
        if isinstance(counted, Unsatisfied):
            return counted
        for key, claim in new.items():
            self._book(key, _Held(claim, grants[key]))
        for key in by_key:
            self.held[key] = self.held[key]._replace(users=(*self.held[key].users, pod.uid))
        self.pods[pod.uid] = PodClaims(pod, tuple(self._outcomes(pod, keys)), counted=counted)
        return None

    def _to_count(
        self,
        pod: Pod,
        keys: Mapping[str, Key],
        claims: Mapping[Key, Claim],
        new: Mapping[Key, tuple[Grant, ...]],
    ) -> tuple[CountedClaim, ...] | Unsatisfied:
        """Return what a pod's claims count as, or why the scheduler cannot place a pod with such claims."""
        total: list[CountedClaim] = []
        for key, claim in claims.items():
            grants = new[key] if key in new else self.held[key].grants
            containers = _users(pod, [each for each, other in keys.items() if other == key])
            if (counted := self.rules.counted(grants, containers)) is None:
                continue
            others = key in self.held and any(user != pod.uid for user in self.held[key].users)
            if why := self.rules.objection(claim.name, grants, counted, others=others):
                return Unsatisfied(claim.full_name, "", why, why)
            if key in new or self.rules.unnamed:
                total.append(counted)
        if less := uncovered(pod._replace(counted_claims=tuple(total)), limits=self.rules.unnamed):
            why = f"{less.words} ({less.own} of {less.needed})"
            return Unsatisfied(next(iter(claims.values())).full_name, "", why, less.words)
        return tuple(total)

    def _counted(self, outcomes: Sequence[ClaimOutcome]) -> tuple[CountedClaim, ...]:
        distinct = {each.key: each for each in outcomes}.values()
        counted = (self.rules.counted(each.grants, each.containers) for each in distinct)
        return tuple(each for each in counted if each is not None)

    def counted(self, pod: P) -> P:
        """Return a pod with its counted claims in the status, if the scheduler has written them."""
        counted = self.pods[pod.uid].counted if pod.uid in self.pods else pod.counted_claims
        return pod if counted == pod.counted_claims else pod._replace(counted_claims=counted)

    def counts_cpus(self, pod: Pod) -> bool:
        """Return whether a pod's claims count as CPUs of the node."""
        return any(CPU in each.amounts for each in self.counted(pod).counted_claims)

    def accounts(self, pod: P) -> Accounts | None:
        """Return the total of a pod with its claims; None if they do not count."""
        return accounts_of(self.counted(pod), self.kubelet, self.cgroups)

    def _book(self, key: Key, held: _Held) -> None:
        self.held[key] = held
        for grant in held.grants:
            self.books.book(grant)

    def _understood(self, claim: Claim) -> Claim:
        """Return a claim as the API server stores it, without unknown fields."""
        if not self.rules.alternatives and (odd := next((r for r in claim.requests if r.alternatives), None)):
            why = (
                "the API server rejects this claim: firstAvailable is dropped while DRAPrioritizedList "
                "is disabled"
            )
            raise _UnschedulableHereError(claim, odd.name, why)
        if self.rules.consumable:
            return claim
        if any(each.distinct for each in claim.constraints):
            why = "distinctAttribute is dropped while DRAConsumableCapacity is disabled"
            raise _UnschedulableHereError(claim, "", f"the API server rejects this claim: {why}")
        return claim._replace(requests=tuple(map(_without_capacity, claim.requests)))

    def _check(self, key: Key, claim: Claim) -> None:
        """Raise an error for a claim that is allocated elsewhere."""
        for each in claim.results or ():
            if each.driver not in self._drivers:
                raise _UnknownError(
                    f"claim {claim.full_name} has device {each.device}, but no ResourceSlice lists the "
                    f"devices of its driver {each.driver}"
                )
            if key not in self.held:
                raise _UnschedulableHereError(
                    claim, each.request, elsewhere(each, self._scheduler_view.devices)
                )

    def prepare(self, pod: Pod) -> None:
        """Let the driver prepare any claims of a starting pod."""
        known = self.pods.get(pod.uid)
        if known is None or known.why is not None or not known.claims:
            return
        problems = [self._prepared(pod, each) for each in known.claims]
        outcomes = tuple(each._replace(prepared=self.held[each.key].prepared) for each in known.claims)
        self.pods[pod.uid] = known._replace(claims=outcomes, problem=next(filter(None, problems), ""))

    def _prepared(self, pod: Pod, outcome: ClaimOutcome) -> str:
        """Prepare one claim; return what prevents the pod from starting."""
        held = self.held[outcome.key]
        name = held.claim.full_name
        if not any(grant.device.driver == DRIVER for grant in held.grants):
            return ""
        if held.holder:
            # The driver ties a claim to the first container that starts with it.
            if held.holder_uid == pod.uid:
                return ""
            return f"claim {name} is already in use by {held.holder}: only one container can use a claim"
        prepared = self.driver.prepare(name, held.grants, held.claim.configs)
        self.held[outcome.key] = held._replace(
            prepared=prepared, holder=f"pod {pod.full_name}", holder_uid=pod.uid
        )
        if isinstance(prepared, NotPrepared):
            return prepared.reason(consumable=self.rules.consumable)
        if isinstance(prepared, Prepared) and len(outcome.containers) > 1:
            return (
                f"claim {name} is referenced by containers {', '.join(outcome.containers)}, but only one "
                "container can use a claim: only the first one starts"
            )
        return ""

    def problem(self, uid: str) -> str:
        """Return why a pod does not start although its claims are allocated; empty if it starts."""
        return self.pods.get(uid, _NONE).problem

    def release(self, uid: str) -> None:
        """Free the claims of a removed pod that no other pod uses."""
        for key in (each.key for each in self.pods.pop(uid, _NONE).distinct):
            held = self.held[key]
            users = tuple(user for user in held.users if user != uid)
            self.held[key] = held._replace(users=users)
            if users:
                continue
            for grant in held.grants:
                self.books.release(grant)
            cpus = held.prepared.cpus if isinstance(held.prepared, Prepared) else CPUSet()
            self.driver.unprepare(held.claim.full_name, cpus)
            del self.held[key]

    def cpus_of(self, uid: str, container: str) -> CPUSet | None:
        """Return the CPUs of the claims that a container names; None if it names none."""
        mine = [each for each in self.pods.get(uid, _NONE).distinct if container in each.containers]
        return union(each.cpus for each in mine) or None

    def wanted(self, pod: Pod) -> list[Claim]:
        """Return the claims of a pod that are not allocated, as far as they are known."""
        claims = {}
        for each in pod.resource_claims:
            try:
                key, claim = self._claim(pod, each)
            except _UnknownError:
                continue
            if key not in self.held:
                claims[key] = claim
        return list(claims.values())

    def holders(self, devices: Iterable[Device]) -> tuple[str, ...]:
        """Return the names of the claims that hold any of these devices, or a share of one."""
        ids = {each.id for each in devices}
        return tuple(
            each.claim.full_name
            for each in self.held.values()
            if any(grant.device.id in ids for grant in each.grants)
        )

    def _outcomes(self, pod: Pod, keys: Mapping[str, Key]) -> Iterator[ClaimOutcome]:
        """Yield the claims of a pod, by its names for them; several names may refer to one claim."""
        for name, key in keys.items():
            held = self.held[key]
            yield ClaimOutcome(
                name=name,
                claim=held.claim.full_name,
                key=key,
                grants=held.grants,
                prepared=held.prepared,
                containers=_users(pod, [each for each, other in keys.items() if other == key]),
            )

    def _claim(self, pod: Pod, each: PodClaim) -> tuple[Key, Claim]:
        """Find a claim of a pod; one from a template belongs to the pod, and may exist already."""
        if not each.claim and (made := self.objects.made.get((pod.uid, each.name))):
            return _key_of(made), made
        name, kind = (each.claim, "ResourceClaim") if each.claim else (each.template, "ResourceClaimTemplate")
        known: Mapping[Key, Claim] = self.objects.claims if each.claim else self.objects.templates
        if (claim := known.get((pod.namespace, name))) is None:
            missing = not_among_manifests(kind, name, pod.namespace)
            raise _UnknownError(f"{kind} {pod.namespace}/{name} {missing}")
        if each.claim:
            return _key_of(claim), claim
        return (pod.uid, each.name), claim._replace(name=f"{pod.name}-{each.name}")

    def _unknown_classes(self, claims: Sequence[Claim]) -> str:
        """Return the first device class that no manifest defines; its driver may offer anything."""
        requested = (
            (claim, each.class_name)
            for claim in claims
            for request in claim.requests
            for each in request.alternatives or (request,)
        )
        return next(filter(None, (self._why_unknown(claim, name) for claim, name in requested)), "")

    def _why_unknown(self, claim: Claim, name: str) -> str:
        requested = f"claim {claim.full_name} requests devices of class {name}"
        if name not in self.inventory.classes:
            return f"{requested}, but this DeviceClass {not_among_manifests('DeviceClass', name)}"
        drivers = self.selectors.drivers(self.inventory.classes[name].selectors)
        if unsure := ", ".join(sorted((drivers or self.unknown) & self.unknown)):
            return (
                f"{requested}, but whether slices of {unsure} are for this node depends on the node's "
                "labels, which are unknown"
            )
        if missing := ", ".join(sorted(drivers - self._drivers)):
            return f"{requested}, but no ResourceSlice lists the devices of its driver {missing}"
        return ""


_SKIPS_SINCE = 36
"""The first minor whose allocator skips incomplete and invalid pools."""
_NONE = PodClaims(Pod("", ()))


def _scheduler_view(inventory: Inventory, rules: ClaimRules) -> Inventory:
    """Return the devices, without shared ones if the scheduler does not support them."""
    devices = inventory.devices
    if not rules.consumable:
        devices = tuple(each._replace(allows_many=False) for each in devices)
    return inventory._replace(devices=devices, skips=rules.minor >= _SKIPS_SINCE)


def _key_of(claim: Claim) -> Key:
    return claim.namespace, claim.name


def _without_capacity(request: DeviceRequest) -> DeviceRequest:
    alternatives = tuple(map(_without_capacity, request.alternatives))
    return request._replace(capacity={}, alternatives=alternatives)


def _users(pod: Pod, names: Sequence[str]) -> tuple[str, ...]:
    """Return the containers that use a claim by any of its names."""
    return tuple(
        each.name for each in pod.all_containers if any(name in each.resources.claims for name in names)
    )
