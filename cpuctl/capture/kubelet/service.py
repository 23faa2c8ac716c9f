"""What systemd would start a service with, according to its unit, drop-ins and environment files."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from cpuctl.capture.kubelet.systemd import (
    UnknownError,
    environment_file,
    environment_words,
    settings,
    split_words,
    with_specifiers,
    with_variables,
)
from cpuctl.machine.recording_layout import UNIT_DIRECTORIES

_MOST_FILES = 200
_LONGEST_HOST_NAME = 64  # HOST_NAME_MAX of Linux
_PREFIXES = "@-:+!|"
_DIRECTORIES = {"t": "/run", "S": "/var/lib", "C": "/var/cache", "L": "/var/log", "E": "/etc"}
_USER = {"u": "root", "U": "0", "g": "root", "G": "0", "h": "/root"}


class ServiceFiles(Protocol):
    """Access to a node's files: links are followed, and None means there is nothing to read."""

    @property
    def refused(self) -> Container[str]:
        """Paths that exist but could not be read."""

    def read_followed(self, path: str) -> str | None:
        """Return the text of a file."""

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory."""


class TrackedFiles:
    """Files of a node, and which of them have been read."""

    def __init__(self, files: ServiceFiles) -> None:
        self._files = files
        self._listed: dict[str, Sequence[str]] = {}
        self.used: list[str] = []

    def text(self, path: str) -> str | None:
        """Return the text of a file; None if it does not exist or cannot be read."""
        # A path that does not exist need not be followed, and is not a link that leads elsewhere.
        text = self._files.read_followed(path) if self.lists(path) else None
        if text is not None and path not in self.used:
            self.used.append(path)
        return text

    def required_text(self, path: str) -> str | None:
        """Return the text of a file, None if it does not exist; raise UnknownError if access is denied."""
        text = self.text(path)
        if text is None and posixpath.basename(path) in self.required_names(posixpath.dirname(path)):
            raise UnknownError(f"/{path} cannot be read")
        return text

    def lists(self, path: str) -> bool:
        """Return whether a path exists."""
        return posixpath.basename(path) in self.names(posixpath.dirname(path))

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory, none if it cannot be read."""
        if path not in self._listed:
            self._listed[path] = self._files.names(path)
        return self._listed[path]

    def required_names(self, path: str) -> Sequence[str]:
        """Return the names in a directory; raise UnknownError if access to it or one above it is denied."""
        names = self.names(path)
        closed = (each for each in _and_above(path) if each in self._files.refused)
        if not names and (at := next(closed, "")):
            raise UnknownError(f"/{at} cannot be read")
        return names


def _and_above(path: str) -> Iterator[str]:
    while path:
        yield path
        path = posixpath.dirname(path)


class Command(NamedTuple):
    """The words of a command, program first, and the variables it is started with."""

    words: Sequence[str]
    variables: Mapping[str, str]


class _Assigned:
    """The result of a unit and its drop-ins: an empty value discards earlier ones."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        self.environment_files: list[str] = []
        self.unset: list[str] = []
        self.variables: dict[str, str] = {}
        self._known = known
        self._lists = {"ExecStart": self.lines, "EnvironmentFile": self.environment_files}

    def take(self, key: str, value: str) -> None:
        """Apply one assignment."""
        if key in self._lists:
            self._lists[key].append(value)
            if not value:
                self._lists[key].clear()
        elif key == "Environment":
            self.variables |= environment_words(value, self._known)
            if not value:
                self.variables.clear()
        elif key == "UnsetEnvironment":
            self.unset += value.split()
            if not value:
                self.unset.clear()


class Service:
    """A service of a node, by the name of its unit."""

    def __init__(self, files: TrackedFiles, unit: str) -> None:
        self._files = files
        self._unit = unit

    def is_there(self) -> bool:
        """Return whether the node has the unit."""
        return any(self._files.lists(f"{directory}/{self._unit}") for directory in UNIT_DIRECTORIES)

    def is_wanted(self) -> bool:
        """Return whether systemd starts it at boot."""
        wants = (f"{at}/{name}" for at in UNIT_DIRECTORIES for name in self._files.names(at))
        return any(self._files.lists(f"{each}/{self._unit}") for each in wants if each.endswith(".wants"))

    def command(self) -> Command:
        """Return the command that starts it; raise UnknownError if the files do not determine it."""
        texts = list(self._texts())
        if not texts or not texts[0].strip():
            raise UnknownError(f"{self._unit} is masked, empty or cannot be read")
        asks = any("%" in text for text in texts)
        known = {**self._names(), **(self._node_specifiers() if asks else {})}
        service = _Assigned(known)
        for text in texts:
            for section, key, value in settings(text):
                if section == "Service":
                    service.take(key, value)
        if len(service.environment_files) > _MOST_FILES:
            raise UnknownError(f"{self._unit} has more than {_MOST_FILES} environment files")
        variables = dict(service.variables)
        for name in service.environment_files:
            variables |= self._variables(with_specifiers(name, known))
        for name in service.unset:
            variables.pop(name.partition("=")[0], None)
        if len(service.lines) != 1:
            raise UnknownError(f"{self._unit} has {len(service.lines)} ExecStart lines, expected one")
        return Command(self._arguments(service.lines[0], variables, known), variables)

    def _texts(self) -> Iterator[str]:
        """Yield the texts of the unit and its drop-ins, in the order in which they apply."""
        for directory in UNIT_DIRECTORIES:
            if self._files.lists(f"{directory}/{self._unit}"):
                # A mask is an empty file or a link to /dev/null: systemd starts nothing.
                yield self._files.text(f"{directory}/{self._unit}") or ""
                yield from self._drop_ins()
                return

    def _drop_ins(self) -> Iterator[str]:
        paths: dict[str, str] = {}
        for kind in (f"{self._unit}.d", "service.d"):
            for directory in UNIT_DIRECTORIES:
                for name in self._files.names(f"{directory}/{kind}"):
                    if name.endswith(".conf"):
                        paths.setdefault(name, f"{directory}/{kind}/{name}")
        if len(paths) > _MOST_FILES:
            raise UnknownError(f"{self._unit} has {len(paths)} drop-in files; at most {_MOST_FILES} are read")
        for _, path in sorted(paths.items()):
            yield self._files.text(path) or ""

    def _names(self) -> dict[str, str]:
        """Return the specifiers for the unit's own name, and those that are the same everywhere."""
        name = self._unit.removesuffix(".service")
        own = {"n": self._unit, "N": name, "p": name, "P": name.replace("-", "/"), "i": "", "I": ""}
        last = name.rpartition("-")[2]
        return {**own, "j": last, "J": last, **_DIRECTORIES, **_USER}

    def _node_specifiers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        host = (self._files.text("etc/hostname") or "").strip()
        if 0 < len(host) <= _LONGEST_HOST_NAME:
            found |= {"H": host, "q": host, "l": host.partition(".")[0]}
        machine = (self._files.text("etc/machine-id") or "").strip()
        if 0 < len(machine) <= _LONGEST_HOST_NAME:
            found["m"] = machine
        return found

    def _variables(self, name: str) -> dict[str, str]:
        """Read the environment files with a name or pattern; after ``-`` they may be missing."""
        path = name.removeprefix("-").lstrip("/")
        found: dict[str, str] = {}
        matches = self._matches(path)
        for each in matches:
            text = self._files.text(each)
            if text is not None:
                found |= environment_file(text)
            elif self._files.lists(each):
                raise UnknownError(f"/{each} cannot be read (environment file of {self._unit})")
            elif not name.startswith("-"):
                raise UnknownError(f"/{each} is missing (environment file of {self._unit})")
        if not matches and not name.startswith("-"):
            raise UnknownError(f"no file matches /{path} (environment file of {self._unit})")
        return found

    def _matches(self, path: str) -> list[str]:
        if not any(letter in path for letter in "*?["):
            return [path]
        directories = [""]
        parts = path.split("/")
        for depth, part in enumerate(parts):
            found = []
            for directory in directories:
                prefix = f"{directory}/" if directory else ""
                if not any(letter in part for letter in "*?["):
                    found.append(f"{prefix}{part}")
                    continue
                names = self._files.names(directory)
                shown = (name for name in names if part.startswith(".") or not name.startswith("."))
                found += [f"{prefix}{name}" for name in shown if fnmatch.fnmatchcase(name, part)]
            if len(found) > _MOST_FILES:
                raise UnknownError(f"more than {_MOST_FILES} files or directories match /{path}")
            directories = found
            if depth == len(parts) - 1:
                break
        return sorted(directories)

    def _arguments(self, line: str, variables: Mapping[str, str], known: Mapping[str, str]) -> list[str]:
        bare = line.lstrip(_PREFIXES)
        prefixes = line[: len(line) - len(bare)]
        try:
            arguments = [with_specifiers(word, known) for word in split_words(bare)]
        except ValueError as error:
            raise UnknownError(f"{self._unit}: ExecStart: {error}") from None
        if ":" not in prefixes:
            arguments = arguments[:1] + with_variables(arguments[1:], variables)
        if "@" in prefixes:
            del arguments[1:2]
        return arguments
