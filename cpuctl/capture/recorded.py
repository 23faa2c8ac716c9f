"""What a recording contains about its kubelet: a capture's manifest, and its other files."""

from __future__ import annotations

from cpuctl.capture.recorded_kubelet import RecordedDropIns, RecordedKubelet
from cpuctl.errors import CpuctlError, InputError
from cpuctl.machine.recording_layout import CONFIG, MANIFEST
from cpuctl.machine.tree import Tree
from cpuctl.records import replace

_KUBELET_DIRECTORIES = (
    "etc/systemd",
    "usr/lib/systemd",
    "usr/local/lib/systemd",
    "etc/default",
    "etc/sysconfig",
    "var/lib/kubelet",
    "var/snap/microk8s",
)
"""Without any of these, there is no trace of a kubelet."""


def recorded_kubelet(tree: Tree, origin: str = "", config_at: str = CONFIG) -> RecordedKubelet:
    """Read what a recording named *origin* contains about its kubelet.

    Its configuration is at *config_at* unless a flag says otherwise. Raise InputError, with the place in the
    manifest, for an invalid manifest or one that another version of cpuctl wrote.
    """
    found = read_configuration(tree, config_at)
    text = tree.read(MANIFEST)
    if text is None:
        return _of_files(found, tree, origin)

    from cpuctl.capture.recorded_manifest import kubelet_of_manifest

    recorded = kubelet_of_manifest(found, text, tree, origin)
    # Other programs' archives may also have a file with this name.
    return _of_files(found, tree, origin) if recorded is found else recorded


def _of_files(found: RecordedKubelet, tree: Tree, origin: str) -> RecordedKubelet:
    """Add what the node's own files contain, as under a mounted root: how its kubelet runs, or would run."""
    if found.config is None and not any(map(tree.names, _KUBELET_DIRECTORIES)):
        return found

    from cpuctl.capture.kubelet.live import live_kubelet

    live = live_kubelet(tree)
    if live.config_path:
        named = read_configuration(tree, live.config_path.lstrip("/"))
        found = replace(
            found,
            config=named.config,
            config_problem=named.config_problem
            or (_absent(live.config_path) if named.config is None else None),
            config_at=named.config_at,
        )
    elif live.flags is not None and not live.flags_gap:
        found = replace(found, config=None, config_problem=None)
    if live.config_directory:
        at = live.config_directory.lstrip("/")
        found = replace(
            found,
            drop_ins=RecordedDropIns(
                name=live.config_directory, origin=origin, tree=tree, used=True, complete=True, at=at
            ),
        )
    if live.flags is None and found.config is None:
        return found
    return replace(
        found,
        config_path=live.config_path,
        flags=live.flags,
        runs=live.runs,
        flags_gap=live.flags_gap,
        other_flags=live.other_flags,
        flag_files=live.flag_files,
        flag_places=live.flag_places,
    )


def _absent(path: str) -> InputError:
    """Report that a file does not exist; a plain tree does not show whether the node also lacks it."""
    return InputError("no such file: the node does not have it, or it was not recorded", where=path)


def read_configuration(tree: Tree, path: str) -> RecordedKubelet:
    """Read the configuration at a path; a failure to read it matters only if no other one is specified."""
    try:
        config = tree.read(path)
    except CpuctlError as error:
        return RecordedKubelet(config_at=path, config_problem=error)
    problem = tree.in_the_way(path) if config is None else ""
    unusable = InputError(problem, where=f"/{path}") if problem else None
    return RecordedKubelet(config=config, config_at=path, config_problem=unusable)
