"""What a capture says about itself, and the archive's members in their order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from cpuctl.capture.collected import Area, Collected, Content, KubeletFacts
from cpuctl.capture.node.processes import process_lines
from cpuctl.machine.recording_layout import LAYOUT_VERSION, MANIFEST, PROCESSES

if TYPE_CHECKING:
    from cpuctl.answers import capture as answers

CHECKSUMS: Final = "SHA256SUMS"
"""Checksums of all files, for ``sha256sum -c``; thousands of them, so they stay out of the manifest."""


class Capture(NamedTuple):
    """A capture ready to be written: its manifest, and every member's path and content in order."""

    manifest: answers.Manifest
    members: tuple[tuple[str, Content], ...]


def make_capture(collected: Collected, *, cpuctl: str, recorded_at: str = "") -> Capture:
    """Describe what was collected; the same input gives the same capture.

    *cpuctl* is the version that records, *recorded_at* the time where it is wanted.
    """
    files = {**collected.members, PROCESSES: process_lines(collected.processes)}
    members = sorted(files.items())
    checksums = "".join(_checksum_lines(members))
    timestamp: answers.Timestamp = {"recordedAt": recorded_at} if recorded_at else {}
    manifest: answers.Manifest = {
        "layoutVersion": LAYOUT_VERSION,
        "cpuctl": cpuctl,
        **timestamp,
        "source": "live" if collected.live else "directory",
        "anonymized": collected.anonymized,
        "stateChecksumsValid": not collected.anonymized,
        "kubelet": _kubelet(collected.kubelet),
        "areas": [_area(area) for area in collected.areas],
        "unreadable": [{"path": each.path, "reason": each.reason} for each in collected.unreadable],
        "members": len(members),
        "checksums": {"file": CHECKSUMS, "sha256": _sha256(checksums)},
    }
    text = json.dumps(manifest, indent=2) + "\n"
    return Capture(manifest, ((MANIFEST, text), (CHECKSUMS, checksums), *members))


def _kubelet(facts: KubeletFacts) -> answers.Kubelet:
    return {
        "version": facts.version or None,
        "versionSource": facts.version_source or None,
        "flags": None if facts.flags is None else list(facts.flags),
        "otherFlags": list(facts.other_flags),
        "unit": {
            "flags": None if facts.unit_flags is None else list(facts.unit_flags),
            "files": [f"/{path}" for path in facts.unit_files],
            "gap": facts.flags_gap or None,
        },
        "rootDirectory": facts.root_directory,
        "config": {"path": facts.config_path or None, "state": facts.config_state.value},
        "dropIns": {
            "directory": facts.drop_in_directory or None,
            "used": facts.drop_ins_used,
            "complete": facts.drop_ins_complete,
        },
    }


def _area(area: Area) -> answers.Area:
    return {
        "name": area.name,
        "entries": area.entries,
        "counts": dict(area.counts),
        "notes": list(area.notes),
    }


def _checksum_lines(members: list[tuple[str, Content]]) -> Iterator[str]:
    for path, content in members:
        if isinstance(content, str):
            # A leading backslash tells sha256sum that the name is escaped; systemd's names hold some.
            escaped = path.replace("\\", "\\\\").replace("\n", "\\n")
            yield f"{'' if escaped == path else chr(92)}{_sha256(content)}  {escaped}\n"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
