"""What a recording tells about its kubelet: a capture's manifest, and the files beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from cpuctl.capture.collected import FileState
from cpuctl.capture.kubelet_command import PLACES
from cpuctl.capture.manifest import LAYOUT_VERSION
from cpuctl.documents import Cursor, load_documents
from cpuctl.machine.recording_layout import CONFIG, MANIFEST
from cpuctl.machine.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedKubelet:
    """Texts are empty where nothing is recorded; ``config`` is None then.

    ``config_refused`` says that the kubelet has a configuration which could not be recorded.
    ``overrides`` are what goes over the configuration file: flags, and the directory of drop-in files.
    """

    version: str = ""
    config: str | None = None
    config_refused: bool = False
    overrides: tuple[str, ...] = ()


def recorded_kubelet(tree: Tree) -> RecordedKubelet:
    """Read what a recording holds of its kubelet.

    Raise InputError, with the place in the manifest, for one that another cpuctl wrote or nobody could have.
    """
    config = tree.read(CONFIG)
    manifest = _manifest(tree)
    if manifest is None:
        return RecordedKubelet(config=config)
    kubelet = manifest.required("kubelet")
    state = kubelet.required("config").required("state").one_of(FileState)
    return RecordedKubelet(
        version=kubelet.optional("version", Cursor.text, ""),
        config=config,
        config_refused=config is None and state != FileState.ABSENT,
        overrides=_overrides(kubelet),
    )


def _manifest(tree: Tree) -> Cursor | None:
    text = tree.read(MANIFEST)
    if text is None or not _is_ours(text):
        return None
    document, *_ = load_documents(text, MANIFEST)
    root = Cursor.at_root(document)
    layout = root.required("layoutVersion")
    if layout.text() != LAYOUT_VERSION:
        raise layout.expected(LAYOUT_VERSION, hint="read it with the cpuctl that recorded it")
    return root


def _is_ours(text: str) -> bool:
    # Other programs' archives may well have a file of this name.
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "cpuctl" in value


def _overrides(kubelet: Cursor) -> tuple[str, ...]:
    flags = kubelet.optional("flags", Cursor.texts, ())
    names = dict.fromkeys(flag.partition("=")[0] for flag in flags)
    drop_ins = kubelet.required("dropIns")
    directory = drop_ins.optional("directory", Cursor.text, "")
    used = drop_ins.optional("used", Cursor.boolean, default=False)
    return (
        *(name for name in names if name.removeprefix("--") not in PLACES),
        *((f"{'' if used else 'perhaps '}the drop-in files in {directory}",) if directory else ()),
    )
