"""In which order a kubelet tries the formats of ``memory_manager_state``.

Rule: ``restoreState`` of kubernetes ``pkg/kubelet/cm/memorymanager/state``. Up to 1.35 V1; in 1.36 (V2,) then
V1; from 1.37 on V3, V2, V1. The error shown is that of the last attempt.
"""

from __future__ import annotations

from cpuctl.checkpoints import memory_formats as formats
from cpuctl.checkpoints.formats import Loaded
from cpuctl.checkpoints.reader import StateReader
from cpuctl.golang.json_values import Json


def load(found: Json, reader: StateReader) -> Loaded:
    """Load a file's content as a document with the fields of V3's data, as far as they were in the file.

    ``error`` is set where no format of this kubelet takes it.
    """
    if reader.minor >= 37:
        return _load_v3(found, reader)
    if reader.minor < 36:
        return formats.BEFORE_1_36.load(found, reader)
    return _load_v2(found, reader) if reader.keeps_pods else formats.V1.load(found, reader)


def _load_v3(found: Json, reader: StateReader) -> Loaded:
    loaded = formats.V3.load(found, reader)
    if not loaded.error:
        return loaded
    if formats.V3.meant(loaded.document):
        return loaded._replace(error=f"could not load v3 checkpoint: {loaded.error}")
    older = formats.V2_FROM_1_37.load(found, reader)
    return older if not older.error else formats.V1_REPLACED.load(found, reader)


def _load_v2(found: Json, reader: StateReader) -> Loaded:
    loaded = formats.V2.load(found, reader)
    if not loaded.error:
        return loaded
    older = formats.V1_REPLACED.load(found, reader)
    # What the failed attempt left is not cleared: pods keep the memory of a file whose checksum was wrong.
    return older if older.error else Loaded(loaded.document | older.document)
