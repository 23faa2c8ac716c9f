"""User defaults: the machine used instead of this host, and the release of kubelets.

``CPUCTL_MACHINE`` and ``CPUCTL_KUBELET_VERSION`` override ``machine`` and ``kubeletVersion`` of a file,
``$XDG_CONFIG_HOME/cpuctl/config.yaml`` (``~/.config`` if that is not set). Both are used if nothing
else is specified: never instead of an option, a node's own release, or the subject of a command.
"""

from __future__ import annotations

import os
import re
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl.errors import InputError, UsageError
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.answers.values import Origin
    from cpuctl.documents.cursor import Cursor

_VARIABLES = {"machine": "CPUCTL_MACHINE", "kubeletVersion": "CPUCTL_KUBELET_VERSION"}


class UserDefault(Record):
    """A value that no option specified; ``where`` names the variable, or the file with its line."""

    value: str
    origin: Origin
    where: str


_MACHINE: ContextVar[UserDefault | None] = ContextVar("machine", default=None)


def user_default(name: str) -> UserDefault | None:
    """Return the default of an option, by its key in the file; None if it has no default.

    Raise InputError for a file that contains anything else, with its line.
    """
    from_environment = {
        "machine": os.environ.get("CPUCTL_MACHINE", ""),
        "kubeletVersion": os.environ.get("CPUCTL_KUBELET_VERSION", ""),
    }
    if from_environment[name]:
        return UserDefault(from_environment[name], "environment", _VARIABLES[name])
    found = _configured().get(name)
    return None if found is None else UserDefault(found.text(), "configFile", found.where)


def stand_in(default: UserDefault | None) -> None:
    """Record the origin of this command line's machine: None for an option or no default."""
    _MACHINE.set(default)


def machine_default(spec: str) -> UserDefault | None:
    """Return the origin of the command line's machine, unless it is an option."""
    default = _MACHINE.get()
    return default if default is not None and default.value == spec else None


def version_default() -> UserDefault | None:
    """Return the default of ``--kubelet-version``; raise InputError if it is not a release."""
    from cpuctl.kubelet.version import KubeletVersion

    default = user_default("kubeletVersion")
    if default is not None:
        try:
            KubeletVersion.parse(default.value)
        except ValueError as error:
            kind = UsageError if default.origin == "environment" else InputError
            raise kind(str(error), where=default.where) from None
    return default


def origin_text(name: str, origin: Origin) -> str:
    """Return the origin of an input for people: the variable or the file, else the origin's own name."""
    return _VARIABLES[name] if origin == "environment" else _file() if origin == "configFile" else origin


def _file() -> str:
    home = os.environ.get("XDG_CONFIG_HOME", "")
    # The standard requires that relative paths are ignored.
    # If neither HOME nor the user database has a home, as in a bare container, ~ stays unchanged.
    directory = home if home.startswith("/") else os.path.expanduser("~/.config")  # noqa: PTH111
    return str(Path(directory) / "cpuctl" / "config.yaml")


def _configured() -> dict[str, Cursor]:
    """Read the file, if there is one."""
    name = _file()
    if not name.startswith("/"):
        return {}
    try:
        found = os.stat(name)  # noqa: PTH116  # Path takes longer, and nothing more is needed
    except OSError:
        # A home that is not accessible, such as root's after su, counts as having no file.
        return {}
    return _members(name, (found.st_ino, found.st_mtime_ns, found.st_size))


@lru_cache(maxsize=1)
def _members(name: str, _as_it_is: tuple[int, ...]) -> dict[str, Cursor]:
    """Parse the file once: a fleet needs it for each of its nodes."""
    from cpuctl.documents.cursor import Cursor
    from cpuctl.documents.files import read_input
    from cpuctl.documents.loading import load_documents

    data = read_input(name)
    if not re.search(rb"^\s*[^#\s]", data, re.MULTILINE):
        return {}
    first, *others = load_documents(data, name)
    if others:
        raise InputError("expected one document, found several", where=others[0].where(()))
    members = Cursor.at_root(first).members()
    for key, member in members.items():
        if key not in _VARIABLES:
            hint = f"known settings: {', '.join(_VARIABLES)}"
            raise InputError("unknown setting", where=member.where, hint=hint)
        if not member.text():
            raise member.expected("a non-empty string")
    return members
