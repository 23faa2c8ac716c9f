"""Why the device manager cannot allocate.

Rule: kubelet v1.36 ``pkg/kubelet/cm/devicemanager/manager.go``.
"""

from __future__ import annotations

from cpuctl.engine.explain.decision import Blocked, Rule
from cpuctl.engine.outcome import Rejected, RejectionReason

_WRAPPING = "Allocate failed due to ", ", which is unexpected"
_BEGINNINGS = {
    "requested number of devices unavailable": Rule.NOT_ENOUGH,
    "no healthy devices present": Rule.UNHEALTHY_DEVICES,
    "previously allocated devices are no longer healthy": Rule.UNHEALTHY_DEVICES,
    "pod ": Rule.OTHER_ASSIGNMENT,
}
"""How the device manager's errors begin; the last one says that a pod's request has changed."""


def blocked_by_devices(refused: Rejected) -> Blocked | None:
    """Name the rule behind an error of the device manager; None where the error is another's."""
    if refused.reason != RejectionReason.UNEXPECTED_ADMISSION:
        return None
    before, behind = _WRAPPING
    error = refused.message.removeprefix(before).removesuffix(behind)
    return next(
        ((rule, error) for beginning, rule in _BEGINNINGS.items() if error.startswith(beginning)), None
    )
