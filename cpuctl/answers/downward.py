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
    """A file in a downward API volume or a projected volume."""


class ReadValue(TypedDict):
    text: str | None
    """The text that is read; null if unknown."""
    error: str | None
    """The kubelet's error; the container (for a file: the whole pod) does not start."""
    rule: str | None


class ReadVariable(VariableReference, ReadValue):
    """What one resourceFieldRef in an environment variable reads of a container's resources."""


class ReadFile(FileReference, ReadValue):
    """What one resourceFieldRef in a file reads of a container's resources."""


DownwardItem = ReadVariable | ReadFile


class Reread(TypedDict):
    before: ReadValue
    after: ReadValue
    note: str | None
    """Why the value does not change, or why it changes anyway."""


class RereadVariable(VariableReference, Reread):
    """What one resourceFieldRef in an environment variable reads, before and after."""


class RereadFile(FileReference, Reread):
    """What one resourceFieldRef in a file reads, before and after."""


Rereading = RereadVariable | RereadFile
