"""The CPUs that containers read in files of downward API volumes (``assigned.cpuset``, KEP-6122).

Nothing here tells which file is one: kept is what is a list of CPUs, or empty. Projected volumes are left
out, because they can hold secrets beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from cpuctl.capture.collected import Area
from cpuctl.capture.node.files import NodeFiles
from cpuctl.cpuset import CPUSet
from cpuctl.machine.recording_layout import DOWNWARD_API_VOLUMES, STATE_DIRECTORY

AREA: Final = "volumes"
_DEPTH = 8
_LIST = re.compile(r"[0-9,-]{0,4096}", re.ASCII)
_MOST_CPUS = 8192
"""More than any kernel can be built for."""


def record_volumes(files: NodeFiles, root: str) -> Area:
    """Record the files below the kubelet's directory *root* whose content is a list of CPUs, or empty."""
    below, kept = root.strip("/"), 0
    for uid in files.names(f"{below}/pods"):
        volumes = f"pods/{uid}/volumes/{DOWNWARD_API_VOLUMES}"
        for name in files.names(f"{below}/{volumes}"):
            for path in _paths(files, f"{below}/{volumes}/{name}", 0):
                text = files.read_followed(path)
                if text is not None and _is_cpu_list(text):
                    kept += files.keep(f"{STATE_DIRECTORY}/{path.removeprefix(below).lstrip('/')}", text)
    return Area(name=AREA, entries=kept)


def _paths(files: NodeFiles, directory: str, depth: int) -> Iterator[str]:
    """Yield the files of a volume; what begins with two dots is the kubelet's way to replace all at once."""
    for name in files.names(directory):
        path = f"{directory}/{name}"
        if name.startswith(".."):
            continue
        if files.names(path):
            if depth < _DEPTH:
                yield from _paths(files, path, depth + 1)
        else:
            yield path


def _is_cpu_list(text: str) -> bool:
    if not _LIST.fullmatch(text):
        return False
    try:
        cpus = CPUSet.parse(text)
    except ValueError:
        return False
    return str(cpus) == text and cpus.mask.bit_length() <= _MOST_CPUS
