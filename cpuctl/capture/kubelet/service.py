"""The command line of a kubelet that does not run: what its systemd unit would start it with.

Without a unit, the files that kubeadm and packages keep flags in are read alone.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
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
from cpuctl.machine.recording_layout import FLAG_FILES, UNIT, UNIT_DIRECTORIES

_MOST_FILES = 200
_LONGEST_HOST_NAME = 64  # HOST_NAME_MAX of Linux
_PREFIXES = "@-:+!|"
_OWN_NAMES = dict.fromkeys("NpPjJ", "kubelet") | {"n": UNIT, "i": "", "I": ""}
_DIRECTORIES = {"t": "/run", "S": "/var/lib", "C": "/var/cache", "L": "/var/log", "E": "/etc"}
_USER = {"u": "root", "U": "0", "g": "root", "G": "0", "h": "/root"}
_FIXED = _OWN_NAMES | _DIRECTORIES | _USER


class Files(Protocol):
    """What is asked of a node's files: links are followed, and None stands for nothing to read."""

    def read_followed(self, path: str) -> str | None:
        """Return the text of a file."""

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory."""


class UnitCommand(NamedTuple):
    """The words behind the kubelet's name, the files that say so, and why some may be missing.

    ``arguments`` is None where no file says anything.
    """

    arguments: tuple[str, ...] | None = None
    files: tuple[str, ...] = ()
    gap: str = ""


def unit_command(files: Files) -> UnitCommand:
    """Find what systemd would start the kubelet with."""
    reader = _Reader(files)
    try:
        texts = reader.unit()
        if not texts:
            return _flag_files_alone(reader)
        arguments = tuple(reader.command(texts))
    except UnknownError as unknown:
        return UnitCommand(None, tuple(reader.used), str(unknown))
    return UnitCommand(arguments, tuple(reader.used))


def _flag_files_alone(reader: _Reader) -> UnitCommand:
    arguments: list[str] = []
    for path, variable in FLAG_FILES.items():
        text = reader.text(path)
        if text is not None:
            arguments += with_variables([f"${variable}"], environment_file(text))
    if not reader.used:
        return UnitCommand(gap="no process and no unit of a kubelet was found")
    gap = f"no {UNIT} was found: only {', '.join(f'/{path}' for path in reader.used)} tells of flags"
    return UnitCommand(tuple(arguments), tuple(reader.used), gap)


class _Service:
    """What a unit and its drop-ins come to: an empty value forgets what came before it."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        self.environment_files: list[str] = []
        self.unset: list[str] = []
        self.variables: dict[str, str] = {}
        self._known = known
        self._lists = {"ExecStart": self.lines, "EnvironmentFile": self.environment_files}

    def take(self, key: str, value: str) -> None:
        """Take one assignment."""
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


class _Reader:
    """Reads files of a node, and remembers which."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.used: list[str] = []

    def text(self, path: str) -> str | None:
        # What is not there need not be followed, and is no link that leads elsewhere.
        text = self._files.read_followed(path) if self.lists(path) else None
        if text is not None and path not in self.used:
            self.used.append(path)
        return text

    def lists(self, path: str) -> bool:
        return posixpath.basename(path) in self._files.names(posixpath.dirname(path))

    def unit(self) -> list[str]:
        """Return the texts of the unit and its drop-ins, in the order in which they count."""
        for directory in UNIT_DIRECTORIES:
            if not self.lists(f"{directory}/{UNIT}"):
                continue
            text = self.text(f"{directory}/{UNIT}")
            # A mask is an empty file or a link to /dev/null: systemd starts no kubelet at all.
            return [text or "", *self._drop_ins()]
        return []

    def _drop_ins(self) -> Iterator[str]:
        paths: dict[str, str] = {}
        for kind in (f"{UNIT}.d", "service.d"):
            for directory in UNIT_DIRECTORIES:
                for name in self._files.names(f"{directory}/{kind}"):
                    if name.endswith(".conf"):
                        paths.setdefault(name, f"{directory}/{kind}/{name}")
        if len(paths) > _MOST_FILES:
            raise UnknownError(f"{UNIT} has {len(paths)} drop-in files; at most {_MOST_FILES} are read")
        for _, path in sorted(paths.items()):
            yield self.text(path) or ""

    def command(self, texts: list[str]) -> list[str]:
        """Return the kubelet's arguments; raise UnknownError where files do not tell all."""
        if not texts[0].strip():
            raise UnknownError(f"{UNIT} is masked, empty or cannot be read")
        asks = any("%" in text for text in texts)
        known = {**_FIXED, **self._node_specifiers()} if asks else _FIXED
        service = _Service(known)
        for text in texts:
            for section, key, value in settings(text):
                if section == "Service":
                    service.take(key, value)
        if len(service.environment_files) > _MOST_FILES:
            raise UnknownError(f"{UNIT} takes variables from more than {_MOST_FILES} files")
        variables = dict(service.variables)
        for name in service.environment_files:
            variables |= self._variables(with_specifiers(name, known))
        for name in service.unset:
            variables.pop(name.partition("=")[0], None)
        if len(service.lines) != 1:
            raise UnknownError(f"{UNIT} has {len(service.lines)} lines ExecStart, not one")
        return _arguments(service.lines[0], variables, known)

    def _node_specifiers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        host = (self.text("etc/hostname") or "").strip()
        if 0 < len(host) <= _LONGEST_HOST_NAME:
            found |= {"H": host, "q": host, "l": host.partition(".")[0]}
        machine = (self.text("etc/machine-id") or "").strip()
        if 0 < len(machine) <= _LONGEST_HOST_NAME:
            found["m"] = machine
        return found

    def _variables(self, name: str) -> dict[str, str]:
        """Read the environment files of a name, which may be a pattern; ``-`` before it: or none."""
        path = name.removeprefix("-").lstrip("/")
        found: dict[str, str] = {}
        matches = self._matches(path)
        for each in matches:
            text = self.text(each)
            if text is not None:
                found |= environment_file(text)
            elif self.lists(each):
                raise UnknownError(f"/{each} cannot be read, which {UNIT} takes variables from")
            elif not name.startswith("-"):
                raise UnknownError(f"/{each} is missing, which {UNIT} takes variables from")
        if not matches and not name.startswith("-"):
            raise UnknownError(f"no file is like /{path}, which {UNIT} takes variables from")
        return found

    def _matches(self, path: str) -> list[str]:
        if not any(letter in path for letter in "*?["):
            return [path]
        directories = [""]
        parts = path.split("/")
        for depth, part in enumerate(parts):
            found = []
            for directory in directories:
                beside = f"{directory}/" if directory else ""
                if not any(letter in part for letter in "*?["):
                    found.append(f"{beside}{part}")
                    continue
                names = self._files.names(directory)
                shown = (name for name in names if part.startswith(".") or not name.startswith("."))
                found += [f"{beside}{name}" for name in shown if fnmatch.fnmatchcase(name, part)]
            if len(found) > _MOST_FILES:
                raise UnknownError(f"more than {_MOST_FILES} files or directories are like /{path}")
            directories = found
            if depth == len(parts) - 1:
                break
        return sorted(directories)


def _arguments(line: str, variables: Mapping[str, str], known: Mapping[str, str]) -> list[str]:
    bare = line.lstrip(_PREFIXES)
    prefixes = line[: len(line) - len(bare)]
    try:
        words = [with_specifiers(word, known) for word in split_words(bare)]
    except ValueError as error:
        raise UnknownError(f"{UNIT}: ExecStart: {error}") from None
    if ":" not in prefixes:
        words = words[:1] + with_variables(words[1:], variables)
    if "@" in prefixes:
        del words[1:2]
    for at, word in enumerate(words):
        if PurePosixPath(word).name == "kubelet":
            return words[at + 1 :]
    raise UnknownError(f"{UNIT} starts {words[0] if words else 'nothing'}, which is no kubelet")
