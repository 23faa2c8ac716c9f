"""Plans in files, as ``plan -o json`` prints them, that other commands carry out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.documents.cursor import Cursor

if TYPE_CHECKING:
    from cpuctl.errors import InputError


def not_planned(plan: Cursor) -> InputError:
    """Make the error for a plan whose kubelet would not start, with the plan's own next step."""
    start = plan.get("start")
    error = start.optional("error", Cursor.text, "") if start else ""
    command = plan.optional("next", Cursor.text, "cpuctl config check, with the options of the plan")
    why = f": {error}" if error else ""
    hint = f"to see what to change: {command}"
    return plan.error(f"nothing was planned: the kubelet would not start{why}", hint=hint)
