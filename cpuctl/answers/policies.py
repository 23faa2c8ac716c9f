"""Policies (plug-ins) that choose CPUs in the kubelet's place."""

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
    """What it was made after."""
    steps: list[Step]
    """The steps that it has of its own; the others are the kubelet's way."""
    options: list[PolicyOption]
    error: str | None
    """Why it cannot be loaded."""


class Policies(TypedDict):
    """The policies that have names. No kubelet does what they do."""

    apiVersion: ApiVersion
    kind: Literal["Policies"]
    standing: Literal["what-if"]
    policies: list[Policy]


class PolicyDescription(TypedDict):
    """What a policy says of itself. No kubelet does what it does."""

    apiVersion: ApiVersion
    kind: Literal["PolicyDescription"]
    standing: Literal["what-if"]
    policy: Policy
    doc: str
    alignment: Literal["hint", "equal", "cpu"]
    """Which NUMA nodes it may choose from, where the Topology Manager aligns."""
    text: str
    """The Python text that it is in; empty where there is none."""
