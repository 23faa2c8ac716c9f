"""The answer of ``cpuctl capture`` as a plain document (schema: ``cpuctl schema capture``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.documents.files import source_name

if TYPE_CHECKING:
    from cpuctl.answers import capture as answers


def capture_document(file: str, manifest: answers.Manifest) -> answers.Capture:
    """Name the file that was written and say what it says about itself."""
    return {"apiVersion": API_VERSION, "kind": "Capture", "file": source_name(file), "manifest": manifest}
