"""A kubelet that works on while its node is looked at: what is compared must belong together."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from cpuctl.cli.output import Style, note
from cpuctl.inputs.live_node import CPU_FILE, LiveNode, picture_of, with_fresh_state

if TYPE_CHECKING:
    from cpuctl.audit.picture import Picture

_ATTEMPTS = 3


def settled_picture(node: LiveNode, style: Style) -> tuple[LiveNode, Picture]:
    """Look at a node until its state is the same before and after, and return both.

    A pod that comes in between has CPUs that the state did not give to anybody when it was read.
    """
    for _ in range(_ATTEMPTS):
        picture = picture_of(node, style)
        fresh = with_fresh_state(node)
        if fresh is node:
            return node, picture
        node = fresh
    note("note: the kubelet's state has changed each time the node was looked at: look again", style)
    return node, picture_of(node, style)


def tell_recent_change(node: LiveNode, style: Style) -> None:
    """Say on stderr when the live kubelet may not have written yet what its state says."""
    if not node.known.live:
        return
    try:
        changed = os.stat(f"{node.kubelet.config.root_dir}/{CPU_FILE}").st_mtime  # noqa: PTH116  # one call
    except OSError:
        return
    if told := still_moving(time.time() - changed, node.kubelet.config.cpu_manager_reconcile_period / 1e9):
        note(told, style)


def still_moving(age: float, period: float) -> str:
    """Say that containers may be on their way, by the age of the state and the kubelet's period in seconds.

    Rule: kubelet v1.36 ``reconcileState``: a set that changes is written with the next pass.
    """
    if not 0 <= age <= period:
        return ""
    return (
        f"note: the kubelet has changed its state {age:.0f}s ago, and moves containers within {period:g}s: "
        "what differs now may be on its way"
    )
