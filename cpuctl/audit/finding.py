"""One thing that is not as it should be on a node, and the command that mends it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from cpuctl.cgroups.owners import Owner


class Severity(StrEnum):
    """How bad it is: the kubelet's promise is broken, something can disturb, or it is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Finding(NamedTuple):
    """A remark about a part of the node.

    ``subject`` names that part for people; ``owner`` and ``path`` are the container or pod, and the control
    group, where it is about one. ``fix`` is a shell command, or what an administrator does; it may be empty.
    """

    severity: Severity
    code: str
    subject: str
    message: str
    expected: str = ""
    detected: str = ""
    fix: str = ""
    owner: Owner | None = None
    path: str = ""
