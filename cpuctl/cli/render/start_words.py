"""The sentence about a kubelet's start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def start_sentence(start: Mapping[str, Any], who: str) -> str:
    """Say whether *who* comes up, and if not, in which stage and in what words it ends."""
    match start["outcome"]:
        case "Started":
            return f"{who} would start."
        case "Refused":
            return f"{who} would not start ({start['stage']}): {start['error']}"
        case "KubeletFault":
            return f"{who} would fail ({start['fault']} in {start['where']}): {start['why']}"
        case _:
            return f"Whether {who[0].lower()}{who[1:]} would start cannot be said: {start['why']}"
