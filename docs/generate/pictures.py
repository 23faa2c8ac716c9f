"""The pictures in the pages, drawn by cpuctl."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from docs.generate.console import printed

_STATIC = "--kubelet-config fixtures/kubelet/static.yaml"
_COMMANDS = {
    "plan": f"cpuctl plan -q -m fixtures/machines/2s-2numa-32cpu.tar.xz {_STATIC} -f fixtures/pods --svg -",
    "delay": "cpuctl replay -q fixtures/timelines/scenario-2.yaml --svg -",
}


def pictures(root: Path) -> Mapping[str, str]:
    """Draw every picture; return their SVG by path from the root."""
    return {f"docs/pictures/{name}.svg": printed(command, root) for name, command in _COMMANDS.items()}
