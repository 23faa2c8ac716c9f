"""The files that ``-f`` names: single ones, directories, and ``-`` for standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cpuctl.errors import InputError
from cpuctl.pods.manifests import Manifests, decode_manifests, finished, no_pods

STDIN = "-"
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A file to read; ``path`` is None for standard input. ``listed``: it was found in a directory."""

    path: Path | None
    listed: bool = False

    @property
    def source(self) -> str:
        """The file's name for messages."""
        return "<stdin>" if self.path is None else str(self.path)

    def read(self) -> bytes:
        """Return the whole content; raise InputError where that is not possible."""
        try:
            return sys.stdin.buffer.read() if self.path is None else self.path.read_bytes()
        except OSError as error:
            raise InputError(_reason(error), where=self.source) from error


def find_manifest_files(names: Sequence[str]) -> list[ManifestFile]:
    """Resolve names to files; ``-`` is standard input.

    A directory stands for its ``.yaml``, ``.yml`` and ``.json`` files, by name, without sub-directories.
    Raise InputError for a directory without such files.
    """
    files: list[ManifestFile] = []
    for name in names:
        if name == STDIN:
            files.append(ManifestFile(None))
        elif Path(name).is_dir():
            files.extend(_files_of(Path(name)))
        else:
            files.append(ManifestFile(Path(name)))
    return files


def read_manifests(names: Sequence[str]) -> Manifests:
    """Read the pods of all files that *names* stand for.

    A file named on its own must hold a pod; of a directory it is enough that one file does.
    """
    parts = []
    for file in find_manifest_files(names):
        part = decode_manifests(file.read(), file.source)
        if not part.pods and not file.listed:
            raise no_pods(part, file.source)
        parts.append(part)
    found = finished(parts, ", ".join(names))
    if not found.pods:
        raise no_pods(found, ", ".join(names))
    return found


def _files_of(directory: Path) -> list[ManifestFile]:
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix in _SUFFIXES and path.is_file())
    except OSError as error:
        raise InputError(_reason(error), where=str(directory)) from error
    if not paths:
        raise InputError("no .yaml, .yml or .json file in this directory", where=str(directory))
    return [ManifestFile(path, listed=True) for path in paths]


def _reason(error: OSError) -> str:
    return f"cannot be read: {error.strerror or error}"
