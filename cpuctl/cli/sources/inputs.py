"""Reading what a command line names, and remembering where each input came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpuctl.cli.output import Style, note
from cpuctl.cli.sources.config_inputs import LIVE_MACHINE
from cpuctl.errors import CpuctlError, InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.capture.recorded import RecordedKubelet
    from cpuctl.cli.sources.config_inputs import KubeletWords, ToldKubelet
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.machine.devices import DeviceInventory
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.limit_range import LimitRange
    from cpuctl.pods.model import Pod
    from cpuctl.pods.rules import PodRules

_GOVERNING = "ResourceQuotas are not looked at here: cpuctl pods show tells what they do"


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


def load_kubelet(words: KubeletWords, sources: Sources, *, machine: MachineSource | None) -> ToldKubelet:
    """Read what the kubelet is told: as given, else as the recording or the live host has it.

    Release 1.36 and an empty configuration stand in where nothing is said, or where no machine is named.
    """
    from cpuctl.capture.recorded import RecordedKubelet
    from cpuctl.cli.sources.config_inputs import (
        Told,
        configuration_text,
        drop_in_source,
        load_told,
        read_arguments,
        with_recorded_flags,
    )

    given = read_arguments(words.arguments)
    config = words.config if words.config is not None else given.config or None
    recorded = RecordedKubelet() if words.version and config is not None else _recorded_kubelet(machine)
    origin = machine.origin if machine else ""
    # With another file it is another kubelet: nothing that the recorded one was told counts beside it.
    own = recorded if config is None else RecordedKubelet()
    directory = words.config_dir if words.config_dir is not None else given.config_dir or None
    version = _version(words, recorded, origin, sources)
    main, beside = configuration_text(config, own, origin, sources)
    told = Told(
        version=version,
        main=main,
        beside=beside,
        drop_ins=drop_in_source(directory, own, sources),
        flags=with_recorded_flags(given, words.arguments, own, origin, sources),
        gate_flags=read_gates(words.gates),
        # Of a machine that has no kubelet, nobody asks whether its control groups suit one.
        cgroup_version=(_found_cgroup_version(machine) if recorded.known else None) or 2,
    )
    return load_told(told, sources)


def _recorded_kubelet(machine: MachineSource | None) -> RecordedKubelet:
    from cpuctl.capture.live_kubelet import live_kubelet
    from cpuctl.capture.recorded import RecordedKubelet, recorded_kubelet

    if machine is None or machine.files is None:
        return RecordedKubelet()
    if machine.origin == LIVE_MACHINE:
        return live_kubelet(machine.files)
    try:
        return recorded_kubelet(machine.files, machine.origin)
    except CpuctlError as error:
        raise error.within(machine.origin) from None


def _version(words: KubeletWords, recorded: RecordedKubelet, origin: str, sources: Sources) -> KubeletVersion:
    from cpuctl.kubelet.version import DEFAULT_VERSION, KubeletVersion

    told = words.version or recorded.version
    sources.add(
        "kubeletVersion",
        told or str(DEFAULT_VERSION),
        "given" if words.version else "capture" if told else "default",
    )
    try:
        return KubeletVersion.parse(told) if told else DEFAULT_VERSION
    except ValueError as error:
        if words.version:
            raise UsageError(str(error), where=words.version_option) from None
        hint = f"name another version with {words.version_option}"
        raise InputError(str(error), where=origin, hint=hint) from None


def read_gates(text: str, option: str = "--feature-gates") -> dict[str, bool]:
    """Read ``A=true,B=false`` as the flag of Kubernetes' components."""
    return dict(_gate(part, option) for part in text.split(",") if part)


def _gate(part: str, option: str) -> tuple[str, bool]:
    from cpuctl.kubelet.golang import parse_bool

    name, _, value = part.partition("=")
    try:
        return name.strip(), parse_bool(value.strip())
    except ValueError:
        hint = "write GATE=true or GATE=false, joined by commas"
        raise UsageError(
            f"expected a gate and true or false, found {part!r}", where=option, hint=hint
        ) from None


def load_devices(name: str, sources: Sources, *, info: MachineInfo | None = None) -> DeviceInventory | None:
    """Read what device plugins have on the node; None where no file is named: that is not known then.

    Warn where the file leaves something open, or names NUMA nodes that the machine does not have.
    """
    from cpuctl.cpuset import CPUSet
    from cpuctl.documents.files import read_input, source_name
    from cpuctl.machine.devices_file import read_devices

    if not name:
        return None
    source = source_name(name)
    sources.add("devices", source, "given")
    read = read_devices(read_input(name), source)
    if not read.in_use_known:
        sources.warnings.append(
            f"{source} does not tell what pods hold (List): all its devices are taken for free"
        )
    known = CPUSet.of(node.id for node in info.nodes if node.id >= 0) if info else read.inventory.numa_nodes
    if unknown := read.inventory.numa_nodes - known:
        sources.warnings.append(
            f"{source} names NUMA nodes that the machine does not have: {unknown}; a kubelet aligns nothing "
            "with devices there"
        )
    return read.inventory


def load_cgroup_version(text: str, machine: MachineSource | None, sources: Sources) -> int:
    """Read ``--cgroup-version``; without it what the live host or the recording has counts, else 2."""
    if text not in ("", "1", "2"):
        raise UsageError(f"expected 1 or 2, found {text!r}", where="--cgroup-version")
    if text:
        sources.add("cgroupVersion", text, "given")
        return int(text)
    found = _found_cgroup_version(machine)
    known = "live" if machine is not None and machine.origin == LIVE_MACHINE else "capture"
    sources.add("cgroupVersion", str(found or 2), known if found else "default")
    return found or 2


def _found_cgroup_version(machine: MachineSource | None) -> int | None:
    from cpuctl.cgroups.hierarchies import find_hierarchies

    if machine is None or machine.files is None:
        return None
    found = find_hierarchies(machine.files)
    return found.version if found else None


@dataclass(frozen=True, slots=True)
class GivenPods:
    """Pods as they were written, and what governs their namespaces."""

    pods: tuple[Pod, ...]
    limit_ranges: tuple[LimitRange, ...]

    def stored(self, rules: PodRules) -> tuple[Pod, ...]:
        """Return the pods as an API server hands them on."""
        from cpuctl.pods.stored import handed_pod

        return tuple(handed_pod(pod, rules, self.limit_ranges) for pod in self.pods)


def load_pods(
    files: Sequence[str], templates: Sequence[str], sources: Sources, *, needed: bool = True
) -> GivenPods:
    """Read manifests and templates, in the order given.

    Raise UsageError where there are none although they are *needed*.
    """
    from cpuctl.documents.files import source_name
    from cpuctl.pods.identity import with_uids
    from cpuctl.pods.manifest_files import read_manifests
    from cpuctl.pods.template import pods_from_template

    if needed and not files and not templates:
        raise UsageError(
            "no pods to plan", hint="name manifests with -f PODS, or describe pods with -T web=4/4"
        )
    pods: list[Pod] = []
    limit_ranges: tuple[LimitRange, ...] = ()
    if files:
        sources.add("pods", ", ".join(map(source_name, files)), "given")
        found = read_manifests(files)
        pods.extend(found.pods)
        limit_ranges = found.limit_ranges
        if found.quotas:
            sources.warnings.append(_GOVERNING)
    for template in templates:
        pods.extend(pods_from_template(template))
    try:
        return GivenPods(tuple(with_uids(pods)), limit_ranges)
    except ValueError as error:
        raise InputError(str(error)) from None
