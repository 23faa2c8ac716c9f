"""The messages of ttRPC and of NRI that a plug-in for CPUs needs, as descriptors for protobuf.

Rule: ``pkg/api/api.proto`` of containerd/nri 8ec8b28, ``request.proto`` of containerd/ttrpc 4b166fb: names,
numbers and types of fields. What is left out here is skipped when it comes, and never sent.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from cpuctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMMAND = "cpuctl nri run"
INSTALL = "pip install 'cpuctl[nri]'"

_TABLE = """
Request: service 1 string, method 2 string, payload 3 bytes, timeout_nano 4 int64
Status: code 1 int32, message 2 string
Response: status 1 Status, payload 2 bytes
Empty:
RegisterPluginRequest: plugin_name 1 string, plugin_idx 2 string, NRI_version 3 string
UpdateContainersRequest: update 1 *ContainerUpdate
UpdateContainersResponse: failed 1 *ContainerUpdate
ConfigureRequest: config 1 string, runtime_name 2 string, runtime_version 3 string, \
registration_timeout 4 int64, request_timeout 5 int64, NRI_version 6 string
ConfigureResponse: events 2 int32
SynchronizeRequest: pods 1 *PodSandbox, containers 2 *Container, more 3 bool
SynchronizeResponse: update 1 *ContainerUpdate, more 2 bool
ContainerEvent: pod 1 PodSandbox, container 2 Container
CreateContainerResponse: adjust 1 ContainerAdjustment, update 2 *ContainerUpdate
UpdateContainerRequest: pod 1 PodSandbox, container 2 Container, linux_resources 3 LinuxResources
UpdatesResponse: update 1 *ContainerUpdate
StateChangeEvent: event 1 int32, pod 2 PodSandbox, container 3 Container
PodSandbox: id 1 string, name 2 string, uid 3 string, namespace 4 string, linux 8 LinuxPodSandbox
LinuxPodSandbox: cgroup_parent 3 string
Container: id 1 string, pod_sandbox_id 2 string, name 3 string, state 4 int32, linux 11 LinuxContainer
LinuxContainer: resources 3 LinuxResources
LinuxResources: memory 1 LinuxMemory, cpu 2 LinuxCPU
LinuxMemory: limit 1 Number
LinuxCPU: shares 1 Number, quota 2 Number, period 3 Number, cpus 6 string, mems 7 string
Number: value 1 int64
ContainerAdjustment: linux 6 LinuxContainerAdjustment
LinuxContainerAdjustment: resources 2 LinuxResources
ContainerUpdate: container_id 1 string, linux 2 LinuxContainerUpdate, ignore_failure 3 bool
LinuxContainerUpdate: resources 1 LinuxResources
"""
"""A message a line: its fields with number and type, ``*`` before what may be there more than once.

Messages that differ by name alone stand here once. Signed and unsigned numbers are the same on the wire, and
so are numbers and enumerations.
"""


@cache
def messages() -> Mapping[str, Any]:
    """Return the classes of the messages by name; raise UsageError where protobuf is not installed."""
    try:
        return described(_TABLE, "cpuctl.nri")
    except ImportError:
        raise UsageError("protobuf is needed, and not installed", where=_COMMAND, hint=INSTALL) from None


def described(table: str, package: str) -> Mapping[str, Any]:
    """Make the classes of a table's messages; raise ImportError where protobuf is not installed."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name=package, package=package, syntax="proto3")
    for line in table.strip().splitlines():
        name, _, fields = line.partition(":")
        message = file.message_type.add(name=name)
        for field in filter(None, map(str.strip, fields.split(","))):
            _add_field(message.field, package, *field.split())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    classes = message_factory.GetMessageClassesForFiles([file.name], pool)
    return {name.removeprefix(f"{package}."): found for name, found in classes.items()}


def _add_field(fields: Any, package: str, name: str, number: str, kind: str) -> None:  # noqa: ANN401  # has no types
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto

    repeated, kind = kind.startswith("*"), kind.removeprefix("*")
    field = fields.add(name=name, number=int(number))
    field.label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
    if kind[0].isupper():
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{package}.{kind}"
    else:
        field.type = getattr(FieldDescriptorProto, f"TYPE_{kind.upper()}")
