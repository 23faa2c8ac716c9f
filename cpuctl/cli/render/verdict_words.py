"""The words for a pod that is not admitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def verdict_words(verdict: Mapping[str, Any]) -> str:
    """Say why a pod is not admitted, in the kubelet's words where there are any."""
    match verdict["outcome"]:
        case "Rejected":
            return f"{verdict['reason']}: {verdict['message']}"
        case "Forbidden":
            return f"the API server refuses it (--skip-api-server asks the kubelet): {verdict['message']}"
        case "KubeletFault":
            return f"the kubelet fails ({verdict['fault']} in {verdict['where']}): {verdict['why']}"
        case _:
            return f"undetermined: {verdict['why']}"


def brief_words(verdict: Mapping[str, Any]) -> str:
    """Name the reason alone, where a kubelet gives one."""
    return str(verdict["reason"]) if verdict["outcome"] == "Rejected" else verdict_words(verdict)
