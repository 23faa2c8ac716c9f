"""``allocated_pods_state`` and ``actuated_pods_state``: what a kubelet reads from them and writes to them.

Kubelets from 1.33 on keep them, for in-place resize (KEP-1287): what pods were promised, and what the
runtime has accepted.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.checkpoints.formats import CORRUPTED, data_checksum, decoded_text
from cpuctl.checkpoints.model import PodsStateFile, RecordedPod, RecordedResources, UnreadableState
from cpuctl.checkpoints.pods_formats import OUTER, data_struct
from cpuctl.checkpoints.reader import DEFAULT_READER, StateReader
from cpuctl.errors import InputError
from cpuctl.golang.scalars import Value
from cpuctl.golang.text import GoError
from cpuctl.state_names import ALLOCATED_FILE


def read_pods_state(text: str, reader: StateReader = DEFAULT_READER) -> PodsStateFile | UnreadableState:
    """Read a file as this kubelet does, or give the text of its error.

    Raise InputError for one so large that it can only be meant to fill the memory.
    """
    try:
        return _read(text, reader)
    except InputError as error:
        raise error.within(ALLOCATED_FILE) from None


def write_pods_state(state: PodsStateFile, writer: StateReader = DEFAULT_READER) -> str:
    """Write the file's text, byte for byte as this kubelet does; what it does not know is lost."""
    document = {"entries": {uid: _pod_document(pod) for uid, pod in state.pods.items()}}
    data = data_struct(writer.minor).written(document)
    return OUTER.written({"data": data, "checksum": data_checksum(data)})


def pods_state_of(data: str, reader: StateReader) -> PodsStateFile:
    """Turn a file's ``data`` into a state; raise GoError with Go's complaint about it."""
    loaded = decoded_text(data_struct(reader.minor), data, names_keys=reader.names_keys)
    if loaded.error:
        raise GoError(loaded.error)
    return PodsStateFile(pods={uid: _pod(pod) for uid, pod in (loaded.document["entries"] or {}).items()})


def _read(text: str, reader: StateReader) -> PodsStateFile | UnreadableState:
    outer = decoded_text(OUTER, text, names_keys=reader.names_keys)
    if outer.error:
        return UnreadableState(outer.error)
    data = outer.document["data"]
    if outer.document["checksum"] != data_checksum(data):
        return UnreadableState(CORRUPTED)
    try:
        return pods_state_of(data, reader)
    except GoError as error:
        return UnreadableState(f"failed to get pod resource information: {error}")


def _pod(document: Value) -> RecordedPod:
    level = document.get("PodLevelResources")
    return RecordedPod(
        containers={
            name: recorded_resources(each) for name, each in (document["ContainerResources"] or {}).items()
        },
        pod_level=None if level is None else recorded_resources(level),
        volume_limits=document.get("EmptyDirVolumeLimits") or {},
    )


def recorded_resources(document: Value) -> RecordedResources:
    """Turn decoded resource requirements into values."""
    return RecordedResources(
        limits=document["limits"] or {},
        requests=document["requests"] or {},
        claims=tuple((claim["name"], claim["request"]) for claim in document["claims"] or ()),
    )


def _pod_document(pod: RecordedPod) -> Value:
    return {
        "ContainerResources": {name: _resources_document(each) for name, each in pod.containers.items()},
        "PodLevelResources": None if pod.pod_level is None else _resources_document(pod.pod_level),
        "EmptyDirVolumeLimits": pod.volume_limits or None,
    }


def _resources_document(resources: RecordedResources) -> Value:
    amounts: Mapping[str, Value] = {"limits": dict(resources.limits), "requests": dict(resources.requests)}
    return {**amounts, "claims": [{"name": name, "request": request} for name, request in resources.claims]}
