"""In which order a kubelet tries the formats of ``cpu_manager_state``, and what it makes of what it finds.

Rule: ``restoreState`` of kubernetes ``pkg/kubelet/cm/cpumanager/state``. Up to 1.35 V1, then V2; 1.36 (V3,)
V2, then V1; from 1.37 on V4, V3, V2. The error shown is that of the last attempt.
"""

from __future__ import annotations

from cpuctl.checkpoints import cpu_formats as formats
from cpuctl.checkpoints.formats import Format, Loaded
from cpuctl.checkpoints.reader import StateReader
from cpuctl.golang.json_values import Json


def load(found: Json, reader: StateReader) -> Loaded:
    """Load a file's content as a document with the fields of V4's data, as far as they were in the file.

    ``error`` is set where no format of this kubelet takes it.
    """
    if reader.minor >= 37:
        return _load_v4(found, reader)
    if reader.minor < 36:
        return _load_before_1_36(found, reader)
    return _load_v3(found, reader) if reader.keeps_pods else _load_v2(found, reader)


def _load_v4(found: Json, reader: StateReader) -> Loaded:
    loaded = formats.V4.load(found, reader)
    if not loaded.error:
        return loaded
    if formats.V4.meant(loaded.document):
        return loaded._replace(error=f"could not load v4 checkpoint: {loaded.error}")
    older = formats.V3_FROM_1_37.load(found, reader)
    return older if not older.error else _v2(reader).load(found, reader)


def _load_v3(found: Json, reader: StateReader) -> Loaded:
    loaded = formats.V3.load(found, reader)
    if not loaded.error:
        return loaded
    older = _load_v2(found, reader)
    if older.error:
        return older
    # What the failed attempt left is not cleared: pods keep the CPUs of a file whose checksum was wrong.
    return Loaded(loaded.document | {name: value for name, value in older.document.items() if value})


def _load_v2(found: Json, reader: StateReader) -> Loaded:
    loaded = _v2(reader).load(found, reader)
    if not loaded.error:
        return loaded
    oldest = formats.V1.load(found, reader)
    return oldest if oldest.error else _migrated(oldest, reader, "failed to migrate checkpoint from v1 to v2")


def _load_before_1_36(found: Json, reader: StateReader) -> Loaded:
    loaded = formats.V1.load(found, reader)
    if loaded.error:
        return formats.BEFORE_1_36.load(found, reader)
    return _migrated(loaded, reader, "error migrating v1 checkpoint state to v2 checkpoint state")


def _v2(reader: StateReader) -> Format:
    return formats.V2_REPLACED if reader.pod_level_managers else formats.V2


def _migrated(oldest: Loaded, reader: StateReader, failed: str) -> Loaded:
    """Name containers by pod and name, not by their id."""
    entries: dict[str, dict[str, str]] = {}
    for container_id, cpus in (oldest.document["entries"] or {}).items():
        named = reader.initial_containers.get(container_id)
        if named is None:
            missing = f"containerID '{container_id}' not found in initial containers list"
            return oldest._replace(error=f"{failed}: {missing}")
        entries.setdefault(named.pod_uid, {})[named.container] = cpus
    return Loaded(oldest.document | {"entries": entries})
