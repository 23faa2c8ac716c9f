"""The answer of ``cpuctl capture`` as a plain document (schema: ``cpuctl schema capture``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cpuctl.cli.output import API_VERSION, Document
from cpuctl.documents.files import source_name


def capture_document(file: str, manifest: Mapping[str, Any]) -> Document:
    """Name the file that was written and say what it says about itself."""
    return {"apiVersion": API_VERSION, "kind": "Capture", "file": source_name(file), "manifest": manifest}
