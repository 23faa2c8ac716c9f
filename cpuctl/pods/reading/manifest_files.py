"""The files that ``-f`` names: single ones, directories, and ``-`` for standard input."""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence
from pathlib import Path

from cpuctl.documents.files import STDIN, read_input, read_member, source_name
from cpuctl.errors import MISSING, InputError, unreadable
from cpuctl.pods.reading.manifests import Allowance, Manifests, decode_manifests, finished, no_pods
from cpuctl.records import Record

_POD_NAME = re.compile(r"(?:(?P<namespace>[a-z0-9][-a-z0-9]*)/)?(?P<name>[a-z0-9][-a-z0-9]*)")
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})


class ManifestFile(Record):
    """A file to read, ``-`` for standard input. ``listed``: it was found in a directory."""

    name: str
    listed: bool = False

    @property
    def source(self) -> str:
        """The file's name for messages."""
        return source_name(self.name)

    def read(self, *, of_pods: bool = True) -> bytes:
        """Return the whole content; raise InputError or NodeAccessError if that is not possible.

        *of_pods* is True if the name of a missing file may be meant as a pod's name.
        """
        if self.listed:
            return read_member(self.name)
        try:
            return read_input(self.name)
        except InputError as error:
            named = _POD_NAME.fullmatch(self.name)
            if error.message != MISSING or not named or not of_pods:
                raise
            namespace = f"-n {named['namespace']} " if named["namespace"] else ""
            command = f"kubectl get pod {namespace}{named['name']} -o yaml"
            hint = f"if this is a pod's name, specify its manifest: {command}"
            raise InputError(error.message, where=error.where, hint=hint) from None


def find_manifest_files(names: Sequence[str]) -> list[ManifestFile]:
    """Resolve names to files; ``-`` is standard input.

    A directory means its ``.yaml``, ``.yml`` and ``.json`` files, by name, without subdirectories.
    Raise InputError for a directory without such files.
    """
    files: list[ManifestFile] = []
    for name in names:
        # os.path returns False where pathlib raises, such as below a directory that may not be entered.
        if name != STDIN and os.path.isdir(name):  # noqa: PTH112
            files.extend(_files_of(Path(name)))
        else:
            files.append(ManifestFile(name))
    return files


def read_manifests(names: Sequence[str], *, empty: bool = False) -> Manifests:
    """Read the pods of all files that *names* refer to.

    A file that is named directly must contain a pod or a virtual machine, or objects that govern pods
    (``Manifests.limit_ranges``, ``quotas``, ``runtime_classes``) or virtual machines; in a directory, one
    such file is enough.
    There must be at least one pod in total, but with *empty* an empty list is accepted: kubectl prints it for
    a node without pods.
    Raise InputError otherwise, and for a file that cannot be read, with file, line and path.
    """
    parts, allowance = [], Allowance()
    for file in find_manifest_files(names):
        part = decode_manifests(file.read(of_pods=not empty), file.source, allowance)
        nothing = empty and not part.skipped
        governing = part.limit_ranges or part.quotas or part.kubevirt or part.dra or part.runtime_classes
        if not (part.pods or governing or file.listed or nothing):
            raise no_pods(part, file.source)
        parts.append(part)
    sources = ", ".join(map(source_name, names))
    found = finished(parts, sources)
    if not found.pods and not (empty and not found.skipped):
        raise no_pods(found, sources)
    return found


def _files_of(directory: Path) -> list[ManifestFile]:
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix in _SUFFIXES and path.is_file())
    except OSError as error:
        raise unreadable(error, source_name(str(directory))) from None
    if not paths:
        raise InputError("no .yaml, .yml or .json file in this directory", where=str(directory))
    return [ManifestFile(str(path), listed=True) for path in paths]
