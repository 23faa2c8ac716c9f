"""Reading what a command line names, and remembering where each input came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl.cli.output import Style, note
from cpuctl.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.engine.start import Kubelet
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.model import Pod

LIVE_CONFIG = Path("/var/lib/kubelet/config.yaml")
"""Where kubeadm and most distributions put the kubelet's main configuration file."""


@dataclass(slots=True)
class Sources:
    """Where every input came from: given on the command line, taken from the live host, or a default."""

    entries: dict[str, dict[str, str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, name: str, value: str, origin: str) -> None:
        """Remember one input; *origin* is ``given``, ``live`` or ``default``."""
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
                note(f"note: {name}: {value}" + ("" if value == origin else f" ({origin})"), style)


def load_machine(spec: str, sources: Sources) -> MachineSource:
    """Read the machine from the source that ``-m`` names."""
    from cpuctl.machine.sources import read_machine

    sources.add("machine", spec, "live" if spec == "live" else "given")
    return read_machine(spec)


def load_kubelet(config: str, version: str, gates: str, sources: Sources, *, live: bool) -> Kubelet:
    """Read what the kubelet is told; release 1.36 and an empty configuration where nothing is said."""
    from cpuctl.engine.start import Kubelet

    release = _version(version, sources)
    told = _configuration(config, sources, live=live)
    return Kubelet(version=release, config=told, gate_flags=_gate_flags(gates))


def _version(text: str, sources: Sources) -> KubeletVersion:
    from cpuctl.kubelet.version import DEFAULT_VERSION, KubeletVersion

    sources.add("kubelet version", text or str(DEFAULT_VERSION), "given" if text else "default")
    try:
        return KubeletVersion.parse(text) if text else DEFAULT_VERSION
    except ValueError as error:
        raise UsageError(str(error), where="--kubelet-version") from None


def _configuration(name: str, sources: Sources, *, live: bool) -> KubeletConfiguration:
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.documents.files import read_input, source_name
    from cpuctl.kubelet.config_file import read_kubelet_config

    if name:
        sources.add("kubelet configuration", name, "given")
    elif live and LIVE_CONFIG.exists():
        sources.add("kubelet configuration", str(LIVE_CONFIG), "live")
        name = str(LIVE_CONFIG)
    else:
        sources.add("kubelet configuration", "the kubelet's defaults", "default")
        return KubeletConfiguration()
    read = read_kubelet_config(read_input(name), source_name(name))
    sources.warnings.extend(read.warnings)
    return read.config


def _gate_flags(text: str) -> dict[str, bool]:
    """Read ``A=true,B=false`` as the kubelet's flag of the same name."""
    try:
        return dict(_gate_flag(part) for part in text.split(",") if part)
    except ValueError as error:
        hint = "write GATE=true or GATE=false, joined by commas"
        raise UsageError(str(error), where="--feature-gates", hint=hint) from None


def _gate_flag(part: str) -> tuple[str, bool]:
    from cpuctl.kubelet.golang import parse_bool

    name, equals, value = part.partition("=")
    if not equals:
        raise ValueError(f"missing bool value for {part}")
    return name.strip(), parse_bool(value.strip())


def load_pods(files: Sequence[str], templates: Sequence[str], sources: Sources) -> tuple[Pod, ...]:
    """Read manifests and templates, in the order given, as the API server would hand the pods on."""
    from cpuctl.pods.defaulting import with_api_defaults
    from cpuctl.pods.identity import with_uids
    from cpuctl.pods.manifest_files import read_manifests
    from cpuctl.pods.template import pods_from_template

    if not files and not templates:
        raise UsageError(
            "no pods to plan", hint="name manifests with -f PODS, or describe pods with -T web=4/4"
        )
    pods: list[Pod] = []
    if files:
        sources.add("pods", ", ".join(files), "given")
        pods.extend(read_manifests(files).pods)
    for template in templates:
        pods.extend(pods_from_template(template))
    try:
        return tuple(with_api_defaults(pod) for pod in with_uids(pods))
    except ValueError as error:
        raise InputError(str(error)) from None
