"""Plans in files, as ``plan -o json`` prints them, that other commands carry out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpuctl.documents.cursor import Cursor
    from cpuctl.errors import InputError


def not_planned(plan: Cursor) -> InputError:
    """Make the error for a plan whose kubelet would not start, with the plan's own next step."""
    problem = plan.get("start")
    error = problem.get("error") if problem is not None else None
    why = f": {error.text()}" if error is not None else ""
    following = plan.get("next")
    command = (
        following.text() if following is not None else "cpuctl config check, with the options of the plan"
    )
    hint = f"to see what to change: {command}"
    return plan.error(f"nothing was planned: the kubelet would not start{why}", hint=hint)
