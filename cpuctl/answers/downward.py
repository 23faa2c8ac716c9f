"""What containers read of their resources through the downward API."""

from __future__ import annotations

from typing import TypedDict


class Variable(TypedDict):
    container: str
    name: str


class File(TypedDict):
    volume: str
    path: str


class ResourceReference(TypedDict):
    resource: str
    container: str
    """The container whose resource is read."""
    divisor: str | None


class VariableReference(ResourceReference):
    variable: Variable
    file: None


class FileReference(ResourceReference):
    variable: None
    file: File
    """A file of a downward API volume, also of a projected one."""


class ReadValue(TypedDict):
    text: str | None
    """The text that is read; null if unknown."""
    error: str | None
    """The kubelet's error; the container (for a file: the whole pod) does not start."""
    rule: str | None


class ReadVariable(VariableReference, ReadValue):
    """What one resourceFieldRef reads of a container's resources, in a variable."""


class ReadFile(FileReference, ReadValue):
    """What one resourceFieldRef reads of a container's resources, in a file."""


DownwardItem = ReadVariable | ReadFile


class Reread(TypedDict):
    before: ReadValue
    after: ReadValue
    note: str | None
    """Why it does not change, or changes anyway."""


class RereadVariable(VariableReference, Reread):
    """What one resourceFieldRef reads of a container's resources, before and after, in a variable."""


class RereadFile(FileReference, Reread):
    """What one resourceFieldRef reads of a container's resources, before and after, in a file."""


Rereading = RereadVariable | RereadFile
