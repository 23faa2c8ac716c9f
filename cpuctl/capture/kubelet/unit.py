"""The command line of a kubelet that is not running: what the node's files would start it with.

The source is its systemd unit, that of a program that contains a kubelet, or the files of a snap. Without any
of these, only the files in which kubeadm and packages keep flags are read.

Rule: k3s' ``pkg/configfilearg`` and ``pkg/util/args.go``, which RKE2 shares, for Kubernetes 1.27 and later;
k0s' ``pkg/component/worker/kubelet.go``; ``ReadArgsFromFile`` of MicroK8s' kubelite.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from cpuctl.capture.kubelet.service import Command, Service, ServiceFiles, TrackedFiles
from cpuctl.capture.kubelet.systemd import UnknownError, environment_file, with_variables
from cpuctl.errors import InputError
from cpuctl.kubelet.flags.kubelet_flags import forwarded_flags, values_of
from cpuctl.machine.recording_layout import EMBEDDING_UNITS, FLAG_FILES, MICROK8S_FLAGS, UNIT
from cpuctl.phrases import all_of


class UnitCommand(NamedTuple):
    """The arguments after the kubelet's name, the files that set them, and why some may be missing.

    ``arguments`` is None if no file sets any; ``places`` maps flags to the file and line that contains them.
    """

    arguments: tuple[str, ...] | None = None
    files: tuple[str, ...] = ()
    gap: str = ""
    places: Mapping[str, str] = {}


def unit_command(node: ServiceFiles) -> UnitCommand:
    """Find what the kubelet would be started with."""
    files = TrackedFiles(node)
    try:
        units = _units(files)
        if units:
            arguments = _agreed(files, units)
        elif files.lists(MICROK8S_FLAGS):
            arguments = microk8s_arguments(files)
        else:
            return _flag_files_alone(files)
    except UnknownError as unknown:
        return UnitCommand(None, tuple(files.used), str(unknown))
    return UnitCommand(tuple(arguments), tuple(files.used), places=flag_places(files, arguments))


def flag_places(files: TrackedFiles, arguments: Iterable[str]) -> dict[str, str]:
    """Find the lines, in the files that were read, that contain flags exactly as they are given.

    A flag that is assembled from parts, or that a program adds, is not found.
    """
    names = {word.lstrip("-").partition("=")[0] for word in arguments if word.startswith("-")}
    found: dict[str, list[str]] = {}
    for path in files.used:
        for number, line in enumerate((files.text(path) or "").splitlines(), 1):
            if line.lstrip().startswith(("#", ";")):
                continue
            for name in names.intersection(_FLAG.findall(line)):
                found.setdefault(name, []).append(f"/{path}:{number}")
    return {name: all_of(places) for name, places in found.items()}


def _units(files: TrackedFiles) -> list[str]:
    """Return the units that start a kubelet; of several, those that start at boot."""
    units = [unit for unit in (UNIT, *EMBEDDING_UNITS) if Service(files, unit).is_there()]
    wanted = [unit for unit in units if Service(files, unit).is_wanted()] if len(units) > 1 else ()
    return [*wanted] or units


def _agreed(files: TrackedFiles, units: Sequence[str]) -> Sequence[str]:
    """Return the flags of a node whose units all agree; raise UnknownError if they do not."""
    first, *others = (_arguments(files, unit) for unit in units)
    if any(each != first for each in others):
        raise UnknownError(f"{all_of(units)} start it differently")
    return first


def _arguments(files: TrackedFiles, unit: str) -> Sequence[str]:
    command = Service(files, unit).command()
    if unit != UNIT:
        return embedded_arguments(files, unit, command)
    for at, word in enumerate(command.words):
        if PurePosixPath(word).name == "kubelet":
            return command.words[at + 1 :]
    started = command.words[0] if command.words else "nothing"
    raise UnknownError(f"{unit} starts {started}, which is not a kubelet")


def _flag_files_alone(files: TrackedFiles) -> UnitCommand:
    arguments: list[str] = []
    for path, variable in FLAG_FILES.items():
        text = files.text(path)
        if text is not None:
            arguments += with_variables([f"${variable}"], environment_file(text))
    if not files.used:
        return UnitCommand(gap="no kubelet process or unit was found")
    gap = f"no {UNIT} was found: only {', '.join(f'/{path}' for path in files.used)} contains flags"
    return UnitCommand(tuple(arguments), tuple(files.used), gap, flag_places(files, arguments))


_DATA = "data-dir"
_HANDED_ON = "kubelet-arg"
_WITHOUT_DROP_INS: Mapping[str, Sequence[str]] = {
    "eviction-hard": ("imagefs.available<5%,nodefs.available<5%",),
    "eviction-minimum-reclaim": ("imagefs.available=10%,nodefs.available=10%",),
    "fail-swap-on": ("false",),
}
"""The flags k3s and RKE2 pass to kubelets up to 1.31; for later ones they write them as a drop-in file."""

_SNAP_VARIABLES: Mapping[str, str] = {
    "SNAP": "/snap/microk8s/current",
    "SNAP_DATA": "/var/snap/microk8s/current",
    "SNAP_COMMON": "/var/snap/microk8s/common",
}
_FLAG = re.compile(r"(?<![\w-])--?([A-Za-z][\w.-]*)", re.ASCII)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)


def embedded_arguments(files: TrackedFiles, unit: str, command: Command) -> list[str]:
    """Return the flags of the kubelet that the program started by a unit contains.

    Raise UnknownError if files do not show all of them, or the program does not contain a kubelet.
    """
    program, *arguments = command.words or ("nothing",)
    name = PurePosixPath(program).name
    if name in ("k3s", "rke2"):
        return _k3s_arguments(files, name, arguments, command.variables)
    if name == "k0s":
        return _k0s_arguments(files, unit, arguments)
    raise UnknownError(f"{unit} starts {program}, which is not known to contain a kubelet")


def _k3s_arguments(
    files: TrackedFiles, name: str, arguments: Sequence[str], variables: Mapping[str, str]
) -> list[str]:
    """Return the kubelet's flags: those of the files come first, and the last use of a flag wins."""
    upper = name.upper()
    config = variables.get(f"{upper}_CONFIG_FILE") or next(values_of(arguments, "--config", "-c"), "")
    settings = _configured(files, config or f"/etc/rancher/{name}/config.yaml")
    if "server" in arguments and (
        "--disable-agent" in arguments or settings.get("disable-agent") == ["true"]
    ):
        raise UnknownError(f"{name} server runs without an agent, and so without a kubelet")
    given = [*values_of(arguments, f"--{_DATA}", "-d")]
    data = [
        f"/var/lib/rancher/{name}",
        variables.get(f"{upper}_DATA_DIR", ""),
        *settings.get(_DATA, ()),
        *given,
    ]
    extra = [
        *(f"--{each.removeprefix('--')}" for each in settings.get(_HANDED_ON, ())),
        *forwarded_flags(arguments),
    ]
    drop_ins = f"{[each for each in data if each][-1].strip('/')}/agent/etc/kubelet.conf.d"
    if not _is_there(files, drop_ins):
        return _merged(_WITHOUT_DROP_INS, extra)
    for flag in extra:
        if flag.startswith(("--config=", "--config-dir=")):
            raise UnknownError(f"{name} converts {flag} to drop-ins when it starts")
    return _merged({"config-dir": (f"/{drop_ins}",)}, extra)


def _is_there(files: TrackedFiles, path: str) -> bool:
    """Return whether a path exists; raise UnknownError if access to a directory above it is denied."""
    parent, name = posixpath.split(path)
    return (not parent or _is_there(files, parent)) and name in files.required_names(parent)


def _merged(own: Mapping[str, Sequence[str]], extra: Iterable[str]) -> list[str]:
    """Replace a program's own flags by given ones; ``NAME+`` adds to them, ``NAME-`` comes before."""
    values = {name: list(each) for name, each in own.items()}
    replaced: set[str] = set()
    for flag in extra:
        written, equals, value = flag.removeprefix("--").partition("=")
        name = written.rstrip("+-")
        if written == name and name not in replaced:
            values[name] = []
        replaced.add(name)
        at = 0 if written.endswith("-") else len(values.setdefault(name, []))
        values[name].insert(at, value if equals else "true")
    return [f"--{name}={value}" for name in sorted(values) for value in values[name]]


def _configured(files: TrackedFiles, config: str) -> dict[str, list[str]]:
    """Read a file of k3s or RKE2 and those in the directory next to it as one.

    The last file that sets something wins, unless it adds to the others: ``kubelet-arg+``.
    """
    if "://" in config:
        raise UnknownError("its configuration is on another host")  # its URL may contain a password
    path = config.strip("/")
    names = [
        each for each in sorted(files.required_names(f"{path}.d")) if each.lower().endswith((".yaml", ".yml"))
    ]
    found: dict[str, list[str]] = {}
    for each in (path, *(f"{path}.d/{name}" for name in names)):
        for key, values in _settings(files, each):
            name = key.removesuffix("+")
            found[name] = [*(found.get(name, ()) if key != name else ()), *values]
    return found


def _settings(files: TrackedFiles, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what a file sets for the kubelet; nothing else, such as tokens, is read out of it."""
    from cpuctl.documents.loading import load_documents

    text = files.required_text(path)
    if text is None:
        return
    try:
        documents = load_documents(text, path, last_wins=True)
    except InputError:
        raise UnknownError(f"/{path} is not YAML") from None
    value: Any = documents[0].value if documents else None
    if not isinstance(value, dict | None):
        raise UnknownError(f"/{path} contains no settings")
    for key, member in (value or {}).items():
        if key.removesuffix("+") in (_HANDED_ON, _DATA, "disable-agent"):
            yield (
                key,
                [
                    _text(each, f"/{path}: {key}")
                    for each in (member if isinstance(member, list) else [member])
                ],
            )


def _text(value: object, at: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        raise UnknownError(f"{at} is not a string")
    return value


def _k0s_arguments(files: TrackedFiles, unit: str, arguments: Sequence[str]) -> list[str]:
    """Return the kubelet's flags: k0s' own, overridden by those of ``--kubelet-extra-args``."""
    if "worker" not in arguments and not {"--enable-worker", "--single"} & {
        word.partition("=")[0] for word in arguments
    }:
        raise UnknownError(f"{unit} starts a controller that does not run a kubelet")
    data = next(values_of(arguments, f"--{_DATA}"), "/var/lib/k0s")
    root = next(values_of(arguments, "--kubelet-root-dir"), f"{data}/kubelet")
    config = f"{data}/kubelet-config.yaml"
    if not files.lists(config.strip("/")):
        raise UnknownError(f"k0s has not written {config}")
    extra = [flag for text in values_of(arguments, "--kubelet-extra-args") for flag in text.split()]
    return [f"--config={config}", f"--root-dir={root}", *extra]


def microk8s_arguments(files: TrackedFiles) -> list[str]:
    """Return the flags of the kubelet in MicroK8s, one line of words each; quotes are dropped."""
    lines = (line.strip() for line in (files.required_text(MICROK8S_FLAGS) or "").splitlines())
    flags = (line for line in lines if line and not line.startswith("#"))
    return [_expanded(word) for line in flags for word in re.sub("[\"']", "", line).split(" ")]


def _expanded(word: str) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in _SNAP_VARIABLES:
            raise UnknownError(f"/{MICROK8S_FLAGS} has ${name}, whose value only MicroK8s knows")
        return _SNAP_VARIABLES[name]

    return _VARIABLE.sub(value, word)
