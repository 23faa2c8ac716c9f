"""What a recording tells about its kubelet: a capture's manifest, and the files beside it."""

from __future__ import annotations

from cpuctl.capture.recorded_kubelet import RecordedKubelet
from cpuctl.machine.recording_layout import CONFIG, MANIFEST
from cpuctl.machine.tree import Tree


def recorded_kubelet(tree: Tree, origin: str = "") -> RecordedKubelet:
    """Read what a recording, called *origin*, holds of its kubelet.

    Raise InputError, with the place in the manifest, for one that another cpuctl wrote or nobody could have.
    """
    found = RecordedKubelet(config=tree.read(CONFIG))
    text = tree.read(MANIFEST)
    if text is None:
        return found

    from cpuctl.capture.recorded_manifest import told_by_manifest

    return told_by_manifest(found, text, tree, origin)
