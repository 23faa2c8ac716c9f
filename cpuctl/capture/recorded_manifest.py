"""The manifest of a capture: the node's kubelet, and what could not be read on the node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cpuctl.capture.collected import FileState, Unreadable
from cpuctl.capture.recorded_kubelet import RecordedDropIns, RecordedKubelet, relevant_flags
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.machine.recording_layout import LAYOUT_VERSION, MANIFEST
from cpuctl.machine.tree import Tree
from cpuctl.records import replace


def kubelet_of_manifest(found: RecordedKubelet, text: str, tree: Tree, origin: str) -> RecordedKubelet:
    """Add the kubelet facts in the manifest of a recording named *origin*; nothing if it is not ours.

    Raise InputError, with the place in the manifest, for an invalid manifest or one that another version of
    cpuctl wrote.
    """
    manifest = _manifest(text)
    if manifest is None:
        return found
    kubelet = manifest.required("kubelet")
    config = kubelet.required("config")
    state = config.required("state").one_of(FileState)
    return replace(
        found,
        version=kubelet.optional("version", Cursor.text, ""),
        config_refused=found.config is None and state != FileState.ABSENT,
        config_path=config.optional("path", Cursor.text, ""),
        **_flags(kubelet),
        drop_ins=_drop_ins(kubelet.required("dropIns"), tree, origin),
    )


def recorded_gaps(tree: Tree) -> Iterator[Unreadable]:
    """Yield what is missing because it could not be read on the node; nothing if this is not a capture.

    Raise InputError, with the place in the manifest, for an invalid manifest or one that another version of
    cpuctl wrote.
    """
    text = tree.read(MANIFEST)
    if text is None or (manifest := _manifest(text)) is None:
        return
    for gap in manifest.optional("unreadable", Cursor.items, ()):
        yield Unreadable(gap.required("path").text(), gap.required("reason").text())


def recorded_at(tree: Tree) -> str:
    """Return when a node was recorded, empty if its recording does not say so in a known form."""
    text = tree.read(MANIFEST)
    if text is None or not _is_ours(text):
        return ""
    value = json.loads(text).get("recordedAt")
    return value if isinstance(value, str) else ""


def _manifest(text: str) -> Cursor | None:
    if not _is_ours(text):
        return None
    document, *_ = load_documents(text, MANIFEST)
    root = Cursor.at_root(document)
    layout = root.required("layoutVersion")
    if layout.text() != LAYOUT_VERSION:
        raise layout.expected(LAYOUT_VERSION, hint="use the release of cpuctl that recorded it")
    return root


def _is_ours(text: str) -> bool:
    # Other programs' archives may also have a file with this name.
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "cpuctl" in value


def _flags(kubelet: Cursor) -> dict[str, Any]:
    running = kubelet.optional("flags", Cursor.texts, None)
    others = tuple(kubelet.optional("otherFlags", Cursor.texts, ()))
    if running is not None:
        return {"flags": relevant_flags(running), "runs": True, "other_flags": others}
    if (unit := kubelet.optional("unit", lambda each: each, None)) is None:
        return {"flags_gap": "no kubelet was running when the node was recorded"}
    flags = unit.optional("flags", Cursor.texts, None)
    return {
        "flags": None if flags is None else relevant_flags(flags),
        "flags_gap": unit.optional("gap", Cursor.text, ""),
        "other_flags": others,
        "flag_files": tuple(unit.optional("files", Cursor.texts, ())),
        "flag_places": unit.optional("places", _places, {}),
    }


def _places(cursor: Cursor) -> dict[str, str]:
    return {name: place.text() for name, place in cursor.members().items()}


def _drop_ins(cursor: Cursor, tree: Tree, origin: str) -> RecordedDropIns | None:
    directory = cursor.optional("directory", Cursor.text, "")
    if not directory:
        return None
    return RecordedDropIns(
        name=directory,
        origin=origin,
        tree=tree,
        used=cursor.optional("used", Cursor.boolean, default=False),
        complete=cursor.optional("complete", Cursor.boolean, default=True),
    )
