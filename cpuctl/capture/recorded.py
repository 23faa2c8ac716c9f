"""What a recording tells about its kubelet: a capture's manifest, and the files beside it."""

from __future__ import annotations

from cpuctl.capture.recorded_kubelet import RecordedDropIns, RecordedKubelet
from cpuctl.machine.recording_layout import CONFIG, MANIFEST
from cpuctl.machine.tree import Tree

_KUBELET_DIRECTORIES = ("etc/systemd", "usr/lib/systemd", "etc/default", "etc/sysconfig", "var/lib/kubelet")
"""Without any of these, nothing tells of a kubelet."""


def recorded_kubelet(tree: Tree, origin: str = "") -> RecordedKubelet:
    """Read what a recording, called *origin*, holds of its kubelet.

    Raise InputError, with the place in the manifest, for one that another cpuctl wrote or nobody could have.
    """
    found = RecordedKubelet(config=tree.read(CONFIG))
    text = tree.read(MANIFEST)
    if text is None:
        return _of_files(found, tree, origin)

    from cpuctl.capture.recorded_manifest import told_by_manifest

    told = told_by_manifest(found, text, tree, origin)
    # Other programs' archives may well have a file of this name.
    return _of_files(found, tree, origin) if told is found else told


def _of_files(found: RecordedKubelet, tree: Tree, origin: str) -> RecordedKubelet:
    """Add what the node's own files tell, as of a mounted root: where its kubelet's flags stand."""
    if found.config is None and not any(map(tree.names, _KUBELET_DIRECTORIES)):
        return found

    from cpuctl.capture.kubelet.live import stopped_kubelet

    told = stopped_kubelet(tree)
    if told.config_path:
        config = tree.read(told.config_path.lstrip("/"))
        found = found._replace(config=config, config_refused=config is None)
    elif told.flags is not None and not told.flags_gap:
        found = found._replace(config=None)
    if told.config_directory:
        at = told.config_directory.lstrip("/")
        found = found._replace(
            drop_ins=RecordedDropIns(
                name=told.config_directory, origin=origin, tree=tree, used=True, complete=True, at=at
            )
        )
    if told.flags is None and found.config is None:
        return found
    return found._replace(
        config_path=told.config_path,
        flags=told.flags,
        flags_gap=told.flags_gap,
        other_flags=told.other_flags,
    )
