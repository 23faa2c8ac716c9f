"""What a kubelet is told, from every place that a command line can name: file, drop-ins, flags."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl.errors import InputError, NodeAccessError, UsageError, unreadable
from cpuctl.named_tuple import NamedTuple

if TYPE_CHECKING:
    from cpuctl.capture.recorded_kubelet import RecordedKubelet
    from cpuctl.cli.sources.sources import Sources
    from cpuctl.kubelet.configuration.drop_in_files import DropInSource
    from cpuctl.kubelet.configuration.loading import LoadedConfiguration
    from cpuctl.kubelet.flags.given import KubeletFlags
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.kubelet.version import KubeletVersion

LIVE_MACHINE = "live"
LIVE_CONFIG = Path("/var/lib/kubelet/config.yaml")
"""Where kubeadm and most distributions put the kubelet's main configuration file."""


class KubeletWords(NamedTuple):
    """The words of a command line that say what the kubelet is told; None or empty where one is left out."""

    config: str | None = None
    config_dir: str | None = None
    arguments: str = ""
    version: str = ""
    version_option: str = "--kubelet-version"
    gates: str = ""


class Told(NamedTuple):
    """Everything that was read: the main file's text and name (None where there is none), and the flags.

    ``beside`` is the directory on the node to which relative paths of the main file belong.
    """

    version: KubeletVersion
    main: tuple[bytes | str, str] | None
    beside: str
    drop_ins: DropInSource | None
    flags: KubeletFlags
    gate_flags: Mapping[str, bool] = {}
    cgroup_version: int = 2


class ToldKubelet(NamedTuple):
    """A kubelet, its configuration with the origin of every value, and what both were made from."""

    kubelet: Kubelet
    loaded: LoadedConfiguration
    told: Told


def read_arguments(text: str) -> KubeletFlags:
    """Read ``--kubelet-args``."""
    from cpuctl.kubelet.flags.given import KubeletFlags

    if not text:
        return KubeletFlags()

    from cpuctl.kubelet.flags.command_line import read_flags, split_arguments

    return read_flags(split_arguments(text))


def configuration_text(
    name: str | None, recorded: RecordedKubelet, origin: str, sources: Sources
) -> tuple[tuple[bytes | str, str] | None, str]:
    """Return the main file's text and name, and the directory that relative paths in it belong to."""
    from cpuctl.documents.files import STDIN, read_input, source_name

    if name is not None:
        sources.add("kubeletConfiguration", source_name(name), "given")
        beside = "" if name == STDIN else str(Path(name).absolute().parent)
        return (read_input(name), source_name(name)), beside
    if recorded.config is not None or recorded.config_refused:
        return _recorded_configuration(recorded, origin, sources)
    live = origin == LIVE_MACHINE
    if live and (found := _live_configuration(recorded)) is not None:
        text, path = found
        sources.add("kubeletConfiguration", str(path), "live")
        return (text, str(path)), str(path.parent)
    # A kubelet that ran without a file is known to have none.
    known = "live" if live else "capture"
    said = "default" if recorded.flags is None else known
    sources.add("kubeletConfiguration", "the kubelet's defaults", said)
    return None, ""


def _recorded_configuration(
    recorded: RecordedKubelet, origin: str, sources: Sources
) -> tuple[tuple[str, str], str]:
    """Take the recording's own; that it could not be recorded is no reason to assume defaults."""
    from cpuctl.machine.recording_layout import CONFIG

    if recorded.config is None:
        raise InputError(
            "it lacks the kubelet's configuration, which could not be read when it was recorded",
            where=origin,
            hint="record the node as root, or name a configuration with --kubelet-config",
        )
    source = f"{origin}: {CONFIG}"
    sources.add("kubeletConfiguration", source, "capture")
    place = Path(recorded.config_path or f"/{CONFIG}")
    return (recorded.config, source), str(place.parent)


def _live_configuration(running: RecordedKubelet) -> tuple[bytes, Path] | None:
    """Read the file that the host's kubelet was told of, without a kubelet the usual one.

    One that is there and closed to us is no reason to assume defaults.
    """
    if running.flags is not None and not running.config_path:
        return None
    path = Path(running.config_path or LIVE_CONFIG)
    try:
        return path.read_bytes(), path
    except (FileNotFoundError, NotADirectoryError) as error:
        if running.config_path:
            raise unreadable(error, str(path), hint="the kubelet that runs was told of it") from None
        return None
    except PermissionError:
        hint = "try again with sudo, or name a configuration with --kubelet-config"
        raise NodeAccessError("permission denied", where=str(path), hint=hint) from None
    except OSError as error:
        raise unreadable(error, str(path)) from None


def with_recorded_flags(
    given: KubeletFlags, text: str, recorded: RecordedKubelet, origin: str, sources: Sources
) -> KubeletFlags:
    """Put the flags of ``--kubelet-args`` (*text*) behind those of the node's kubelet, as on one line.

    What is passed over goes to the warnings.
    """
    if text:
        sources.add("kubeletArguments", text, "given")
    sources.warnings.extend(f"--kubelet-args: {note}" for note in given.notes)
    if not recorded.flags:
        return given

    from cpuctl.kubelet.flags.command_line import read_flags, split_arguments

    live = origin == LIVE_MACHINE
    sources.add(
        "runningArguments" if live else "recordedArguments",
        " ".join(recorded.flags),
        "live" if live else "capture",
    )
    read_flags(recorded.flags, where=f"{origin}: the {'running' if live else 'recorded'} kubelet's flags")
    return read_flags([*recorded.flags, *split_arguments(text)])


def drop_in_source(name: str | None, recorded: RecordedKubelet, sources: Sources) -> DropInSource | None:
    """Find the drop-in files: those of a directory that is named, else those that the node's kubelet reads.

    Raise UsageError for ``--config-dir ''``, which a kubelet takes for none at all.
    """
    if name == "":
        raise UsageError("the name of a directory is missing", where="--config-dir")
    if directory := name or recorded.config_directory:
        from cpuctl.kubelet.configuration.drop_in_files import DropInDirectory

        sources.add("dropInDirectory", directory, "given" if name else "live")
        return DropInDirectory(directory)
    found = recorded.drop_ins
    if found is None:
        return None
    if not found.used:
        sources.warnings.append(
            f"the recording has drop-in files of {found.name}, but no kubelet ran that could have told"
            " whether it reads them: they are left out"
        )
        return None
    sources.add("dropInDirectory", found.name, "capture")
    return found


def load_told(told: Told, sources: Sources) -> ToldKubelet:
    """Put the pieces together as the kubelet does, and remember what it would only warn about."""
    from cpuctl.kubelet.configuration.loading import ConfigSources, load_configuration
    from cpuctl.kubelet.kubelet import Kubelet

    flags = told.flags._replace(gates={**told.flags.gates, **told.gate_flags})
    config = ConfigSources(main=told.main, beside=told.beside, drop_ins=told.drop_ins, flags=flags)
    loaded = load_configuration(config, told.version)
    sources.warnings.extend(map(str, loaded.warnings))
    kubelet = Kubelet(
        version=told.version,
        config=loaded.config,
        gate_flags=loaded.gate_flags,
        gates_of_main_file=loaded.gates_of_main_file,
        cgroup_version=told.cgroup_version,
    )
    return ToldKubelet(kubelet=kubelet, loaded=loaded, told=told)
