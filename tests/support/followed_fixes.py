"""A message, a node whose kubelet prints it, and the nodes on which each part of its fix was followed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.cli.test_fixes import Config

Pod = dict[str, Any]
MACHINE = "synthetic:2s2n8c2t,mem=64Gi"


@dataclass(frozen=True, kw_only=True)
class Node:
    """A kubelet that starts, if it does, and then admits pods, if it does."""

    config: Config = field(default_factory=dict)
    machine: str = MACHINE
    release: str = "1.36"
    pods: tuple[Pod, ...] = ()

    def with_config(self, **changes: Any) -> Node:
        """Change settings; None removes one."""
        config = {name: value for name, value in (self.config | changes).items() if value is not None}
        return replace(self, config=config)


@dataclass(frozen=True)
class Case:
    """A message, the node that prints it, and for each part of its fix the node on which it was followed."""

    code: str
    node: Node
    ways: dict[str, Node]
    name: str = ""

    def __str__(self) -> str:
        return f"{self.code} {self.name}".strip()


def settings(code: str, before: Config, after: dict[str, Config], name: str = "", **more: Any) -> Case:
    """Return a case in which only settings change."""
    node = Node(config=before, **more)
    return Case(code, node, {way: node.with_config(**changes) for way, changes in after.items()}, name)


def options(**given: str) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in given.items()}


def cpu_options(**given: str) -> Config:
    return {"cpuManagerPolicyOptions": options(**given)}
