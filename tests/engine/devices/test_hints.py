"""The device manager's hints where devices are next to no node, or nothing is to be used again."""

from __future__ import annotations

from cpuctl.engine.devices.allocation import DeviceHints
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask

ONE_EACH = {NodeMask(nodes): 1 for nodes in range(3)}


def test_reusable_devices_that_lie_nowhere_exclude_no_set() -> None:
    hints = DeviceHints.generate(
        NodeMask(0b11), ONE_EACH, {NodeMask(1): 1, NodeMask(2): 1}, {NodeMask(0): 1}, 1
    )
    assert list(hints) == [
        Hint(NodeMask(0b01), preferred=True),
        Hint(NodeMask(0b10), preferred=True),
        Hint(NodeMask(0b11), preferred=False),
    ]


def test_a_place_without_reusable_devices_excludes_no_set() -> None:
    hints = DeviceHints.generate(NodeMask(0b11), ONE_EACH, {NodeMask(2): 1}, {NodeMask(1): 0}, 1)
    assert list(hints) == [Hint(NodeMask(0b10), preferred=True), Hint(NodeMask(0b11), preferred=False)]


def test_no_hint_is_as_wide_as_a_request_that_nothing_serves() -> None:
    hints = DeviceHints.generate(NodeMask(0b11), ONE_EACH, {NodeMask(1): 1, NodeMask(2): 1}, {}, 3)
    assert (list(hints), hints.narrowest, hints.width) == ([], 0, 0)
