"""What a pod reads of a container's resources by the downward API: in variables, and in files of volumes."""

from __future__ import annotations

from typing import NamedTuple

from cpuctl.quantity import Quantity


class ResourceFieldRef(NamedTuple):
    """One ``resourceFieldRef``: a ``resource`` of a ``container``, in units of ``divisor`` (0 stands for 1).

    A variable is called ``name`` and is its ``reader``'s, which is also meant where ``container`` is empty. A
    file has no reader: ``name`` is its path in ``volume``, which may be a ``projected`` one.
    """

    resource: str
    container: str
    divisor: Quantity
    name: str
    reader: str = ""
    volume: str = ""
    projected: bool = False

    @property
    def whose(self) -> str:
        """The container whose resources are told."""
        return self.container or self.reader

    @property
    def in_file(self) -> bool:
        """Whether it is a file of a volume."""
        return not self.reader
