"""The answer of ``cpuctl checkpoint versions`` as a plain document (schema: ``checkpointversions``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from cpuctl.checkpoints.versions import OTHER_FORMATS, Compatibility, reader_name, version_table
from cpuctl.cli.output import API_VERSION


def versions_document() -> dict[str, Any]:
    """List every format with what every kind of kubelet makes of it."""
    return {
        "apiVersion": API_VERSION,
        "kind": "CheckpointVersions",
        "formats": list(_formats()),
        "unconverted": [
            dict(zip(("file", "format", "writtenBy", "readBy", "whenBroken"), each, strict=True))
            for each in OTHER_FORMATS
        ],
    }


def _formats() -> Iterator[dict[str, Any]]:
    for format_, group in groupby(version_table(), key=lambda each: each.format):
        yield {
            "file": format_.file_name,
            "format": format_.name,
            "writtenBy": format_.written_by,
            "readers": [_reader(each) for each in group],
        }


def _reader(compatibility: Compatibility) -> dict[str, Any]:
    outcome = "refuses" if compatibility.error else "readsPartly" if compatibility.lost else "reads"
    return {
        "kubelet": reader_name(compatibility.reader),
        "outcome": outcome,
        "error": compatibility.error,
        "lost": list(compatibility.lost),
    }
