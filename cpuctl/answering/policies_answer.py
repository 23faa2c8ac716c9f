"""The answers of ``cpuctl policies`` as plain documents (schemas: ``policies``, ``policydescription``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION

if TYPE_CHECKING:
    from cpuctl.answers import policies as answers
    from cpuctl.operations.policies import ChosenPolicy, KnownPolicy
    from cpuctl.policies.catalogue import Plugin
    from cpuctl.policies.what_if import Description


def policies_document(found: Iterable[KnownPolicy]) -> answers.Policies:
    """Describe policies by name, including those that cannot be loaded."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Policies",
        "status": "what-if",
        "policies": [_policy(each.plugin, each.description, each.error) for each in found],
    }


def description_document(chosen: ChosenPolicy) -> answers.PolicyDescription:
    """Describe one policy, with its documentation."""
    return {
        "apiVersion": API_VERSION,
        "kind": "PolicyDescription",
        "status": "what-if",
        "policy": _policy(chosen.plugin, chosen.description),
        "doc": chosen.description.doc,
        "alignment": chosen.description.alignment,
        "text": chosen.text,
    }


def _policy(plugin: Plugin, stated: Description | None, error: str = "") -> answers.Policy:
    return {
        "name": plugin.name,
        "origin": plugin.origin,
        "where": plugin.where,
        "summary": stated.doc.partition("\n")[0] if stated else "",
        "source": (stated.source or None) if stated else None,
        "steps": list(stated.steps) if stated else [],
        "options": [{"name": name, "default": value} for name, value in stated.options.items()]
        if stated
        else [],
        "error": error or None,
    }
