"""The kubelet's settings from all places that a command line can name: file, drop-ins, flags."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.errors import CpuctlError, InputError, NodeAccessError, UsageError, unreadable
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.answers.values import Origin
    from cpuctl.capture.recorded_kubelet import RecordedKubelet
    from cpuctl.documents.document import PlacedText
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.kubelet.configuration.drop_ins import DropInSource
    from cpuctl.kubelet.configuration.loading import LoadedConfiguration
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
    from cpuctl.kubelet.configuration.settings import Setting
    from cpuctl.kubelet.flags.kubelet_flags import KubeletFlags
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.kubelet.version import KubeletVersion

LIVE_MACHINE = "live"
LIVE_CONFIG = Path("/var/lib/kubelet/config.yaml")
"""Where kubeadm and most distributions put the kubelet's main configuration file."""

_ANOTHER = "specify a configuration with --kubelet-config"


class KubeletInputs(Record):
    """The kubelet's settings in addition to those of its node; None or empty if something is left out.

    Empty ``arguments`` say that the kubelet has no flags, None that nothing is known about them here.
    ``fallback_version`` is its release if neither that nor the node has one. ``config_data`` is the content
    of ``config`` if it was already read: a fleet has many nodes, and standard input can be read once.
    """

    config: str | None = None
    config_dir: str | None = None
    arguments: str | None = None
    version: str = ""
    version_option: str = option_names.KUBELET_VERSION
    gates: str = ""
    ignores_unknown_gates: bool = False
    fallback_version: str = ""
    config_data: bytes | None = None


class ServerInputs(Record):
    """The API server's release and gates as specified; if empty, the same as the kubelet's."""

    version: str = ""
    gates: str = ""


_FLAG_SOURCES = {
    "unit": "kubelet unit's",
    "running": "running kubelet's",
    "recorded": "recorded kubelet's",
}


class Arguments(Record):
    """The kubelet's command line: the node's flags (*own*, from *where*), and those *given* in addition.

    ``others`` are names of own flags with unknown values, ``lines`` the places of own flags in files
    of the node, by flag, ``gap`` why own flags may be missing.
    For a node of unknown release (not *released*), a flag that some release has is not an error.
    """

    own: tuple[str, ...] = ()
    where: str = ""
    given: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    lines: Mapping[str, str] = {}
    gap: str = ""
    released: bool = True

    def read(self, version: KubeletVersion, sources: Sources) -> KubeletFlags:
        """Read all flags as a kubelet of a release does; raise ConfigRefusedError if it would end."""
        from cpuctl.kubelet.flags.kubelet_flags import KubeletFlags

        if not self.own and not self.given and not self.others:
            return KubeletFlags()

        from cpuctl.kubelet.flags.command_line import check_names, read_flags
        from cpuctl.kubelet.flags.table import flag_of

        minor = version.minor if self.released else None
        refused: list[ConfigRefusedError] = []
        with _noted(refused):
            read_flags(self.own, self.where, minor=minor, lines=self.lines)
        with _noted(refused):
            if minor is not None:
                check_names(self.others, self.where, minor=minor, lines=self.lines)
        with _noted(refused):
            read_flags(self.given, minor=version.minor)
        if refused:
            raise refused[0].before(*refused[1:])
        found = read_flags([*self.own, *self.given], minor=minor)
        found = replace(found, names=(*found.names, *self.others))
        for name in found.names:
            if flag_of(name, version.minor) is None:
                sources.warnings.append(
                    f"{self.where}: kubelet 1.{version.minor} (assumed) has no flag --{name}: set the"
                    " node's kubelet version with --kubelet-version"
                )
        return found


@contextmanager
def _noted(refused: list[ConfigRefusedError]) -> Iterator[None]:
    """Record why a kubelet would exit, and continue: the next error appears once this one is fixed."""
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

    try:
        yield
    except ConfigRefusedError as error:
        refused.append(error)


class KubeletSetup(Record):
    """Everything that was read: the main file's text and name (None without a file), and the flags.

    ``base_directory`` is the directory on the node to which paths in the main file are relative,
    ``overrides`` what overrides everything, as flags would, ``places`` where the main file's fields are in
    another tool's. Without ``released`` the release is assumed.
    """

    version: KubeletVersion
    main: tuple[bytes | str, str] | None
    base_directory: str
    drop_ins: DropInSource | None
    arguments: Arguments
    gate_flags: Mapping[str, bool] = {}
    cgroup_version: int = 2
    overrides: Mapping[str, Setting] = {}
    ignores_unknown_gates: bool = False
    places: PlacedText | None = None
    released: bool = True


class LoadedKubelet(Record):
    """A kubelet, its configuration with the origin of every value, and the source of both."""

    kubelet: Kubelet
    configuration: LoadedConfiguration
    setup: KubeletSetup

    def on_cgroups(self, version: int) -> LoadedKubelet:
        """Return the same kubelet on control groups of a version, which can keep it from starting."""
        return replace(self, kubelet=replace(self.kubelet, cgroup_version=version))


def given_arguments(text: str | None) -> tuple[str, ...]:
    """Split the value of ``--kubelet-args``, or the content of the file that it names (``@FILE``).

    Raise UsageError for words that cannot be split, InputError for such a file.
    """
    if not text:
        return ()

    from cpuctl.kubelet.flags.command_line import arguments_of_file, split_arguments

    if not text.startswith("@"):
        return tuple(split_arguments(text))

    from cpuctl.documents.files import STDIN, read_input

    name = text[1:]
    if name in ("", STDIN):
        where = f"{option_names.KUBELET_ARGS} {text}"
        raise UsageError("missing file name", where=where, hint="write @FILE, or the flags")
    try:
        return tuple(arguments_of_file(read_input(name).decode("utf-8", "replace")))
    except UsageError as error:
        raise InputError(error.message, where=name) from None


def flags_of(arguments: Arguments) -> KubeletFlags:
    """Read all flags as some release reads them."""
    found = any_flags([*arguments.own, *arguments.given])
    return replace(found, names=(*found.names, *arguments.others))


def any_flags(arguments: Sequence[str]) -> KubeletFlags:
    """Read flags as some release reads them, for example to find files before the release is known.

    Their errors are reported when they are finally read.
    """
    from cpuctl.kubelet.flags.kubelet_flags import KubeletFlags

    if not arguments:
        return KubeletFlags()

    from cpuctl.kubelet.flags.command_line import valid_flags

    return valid_flags(arguments)


def configuration_text(
    name: str | None, recorded: RecordedKubelet, origin: str, sources: Sources, *, data: bytes | None = None
) -> tuple[tuple[bytes | str, str] | None, str]:
    """Return the main file's text and name, and the directory to which its paths are relative.

    *data* is the content of the file *name* if it was already read. Raise CpuctlError if the node has one
    that cannot be read.
    """
    from cpuctl.documents.files import STDIN, read_input, source_name

    if name is not None:
        sources.add("kubeletConfiguration", source_name(name), "given")
        base_directory = "" if name == STDIN else str(Path(name).absolute().parent)
        return (read_input(name) if data is None else data, source_name(name)), base_directory
    if recorded.config is not None or recorded.config_refused:
        return _recorded_configuration(recorded, origin, sources)
    if recorded.config_problem is not None:
        raise _not_usable(recorded.config_problem).within(origin)
    live = origin == LIVE_MACHINE
    if live and (found := _live_configuration(recorded)) is not None:
        text, path = found
        sources.add("kubeletConfiguration", str(path), "live")
        return (text, str(path)), str(path.parent)
    if recorded.config_path and recorded.flags is not None and not recorded.flags_gap:
        raise _named_but_missing(f"{origin}: {recorded.config_path}")
    # A kubelet that runs without a configuration file is known to have none.
    known: Origin = "live" if live else "capture"
    stated: Origin = "default" if recorded.flags is None or recorded.flags_gap else known
    sources.add("kubeletConfiguration", "the kubelet's defaults", stated)
    return None, ""


def config_read(inputs: KubeletInputs) -> KubeletInputs:
    """Read a configuration on standard input now for later use; raise InputError if it cannot be read."""
    from cpuctl.documents.files import STDIN, read_input

    return replace(inputs, config_data=read_input(STDIN)) if inputs.config == STDIN else inputs


def of_other_tools(
    main: tuple[bytes | str, str], arguments: tuple[str, ...], sources: Sources
) -> tuple[tuple[bytes | str, str], tuple[str, ...], PlacedText | None]:
    """Convert another tool's file to the resulting configuration and flags, and report that.

    The places are those of the tool's file.
    """
    from cpuctl.kubelet.foreign.reading import arguments_of, places_of, read_foreign
    from cpuctl.kubelet.foreign.reading import configuration_text as written

    text, name = main
    found = read_foreign(text, name)
    if found is None:
        return main, arguments, None
    sources.add("kubeletConfiguration", f"{name} ({found.what})", "given")
    sources.notes.append(f"{name}: read as {found.what}")
    sources.read_as.extend(f"{name}: {assumed}" for assumed in found.assumed)
    content = written(found)
    flags = arguments_of(found, name)
    name = f"{name}: {found.inside}" if found.inside else name
    return (content, name), (*flags, *arguments), places_of(found, content)


def _recorded_configuration(
    recorded: RecordedKubelet, origin: str, sources: Sources
) -> tuple[tuple[str, str], str]:
    """Return the recording's configuration; if it could not be recorded, do not assume defaults."""
    if recorded.config is None:
        raise InputError(
            "the kubelet's configuration is missing because it could not be read when the node was recorded",
            where=origin,
            hint="record the node as root, or specify a configuration with --kubelet-config",
        )
    source = f"{origin}: {recorded.config_at}"
    sources.add("kubeletConfiguration", source, "capture")
    place = Path(recorded.config_path or f"/{recorded.config_at}")
    return (recorded.config, source), str(place.parent)


def _live_configuration(running: RecordedKubelet) -> tuple[bytes, Path] | None:
    """Read the file that the host's kubelet was started with; without a kubelet, the usual one.

    If the file exists but cannot be read, do not assume defaults.
    """
    from cpuctl.documents.files import MAX_INPUT_BYTES
    from cpuctl.root_directory import LIVE_ROOT

    if running.flags is not None and not running.flags_gap and not running.config_path:
        return None
    path = Path(running.config_path or LIVE_CONFIG)
    try:
        text = LIVE_ROOT.read(str(path), MAX_INPUT_BYTES)
    except PermissionError:
        hint = f"try again with sudo, or {_ANOTHER}"
        raise NodeAccessError("permission denied", where=str(path), hint=hint) from None
    except OSError as error:
        raise unreadable(error, str(path), hint=_ANOTHER) from None
    if text is not None:
        return text, path
    if problem := LIVE_ROOT.in_the_way(str(path)):
        raise _not_usable(InputError(problem, where=str(path)))
    if running.config_path:
        raise _named_but_missing(str(path))
    return None


def _named_but_missing(path: str) -> InputError:
    """Make the error for a missing file: the kubelet would exit, not use its defaults."""
    hint = "the kubelet's flags refer to it; specify another file with --kubelet-config"
    return InputError("cannot be read: no such file or directory", where=path, hint=hint)


def _not_usable(error: CpuctlError) -> CpuctlError:
    return type(error)(error.message, where=error.where, hint=error.hint or _ANOTHER)


def all_arguments(
    given: tuple[str, ...], text: str | None, recorded: RecordedKubelet, origin: str, sources: Sources
) -> Arguments:
    """Append the flags of ``--kubelet-args`` (*text*) to those of the node's kubelet, as on one line.

    Flags that are specified, even as none, are all that a kubelet of unknown flags has.
    """
    if text is not None:
        sources.add("kubeletArguments", text, "given")
    known = sources.origin("kubeletConfiguration")
    gap = recorded.flags_gap if known in ("live", "capture") and text is None else ""
    if gap:
        sources.add_unknown_flags(gap)
    if not recorded.flags and not recorded.other_flags:
        return Arguments(given=given, gap=gap)
    live = origin == LIVE_MACHINE
    owner = "unit" if not recorded.runs else "running" if live else "recorded"
    known = "live" if live else "capture"
    # In the syntax of --kubelet-args: values of variables may contain spaces.
    sources.add(f"{owner}Arguments", shlex.join(recorded.flags or ()), known)
    if recorded.flag_files:
        sources.add("unitFiles", " ".join(recorded.flag_files), known)
    return Arguments(
        own=recorded.flags or (),
        where=f"{origin}: the {_FLAG_SOURCES[owner]} flags",
        given=given,
        others=tuple(_doubtful(recorded)),
        lines={name: place if live else f"{origin}: {place}" for name, place in recorded.flag_places.items()},
        gap=gap,
        released=sources.origin("kubeletVersion") != "default",
    )


def _doubtful(recorded: RecordedKubelet) -> Iterator[str]:
    """Yield flags that a release may not know; flags of a running kubelet are valid in its own release."""
    from cpuctl.kubelet.flags.table import FLAGS

    return (name for name in recorded.other_flags if name in FLAGS or not recorded.runs)


def drop_in_source(name: str | None, recorded: RecordedKubelet, sources: Sources) -> DropInSource | None:
    """Find the drop-in files: those of a given directory, else those that the node's kubelet reads.

    Raise UsageError for ``--config-dir ''``, which a kubelet treats as no directory.
    """
    if name == "":
        hint = f"specify one, or omit {option_names.CONFIG_DIR}"
        raise UsageError("missing directory name", where=option_names.CONFIG_DIR, hint=hint)
    if directory := name or recorded.config_directory:
        from cpuctl.kubelet.configuration.drop_ins import DropInDirectory

        sources.add("dropInDirectory", directory, "given" if name else "live")
        return DropInDirectory(directory)
    found = recorded.drop_ins
    if found is None:
        return None
    if not found.used:
        sources.warnings.append(
            f"the recording has drop-in files of {found.name}, but no running kubelet that shows"
            " whether they are used: they are ignored"
        )
        return None
    sources.add("dropInDirectory", found.name, "capture")
    return found


def load_setup(setup: KubeletSetup, sources: Sources) -> LoadedKubelet:
    """Combine the parts as the kubelet does, and remember its warnings.

    Raise ConfigRefusedError for the first part that it cannot decode, with all errors that it would
    reach: flags first, then files.
    """
    from cpuctl.kubelet.configuration.loading import ConfigSources, load_configuration
    from cpuctl.kubelet.kubelet import Kubelet

    config = ConfigSources(
        main=setup.main,
        base_directory=setup.base_directory,
        drop_ins=setup.drop_ins,
        ignores_unknown_gates=setup.ignores_unknown_gates,
        places=setup.places,
    )
    refused: list[ConfigRefusedError] = []
    loaded: LoadedConfiguration | None = None
    with _noted(refused):
        flags = setup.arguments.read(setup.version, sources)
        flags = replace(
            flags, settings={**flags.settings, **setup.overrides}, gates={**flags.gates, **setup.gate_flags}
        )
        config = replace(config, flags=flags)
    try:
        with _noted(refused):
            loaded = load_configuration(config, setup.version)
    except CpuctlError:
        if not refused:
            raise
    if refused:
        raise refused[0].before(*refused[1:])
    assert loaded is not None
    sources.warnings.extend(map(str, loaded.warnings))
    kubelet = Kubelet(
        version=setup.version,
        config=loaded.config if setup.released else _without_default_of_release(loaded),
        gate_flags=loaded.gate_flags,
        gates_of_main_file=loaded.gates_of_main_file,
        cgroup_version=setup.cgroup_version,
        flags_gap=setup.arguments.gap,
        released=setup.released,
    )
    _warn_of_patches(kubelet, sources)
    return LoadedKubelet(kubelet=kubelet, configuration=loaded, setup=setup)


def _without_default_of_release(loaded: LoadedConfiguration) -> KubeletConfiguration:
    """Without a release, leave open the settings that decide a start and whose defaults differ by release."""
    from cpuctl.kubelet.configuration.settings import OriginKind

    if loaded.origin("failCgroupV1").kind is not OriginKind.DEFAULT:
        return loaded.config
    return replace(loaded.config, fail_cgroup_v1=None)


def _warn_of_patches(kubelet: Kubelet, sources: Sources) -> None:
    """Report which patch release is assumed if another patch of the minor would decide differently."""
    from cpuctl.kubelet.releases.differences import DIFFERENCES

    minor, patch = kubelet.version
    if patch is not None or not any(minor in each.patches for each in DIFFERENCES.values()):
        return
    from cpuctl.kubelet.releases.concerns import decided_by_patch
    from cpuctl.kubelet.version import LAST_PATCHES

    for each in decided_by_patch(kubelet):
        last, first = f"1.{minor}.{LAST_PATCHES[minor]}", f"1.{minor}.{each.patches[minor]}"
        sources.warnings.append(
            f"kubelet 1.{minor} is treated as {last}; before {first}, {each.before} "
            "(set the patch version with --kubelet-version)"
        )
