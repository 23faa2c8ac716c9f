"""Reading what a command line names, and remembering where each input came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl.cli.output import Style, note
from cpuctl.errors import CpuctlError, InputError, NodeAccessError, UsageError, unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.capture.recorded import RecordedKubelet
    from cpuctl.cli.config_inputs import KubeletWords, ToldKubelet
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.model import Pod

LIVE_MACHINE = "live"
LIVE_CONFIG = Path("/var/lib/kubelet/config.yaml")
"""Where kubeadm and most distributions put the kubelet's main configuration file."""


@dataclass(slots=True)
class Sources:
    """Where every input came from: the command line, the recording, the live host, or a default."""

    entries: dict[str, dict[str, str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, name: str, value: str, origin: str) -> None:
        """Remember one input; *origin* is ``given``, ``capture``, ``live`` or ``default``."""
        # A file's name may hold bytes that are no text; an answer may not.
        text = value.encode(errors="backslashreplace").decode()
        self.entries[name] = {"value": text, "from": origin}

    def tell(self, style: Style) -> None:
        """Say on stderr what nobody gave, where people read the answer, and every warning."""
        for warning in self.warnings:
            note(f"warning: {warning}", style)
        for name, entry in self.entries.items():
            value, origin = entry["value"], entry["from"]
            if style.for_people and origin != "given":
                note(f"note: {_words(name)}: {value}" + ("" if value == origin else f" ({origin})"), style)


def _words(name: str) -> str:
    """Write ``kubeletVersion`` as people say it."""
    return "".join(f" {char.lower()}" if char.isupper() else char for char in name)


def refuse_stdin_twice(*names: str | None) -> None:
    """Raise UsageError where more than one input is ``-``: only the first would get anything."""
    if names.count("-") > 1:
        message = "standard input (-) is named twice, but can be read only once"
        raise UsageError(message, hint="give the other input as a file")


def load_machine(spec: str, sources: Sources) -> MachineSource:
    """Read the machine from the source that ``-m`` names."""
    from cpuctl.machine.sources import read_machine

    sources.add("machine", spec, "live" if spec == LIVE_MACHINE else "given")
    return read_machine(spec)


def load_kubelet(words: KubeletWords, sources: Sources, *, machine: MachineSource) -> ToldKubelet:
    """Read what the kubelet is told: as given, else as the recording or the live host has it.

    Release 1.36 and an empty configuration stand in where nothing is said.
    """
    from cpuctl.capture.recorded import RecordedKubelet
    from cpuctl.cli.config_inputs import Told, load_told, read_kubelet_arguments, refuse_empty_directory

    refuse_empty_directory(words.config_dir)
    flags = read_kubelet_arguments(words.arguments, sources)
    config = words.config if words.config is not None else flags.config or None
    recorded = RecordedKubelet() if words.version and config is not None else _recorded_kubelet(machine)
    told = Told(
        version=_version(words.version, recorded, machine, sources),
        main=_configuration_text(config, recorded, machine, sources),
        config_dir=words.config_dir if words.config_dir is not None else flags.config_dir or None,
        flags=flags,
        gate_flags=_gate_flags(words.gates),
    )
    return load_told(told, sources)


def _recorded_kubelet(machine: MachineSource) -> RecordedKubelet:
    from cpuctl.capture.recorded import RecordedKubelet, recorded_kubelet

    if machine.files is None or _is_live(machine):
        return RecordedKubelet()
    try:
        return recorded_kubelet(machine.files)
    except CpuctlError as error:
        raise error.within(machine.origin) from None


def _is_live(machine: MachineSource) -> bool:
    return machine.origin == LIVE_MACHINE


def _version(
    text: str, recorded: RecordedKubelet, machine: MachineSource, sources: Sources
) -> KubeletVersion:
    from cpuctl.kubelet.version import DEFAULT_VERSION, KubeletVersion

    told = text or recorded.version
    origin = "given" if text else "capture" if told else "default"
    sources.add("kubeletVersion", told or str(DEFAULT_VERSION), origin)
    try:
        return KubeletVersion.parse(told) if told else DEFAULT_VERSION
    except ValueError as error:
        if text:
            raise UsageError(str(error), where="--kubelet-version") from None
        hint = "name another version with --kubelet-version"
        raise InputError(str(error), where=machine.origin, hint=hint) from None


def _configuration_text(
    name: str | None, recorded: RecordedKubelet, machine: MachineSource, sources: Sources
) -> tuple[bytes | str, str] | None:
    from cpuctl.documents.files import read_input, source_name

    if name is not None:
        sources.add("kubeletConfiguration", source_name(name), "given")
        return read_input(name), source_name(name)
    if recorded.overrides:
        more = ", ".join(recorded.overrides)
        sources.warnings.append(f"the recorded kubelet also goes by {more}, which cpuctl leaves out")
    if recorded.config is not None or recorded.config_refused:
        return _recorded_configuration(recorded, machine, sources)
    if _is_live(machine) and (text := _live_configuration()) is not None:
        sources.add("kubeletConfiguration", str(LIVE_CONFIG), "live")
        return text, str(LIVE_CONFIG)
    sources.add("kubeletConfiguration", "the kubelet's defaults", "default")
    return None


def _recorded_configuration(
    recorded: RecordedKubelet, machine: MachineSource, sources: Sources
) -> tuple[str, str]:
    """Take the recording's own; that it could not be recorded is no reason to assume defaults."""
    from cpuctl.machine.recording_layout import CONFIG

    if recorded.config is None:
        raise InputError(
            "it lacks the kubelet's configuration, which could not be read when it was recorded",
            where=machine.origin,
            hint="record the node as root, or name a configuration with --kubelet-config",
        )
    source = f"{machine.origin}: {CONFIG}"
    sources.add("kubeletConfiguration", source, "capture")
    return recorded.config, source


def _live_configuration() -> bytes | None:
    """Read the host's own file; one that is there and closed to us is no reason to assume defaults."""
    try:
        return LIVE_CONFIG.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        hint = "try again with sudo, or name a configuration with --kubelet-config"
        raise NodeAccessError("permission denied", where=str(LIVE_CONFIG), hint=hint) from None
    except OSError as error:
        raise unreadable(error, str(LIVE_CONFIG)) from None


def _gate_flags(text: str) -> dict[str, bool]:
    """Read ``A=true,B=false`` as the kubelet's flag of the same name."""
    return dict(_gate_flag(part) for part in text.split(",") if part)


def _gate_flag(part: str) -> tuple[str, bool]:
    from cpuctl.kubelet.golang import parse_bool

    name, _, value = part.partition("=")
    try:
        return name.strip(), parse_bool(value.strip())
    except ValueError:
        hint = "write GATE=true or GATE=false, joined by commas"
        raise UsageError(
            f"expected a gate and true or false, found {part!r}", where="--feature-gates", hint=hint
        ) from None


def load_pods(
    files: Sequence[str], templates: Sequence[str], sources: Sources, *, needed: bool = True
) -> tuple[Pod, ...]:
    """Read manifests and templates, in the order given, as the API server would hand the pods on.

    Raise UsageError where there are none although they are *needed*.
    """
    from cpuctl.documents.files import source_name
    from cpuctl.pods.defaulting import with_api_defaults
    from cpuctl.pods.identity import with_uids
    from cpuctl.pods.manifest_files import read_manifests
    from cpuctl.pods.template import pods_from_template

    if needed and not files and not templates:
        raise UsageError(
            "no pods to plan", hint="name manifests with -f PODS, or describe pods with -T web=4/4"
        )
    pods: list[Pod] = []
    if files:
        sources.add("pods", ", ".join(map(source_name, files)), "given")
        pods.extend(read_manifests(files).pods)
    for template in templates:
        pods.extend(pods_from_template(template))
    try:
        return tuple(with_api_defaults(pod) for pod in with_uids(pods))
    except ValueError as error:
        raise InputError(str(error)) from None
