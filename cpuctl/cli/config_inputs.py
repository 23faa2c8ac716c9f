"""What a kubelet is told, from every place that a command line can name: file, drop-ins, flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpuctl.errors import UsageError

if TYPE_CHECKING:
    from cpuctl.cli.inputs import Sources
    from cpuctl.engine.start import Kubelet
    from cpuctl.kubelet.config_flags import KubeletFlags
    from cpuctl.kubelet.loading import LoadedConfiguration
    from cpuctl.kubelet.version import KubeletVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletWords:
    """The words of a command line that say what the kubelet is told; None or empty where one is left out."""

    config: str | None = None
    config_dir: str | None = None
    arguments: str = ""
    version: str = ""
    gates: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Everything that was read: the main file's text and name (None where there is none), and the flags."""

    version: KubeletVersion
    main: tuple[bytes | str, str] | None
    config_dir: str | None
    flags: KubeletFlags
    gate_flags: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldKubelet:
    """A kubelet, its configuration with the origin of every value, and what both were made from."""

    kubelet: Kubelet
    loaded: LoadedConfiguration
    told: Told


def read_kubelet_arguments(text: str, sources: Sources) -> KubeletFlags:
    """Read ``--kubelet-args``; what is passed over goes to the warnings."""
    from cpuctl.kubelet.config_flags import KubeletFlags, read_flags, split_arguments

    if not text:
        return KubeletFlags()
    sources.add("kubeletArguments", text, "given")
    flags = read_flags(split_arguments(text))
    sources.warnings.extend(f"--kubelet-args: {note}" for note in flags.notes)
    return flags


def load_told(told: Told, sources: Sources) -> ToldKubelet:
    """Put the pieces together as the kubelet does, and remember what it would only warn about."""
    from dataclasses import replace

    from cpuctl.engine.start import Kubelet
    from cpuctl.kubelet.config_dropins import DropInDirectory
    from cpuctl.kubelet.loading import ConfigSources, load_configuration

    flags = replace(told.flags, gates={**told.flags.gates, **told.gate_flags})
    directory = told.config_dir
    if directory is not None:
        sources.add("dropInDirectory", directory, "given")
    drop_ins = None if directory is None else DropInDirectory(directory)
    loaded = load_configuration(ConfigSources(main=told.main, drop_ins=drop_ins, flags=flags), told.version)
    sources.warnings.extend(map(str, loaded.warnings))
    kubelet = Kubelet(
        version=told.version,
        config=loaded.config,
        gate_flags=loaded.gate_flags,
        gates_of_main_file=loaded.gates_of_main_file,
    )
    return ToldKubelet(kubelet=kubelet, loaded=loaded, told=told)


def refuse_empty_directory(name: str | None) -> None:
    """Raise UsageError for ``--config-dir ''``, which a kubelet takes for none at all."""
    if name == "":
        raise UsageError("the name of a directory is missing", where="--config-dir")
