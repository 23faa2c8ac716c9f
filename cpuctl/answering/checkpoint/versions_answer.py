"""The answer of ``cpuctl checkpoint versions`` as a plain document (schema: ``checkpointversions``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.checkpoints.versions import OTHER_FORMATS, Compatibility, reader_name, version_table

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers


def versions_document() -> answers.CheckpointVersions:
    """List every format with the result of reading it by every kind of kubelet."""
    return {
        "apiVersion": API_VERSION,
        "kind": "CheckpointVersions",
        "formats": list(_formats()),
        "unconverted": [
            {
                "file": file,
                "format": format_,
                "writtenBy": written_by,
                "readBy": read_by,
                "onLoadError": when_broken,
            }
            for file, format_, written_by, read_by, when_broken in OTHER_FORMATS
        ],
    }


def _formats() -> Iterator[answers.Format]:
    for format_, group in groupby(version_table(), key=lambda each: each.format):
        yield {
            "file": format_.file_name,
            "format": format_.name,
            "writtenBy": format_.written_by,
            "readers": [_reader(each) for each in group],
        }


def _reader(compatibility: Compatibility) -> answers.FormatReader:
    return {
        "kubelet": reader_name(compatibility.reader),
        "outcome": "rejects" if compatibility.error else "readsPartly" if compatibility.lost else "reads",
        "error": compatibility.error,
        "lost": list(compatibility.lost),
    }
