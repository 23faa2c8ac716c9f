"""Metrics, as Prometheus reads them."""

from __future__ import annotations

from typing import Literal, TypedDict


class Metric(TypedDict):
    name: str
    type: Literal["counter", "gauge"]
    help: str
    labels: dict[str, str]
    value: int


class Metrics(TypedDict):
    """All that is told where metrics alone are asked for."""

    metrics: list[Metric]
