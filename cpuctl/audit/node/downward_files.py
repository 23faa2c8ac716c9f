"""The files in which containers read their exclusive CPUs: ``assigned.cpuset`` in volumes.

Rule: KEP-6122; ``pkg/volume/downwardapi`` and ``pkg/volume/projected`` write below a pod's directory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cpuctl.audit.picture import DownwardFile
from cpuctl.capture.node.files import NodeFiles
from cpuctl.machine.recording_layout import DOWNWARD_API_VOLUMES, PROJECTED_VOLUMES
from cpuctl.pods.model import ResourceFieldRef, StoredPod
from cpuctl.pods.rules import ASSIGNED_CPUSET

_NOWHERE = frozenset({"", ".", ".."})


def read_downward_files(
    files: NodeFiles, pods: Mapping[str, StoredPod], roots: Iterable[str], *, live: bool
) -> Iterator[DownwardFile]:
    """Read the files of all *pods* by UID that have not ended; the kubelet's directory is one of *roots*.

    What a manifest names beyond its volume is passed over: no API server takes such a path.
    """
    for pod in pods.values():
        for ref in pod.field_refs if not pod.terminal else ():
            if ref.in_file and ref.resource == ASSIGNED_CPUSET and (below := _place(pod.uid, ref)):
                yield _read(files, pod.uid, ref, [f"{root}/{below}" for root in roots], live=live)


def _place(uid: str, ref: ResourceFieldRef) -> str:
    """Name a file below the kubelet's directory, nothing where that would be somewhere else."""
    if "/" in uid or "/" in ref.volume or not _NOWHERE.isdisjoint((uid, ref.volume, *ref.name.split("/"))):
        return ""
    kind = PROJECTED_VOLUMES if ref.projected else DOWNWARD_API_VOLUMES
    return f"pods/{uid}/volumes/{kind}/{ref.volume}/{ref.name}"


def _read(files: NodeFiles, uid: str, ref: ResourceFieldRef, paths: list[str], *, live: bool) -> DownwardFile:
    told = DownwardFile(uid=uid, container=ref.container, path=paths[0])
    for path in paths:
        text = files.read(path)
        if text is not None or path in files.refused:
            return told._replace(path=path, text=text, looked_at=text is not None)
    # A recording need not have volumes at all: where it has this one, it has its files.
    volumes = (path.removesuffix(f"/{ref.name}") for path in paths)
    return told._replace(looked_at=live or any(files.names(volume) for volume in volumes))
