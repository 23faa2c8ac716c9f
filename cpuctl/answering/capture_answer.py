"""The answer of ``cpuctl capture`` as a plain document (schema: ``cpuctl schema capture``)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.documents.files import source_name

if TYPE_CHECKING:
    from cpuctl.answers import capture as answers
    from cpuctl.answers.values import Sources
    from cpuctl.machine.sources import MachineSource


def capture_document(file: str, manifest: answers.Manifest) -> answers.Capture:
    """Describe the file that was written, with its own manifest."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Capture",
        "file": source_name(file),
        "manifest": manifest,
        "next": shlex.join(["cpuctl", "report", file]),
    }


def machine_description(source: MachineSource) -> str:
    """Return the answer of ``cpuctl topology show -m FILE -o json``."""
    import json

    from cpuctl.answering.kubelet_view import kubelet_view
    from cpuctl.answering.topology.topology_answer import topology_document

    origin: Sources = {"machine": {"value": source.origin, "from": "capture"}}
    kubelet = kubelet_view(source.machine, source.info)
    return json.dumps(topology_document(source.machine, origin, kubelet), indent=2) + "\n"
