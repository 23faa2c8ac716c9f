"""Which resizes of exclusive CPUs are never done, whatever is free.

Rule: KEP-5554; as the reference implementation checks it, which looks at the status of app containers only.
"""

from __future__ import annotations

from cpuctl.engine.cpu.resizing.request import (
    ResizeRequest,
    below_baseline,
    no_baseline,
    to_exclusive,
    to_shared,
)
from cpuctl.engine.outcome import Rejected
from cpuctl.pods.model import Container
from cpuctl.quantity import Quantity

_NOTHING = Quantity.parse("0")


def infeasible(request: ResizeRequest, container: Container, baseline: int | None) -> Rejected | None:
    """Tell why a container of a Guaranteed pod may not get what it asks for; None if it may.

    *baseline* are the CPUs it was promised, as a mask.
    """
    if container.name not in request.allocated:
        return None
    allocated = request.allocated[container.name] or _NOTHING
    requested = container.resources.requests.get("cpu", _NOTHING)
    exclusive = allocated.sign > 0 and allocated.is_integral_cpu
    if not exclusive:
        return to_exclusive(requested, allocated, container.name) if requested.is_integral_cpu else None
    if not requested.is_integral_cpu:
        return to_shared(requested, allocated, container.name)
    if baseline is None:
        return no_baseline(request.pod.uid, container.name)
    promised = baseline.bit_count()
    if requested.value < promised:
        return below_baseline(requested, allocated, promised, container.name)
    return None
