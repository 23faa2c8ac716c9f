"""What-if policies (plugins) that choose CPUs instead of the kubelet."""

from __future__ import annotations

from typing import Literal, TypedDict

from cpuctl.answers.values import ApiVersion

Step = Literal["sort", "filter", "post_filter", "pre_score", "select", "score", "allocate", "deallocate"]


class PolicyOption(TypedDict):
    name: str
    default: str


class Policy(TypedDict):
    name: str
    origin: Literal["shipped", "installed", "file", "program"]
    where: str
    """The module, package or file that it comes from."""
    summary: str
    source: str | None
    """What it is modelled on."""
    steps: list[Step]
    """The steps that it implements; all others are the kubelet's."""
    options: list[PolicyOption]
    error: str | None
    """Why it cannot be loaded."""


class Policies(TypedDict):
    """The named what-if policies. No kubelet has them."""

    apiVersion: ApiVersion
    kind: Literal["Policies"]
    status: Literal["what-if"]
    policies: list[Policy]


class PolicyDescription(TypedDict):
    """The description of a what-if policy. No kubelet has it."""

    apiVersion: ApiVersion
    kind: Literal["PolicyDescription"]
    status: Literal["what-if"]
    policy: Policy
    doc: str
    alignment: Literal["hint", "equal", "cpu"]
    """Which NUMA nodes it may choose from if the Topology Manager aligns."""
    text: str
    """Its Python source; empty if there is none."""
