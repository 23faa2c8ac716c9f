"""The live kubelet, asked over its socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cpuctl.errors import CpuctlError
from cpuctl.machine.pod_resources.grpc_call import call
from cpuctl.machine.pod_resources.model import PodResources
from cpuctl.machine.pod_resources.protobuf import decode_allocatable_cpus, decode_list

T = TypeVar("T")

_SERVICE = "/v1.PodResourcesLister"


def ask_kubelet(path: str) -> PodResources:
    """Ask for what pods hold, and what they could; an answer that does not come leaves its problem."""
    problems: list[str] = []
    return PodResources(
        pods=_asked(path, "List", decode_list, problems),
        allocatable=_asked(path, "GetAllocatableResources", decode_allocatable_cpus, problems),
        problems=tuple(dict.fromkeys(problems)),
    )


def _asked(path: str, method: str, decode: Callable[[bytes], T], problems: list[str]) -> T | None:
    try:
        return decode(call(path, f"{_SERVICE}/{method}"))
    except CpuctlError as error:
        problems.append(f"{error} ({error.hint})" if error.hint else str(error))
        return None
