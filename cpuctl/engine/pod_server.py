"""An API server that creates pods: everything that keeps a pod from being stored, in its order.

RuntimeClasses come first, then validation, LimitRanges, and ResourceQuotas. The real one stops at the first
of these; here everything that each of them says about the pod is reported at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from cpuctl.engine.changeable import Copied
from cpuctl.pods.model import QosClass, StoredPod
from cpuctl.pods.rules import ServerRules
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.pods.resource_quotas import QuotaCharge, QuotaLedger, ResourceQuota
    from cpuctl.quantity import Quantity


class Creation(Record):
    """What the API server does with a new pod: without ``refusals`` it is stored, and charged to quotas.

    The refusals are separated by source: RuntimeClass, validation, LimitRanges, ResourceQuotas.
    """

    beyond_class: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    beyond_limits: tuple[str, ...] = ()
    beyond_quotas: tuple[str, ...] = ()
    charges: tuple[QuotaCharge, ...] = ()

    @property
    def refusals(self) -> tuple[str, ...]:
        """All refusals, in the API server's order."""
        return self.beyond_class + self.invalid + self.beyond_limits + self.beyond_quotas


_STORED = Creation()


class PodServer(Copied):
    """An API server with the rules of its namespaces. Copies are independent: each pod fills up quotas.

    ``ledger`` is None without quotas.
    """

    def __init__(
        self,
        rules: ServerRules,
        limit_ranges: Iterable[LimitRange] = (),
        quotas: Iterable[ResourceQuota] = (),
    ) -> None:
        self.rules = rules
        self.limit_ranges = tuple(limit_ranges)
        self.ledger = _ledger(tuple(quotas))

    def copy(self) -> Self:
        """Return a copy that goes on from the same state."""
        copied = super().copy()
        copied.ledger = self.ledger.copy() if self.ledger is not None else None
        return copied

    @property
    def used(self) -> tuple[Mapping[str, Quantity], ...]:
        """The current usage of every quota."""
        return self.ledger.used if self.ledger is not None else ()

    def count(self, pods: Iterable[StoredPod]) -> None:
        """Count pods that already exist."""
        if self.ledger is not None:
            for pod in pods:
                self.ledger.count(pod, _qos_class(pod))

    def create(self, pod: StoredPod) -> Creation:
        """Decide on a new pod, which has its defaults; static pods and existing ones are stored."""
        found = self._refused(pod)
        if self.ledger is None:
            return found
        charges = self.ledger.create(pod, _qos_class(pod), valid=not found.refusals)
        texts = (text for each in charges for text in each.refusals)
        beyond = tuple(f'pods "{pod.name}" is forbidden: {text}' for text in texts)
        return replace(found, beyond_quotas=beyond, charges=charges)

    def resize(self, before: StoredPod, after: StoredPod, *, valid: bool) -> tuple[str, ...]:
        """Return the quotas' refusals of new resources; without any, the pod is charged these if *valid*."""
        if self.ledger is None:
            return ()
        texts = self.ledger.resize(before, after, _qos_class(before), valid=valid)
        return tuple(f'pods "{after.name}" is forbidden: {text}' for text in texts)

    def end(self, pod: StoredPod) -> None:
        """End a pod: its resources are free again."""
        if self.ledger is not None:
            self.ledger.end(pod)

    def release(self, pod: StoredPod) -> None:
        """Remove a pod: quotas no longer count it."""
        if self.ledger is not None:
            self.ledger.release(pod)

    def _refused(self, pod: StoredPod) -> Creation:
        from cpuctl.pods.stored import plainly_valid

        if pod.phase or pod.static or (not self.limit_ranges and plainly_valid(pod)):
            return _STORED

        from cpuctl.pods.validation.refusals import beyond_limit_ranges, beyond_runtime_class, invalid

        return Creation(
            beyond_class=tuple(beyond_runtime_class(pod)),
            invalid=tuple(invalid(pod, self.rules, self.limit_ranges)),
            beyond_limits=tuple(beyond_limit_ranges(pod, self.limit_ranges)),
        )


def _ledger(quotas: tuple[ResourceQuota, ...]) -> QuotaLedger | None:
    if not quotas:
        return None

    from cpuctl.pods.resource_quotas import QuotaLedger

    return QuotaLedger(quotas)


def _qos_class(pod: StoredPod) -> QosClass:
    from cpuctl.pods.qos import pod_qos

    return pod_qos(pod).qos_class
