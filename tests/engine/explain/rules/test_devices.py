"""The device manager's errors, and the rules behind them."""

from __future__ import annotations

import pytest

from cpuctl.engine.explain.decision import Rule
from cpuctl.engine.explain.rules import blocked_by_devices
from cpuctl.engine.outcome import Rejected, RejectionReason


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        ("requested number of devices unavailable for a/b. Requested: 2, Available: 1", Rule.NOT_ENOUGH),
        ("no healthy devices present; cannot allocate unhealthy devices a/b", Rule.UNHEALTHY_DEVICES),
        (
            "previously allocated devices are no longer healthy; cannot allocate unhealthy devices a/b",
            Rule.UNHEALTHY_DEVICES,
        ),
        ('pod "a" container "c" changed request for resource "a/b" from 1 to 2', Rule.OTHER_ASSIGNMENT),
    ],
)
def test_errors_of_the_device_manager(error: str, rule: Rule) -> None:
    message = f"Allocate failed due to {error}, which is unexpected"
    refused = Rejected(reason=RejectionReason.UNEXPECTED_ADMISSION, message=message)
    assert blocked_by_devices(refused) == (rule, error)
    assert blocked_by_devices(Rejected(refused.reason, "Allocate failed due to not enough cpus")) is None
    assert blocked_by_devices(Rejected(RejectionReason.SMT_ALIGNMENT, refused.message)) is None
