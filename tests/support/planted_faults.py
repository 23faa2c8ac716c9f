"""The faults that tests/guest/audit_node.py plants in a node, compared with an audit's findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Found = Mapping[str, list[dict[str, Any]]]
"""Findings by their code."""


def by_code(answer: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Sort the findings of an audit."""
    found: dict[str, list[dict[str, Any]]] = {}
    for finding in answer["findings"]:
        found.setdefault(finding["code"], []).append(finding)
    return found


def check_planted(found: Found, planted: Mapping[str, str]) -> None:
    """Assert that every planted fault is found, where and as it was planted, and nothing else."""
    assert found.keys() == planted.keys() - {"escaped"}
    server, cpus = planted["cpuset-differs"].split()
    assert [(each["subject"], each["detected"]) for each in found["cpuset-differs"]] == [(server, cpus)]
    forwarder, cpu = planted["cpus-unused"].split()
    assert [(each["subject"], each["detected"]) for each in found["cpus-unused"]] == [(forwarder, cpu)]
    for code in ("mems-differ", "quota-on-exclusive", "memory-spill"):
        wanted = [planted[code]] if code in planted else []
        assert [each["subject"] for each in found.get(code, ())] == wanted
    _check_host(found, planted)


def _check_host(found: Found, planted: Mapping[str, str]) -> None:
    strangers = {(each["path"], each["fix"].split()[-1]) for each in found["foreign-processes"]}
    assert strangers == {tuple(planted[name].split()) for name in ("foreign-processes", "escaped")}
    number, cpu = planted["interrupt"].split()
    assert [(each["subject"].split()[1], each["detected"]) for each in found["interrupt"]] == [(number, cpu)]
    first, last = planted["stale-entry"].split(",")
    assert [each["detected"] for each in found["stale-entry"]] == [f"{first}-{last}"]
    (gone,) = found["cpus-offline"]
    assert gone["message"].startswith(f"CPU {planted['cpus-offline']} is offline")
