"""The kubelet that a command line describes: its release and gates, configuration and control groups.

Also the gates of the API server that pods pass first. Gates with which a component would not start only cause
a warning: their effect can still be computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from cpuctl import option_names
from cpuctl.capture.recorded_kubelet import RecordedKubelet
from cpuctl.errors import CpuctlError, InputError, UsageError
from cpuctl.inputs.configuration import LIVE_MACHINE, any_flags
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.user_defaults import version_default
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.phrases import all_of
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cpuctl.answers.values import Origin
    from cpuctl.inputs.configuration import KubeletInputs, KubeletSetup, LoadedKubelet, ServerInputs
    from cpuctl.inputs.flag_files import KubeletFiles
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.kubelet.flags.kubelet_flags import KubeletFlags
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.machine.sources import MachineSource
    from cpuctl.quantity import Quantity


def load_kubelet(inputs: KubeletInputs, sources: Sources, *, machine: MachineSource | None) -> LoadedKubelet:
    """Read the kubelet's settings: those given, else those of the recording or the live host.

    The release of the live host's kubelet is that of the installed program. Release 1.36 and an empty
    configuration are the defaults if nothing is specified, or if no machine is named.
    """
    from cpuctl.inputs.assumed_release import load_assumed
    from cpuctl.inputs.configuration import (
        KubeletSetup,
        all_arguments,
        configuration_text,
        drop_in_source,
        given_arguments,
        load_setup,
        of_other_tools,
    )

    node = named_node(inputs)
    if node is not None:
        inputs = replace(inputs, version=_node_version(node))
    arguments = given_arguments(inputs.arguments)
    given = any_flags(arguments)
    origin = machine.origin if machine else ""
    recorded, files = _files(inputs, given, machine, sources)
    own, config = files.own, files.config
    version = _version(inputs, recorded, origin, sources)
    main, base_directory = configuration_text(config, own, origin, sources, data=inputs.config_data)
    places = None
    if main is not None and config is not None:
        main, arguments, places = of_other_tools(main, arguments, sources)
    combined = all_arguments(arguments, inputs.arguments, own, origin, sources)
    released = release_is_known(sources)
    setup = KubeletSetup(
        version=version,
        main=main,
        base_directory=base_directory,
        drop_ins=drop_in_source(files.directory, own, sources),
        arguments=combined,
        gate_flags=read_gates(inputs.gates),
        ignores_unknown_gates=inputs.ignores_unknown_gates,
        places=places,
        cgroup_version=found_cgroup_version(machine) or 2,
        released=released,
    )
    if machine is not None and main is None and inputs.arguments is None and setup.drop_ins is None:
        setup = _without_configuration(setup, machine, sources)
    loaded = load_setup(setup, sources) if released else load_assumed(setup, sources)
    if node is not None and machine is not None and main is not None:
        sources.warnings.extend(_disagreements(node, machine.info, loaded.kubelet.config))
    return loaded


def _disagreements(node: dict[str, Any], info: MachineInfo, config: KubeletConfiguration) -> Iterator[str]:
    """Report where a Node's status contradicts this machine or configuration."""
    from cpuctl.engine.node_resources import reservations_of_node
    from cpuctl.golang.text import GoError

    try:
        lines = {line.resource: line for line in reservations_of_node(info, config).lines}
    except GoError:
        return  # the start of such a kubelet reports it
    for resource, noun in (("cpu", "CPUs"), ("memory", "of memory")):
        there, free = (_amount_of(node, part, resource) for part in ("capacity", "allocatable"))
        line = lines.get(resource)
        if there is None or line is None or line.capacity is None:
            continue
        if resource == "cpu" and there != line.capacity:
            yield (
                f"the Node has {there} {noun}, but the machine has {line.capacity}: check that "
                "both were recorded at the same time"
            )
        elif there == line.capacity and free is not None and line.allocatable not in (None, free):
            yield (
                f"the Node has {free} {noun} allocatable, but this configuration leaves {line.allocatable}: "
                "the kubelet was started with a different configuration"
            )


def _amount_of(node: dict[str, Any], part: str, resource: str) -> Quantity | None:
    from cpuctl.quantity import Quantity

    value: Any = node
    for member in ("status", part, resource):
        value = value.get(member) if isinstance(value, dict) else None
    try:
        return Quantity.parse(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _files(
    inputs: KubeletInputs, given: KubeletFlags, machine: MachineSource | None, sources: Sources
) -> tuple[RecordedKubelet, KubeletFiles]:
    """Return the machine's own kubelet, and the files that apply: its own, or named ones."""
    from cpuctl.inputs.flag_files import (
        CONFIG_FLAG,
        FlagPaths,
        KubeletFiles,
        find_files,
        flag_paths,
        is_recording,
    )

    config = inputs.config if inputs.config is not None else given.config or None
    directory = inputs.config_dir if inputs.config_dir is not None else given.config_dir or None
    paths = flag_paths(inputs, given) if is_recording(machine) else FlagPaths()
    unused = inputs.version and config is not None and not any(paths)
    recorded = RecordedKubelet() if unused else _recorded_kubelet(machine)
    # Another file means another kubelet, to which the recorded one's settings do not apply.
    own = recorded if config is None else RecordedKubelet()
    files = KubeletFiles(own=own, config=config, directory=directory)
    if machine is not None and any(paths):
        files = find_files(files, paths, recorded, machine, sources)
    if config is not None:
        option = option_names.KUBELET_CONFIG if inputs.config is not None else CONFIG_FLAG
        _warn_of_set_aside(recorded, option, given, sources)
    return recorded, files


def _warn_of_set_aside(recorded: RecordedKubelet, option: str, given: KubeletFlags, sources: Sources) -> None:
    """Report which settings of the node's own kubelet do not apply with another configuration (*option*)."""
    flags = [flag for flag in recorded.flags or () if not {*any_flags([flag]).names} <= {*given.names}]
    drop_ins = (recorded.drop_ins or recorded.config_directory) and not given.config_dir
    own = {
        option_names.KUBELET_ARGS: f"flags ({' '.join(flags)})" if flags else "",
        option_names.CONFIG_DIR: "drop-in files" if drop_ins else "",
    }
    if ignored := {name: what for name, what in own.items() if what}:
        sources.warnings.append(
            f"with {option}, the {' and the '.join(ignored.values())} of the node's kubelet are "
            f"ignored: set them with {all_of(ignored)}"
        )


def _without_configuration(setup: KubeletSetup, machine: MachineSource, sources: Sources) -> KubeletSetup:
    """Record where no configuration was found; a machine that is only described has no such place."""
    from cpuctl.inputs.configuration import LIVE_CONFIG
    from cpuctl.kubelet.kubelet import NO_CONFIGURATION
    from cpuctl.machine.recording_layout import CONFIG

    if sources.entries["kubeletConfiguration"]["from"] != "default":
        return setup
    if machine.files is None:
        sources.described_machine = machine.origin
        return setup
    live = machine.origin == LIVE_MACHINE
    sources.assumed_configuration = str(LIVE_CONFIG) if live else f"{machine.origin}: /{CONFIG}"
    gap = f"{NO_CONFIGURATION}: {sources.assumed_configuration} does not exist"
    return replace(setup, arguments=replace(setup.arguments, gap=setup.arguments.gap or gap))


def _recorded_kubelet(machine: MachineSource | None) -> RecordedKubelet:
    if machine is None or machine.files is None:
        return RecordedKubelet()
    if machine.origin == LIVE_MACHINE:
        from cpuctl.capture.kubelet.live import live_kubelet

        return live_kubelet(machine.files)

    from cpuctl.capture.recorded import recorded_kubelet
    from cpuctl.machine.recording_layout import CONFIG

    gathered = machine.gathered
    try:
        found = recorded_kubelet(machine.files, machine.origin, gathered.config_at if gathered else CONFIG)
    except CpuctlError as error:
        raise error.within(machine.origin) from None
    if gathered is None:
        return found
    gap = found.flags_gap or ("" if found.runs else gathered.flags_gap)
    return replace(found, version=found.version or gathered.version, flags_gap=gap)


def _version(
    inputs: KubeletInputs, recorded: RecordedKubelet, origin: str, sources: Sources
) -> KubeletVersion:
    from cpuctl.kubelet.version import DEFAULT_VERSION, KubeletVersion

    version = named_version(inputs) if inputs.version else recorded.version
    known: Origin = "given" if inputs.version else "capture"
    if not version and origin == LIVE_MACHINE:
        from cpuctl.capture.kubelet.running import installed_version

        version, known = installed_version()[0], "live"
    if not version:
        version, known = inputs.fallback_version, "given"
    if not version and (default := version_default()):
        version, known = default.value, default.origin
    sources.add("kubeletVersion", version or str(DEFAULT_VERSION), known if version else "default")
    try:
        return KubeletVersion.parse(version) if version else DEFAULT_VERSION
    except ValueError as error:
        if inputs.version:
            raise UsageError(str(error), where=inputs.version_option) from None
        hint = f"specify another version with {inputs.version_option}"
        raise InputError(str(error), where=origin, hint=hint) from None


def named_version(inputs: KubeletInputs) -> str:
    """Return the release on the command line, or that of the Node in the file that it names (``@FILE``).

    Raise InputError for a file without a Node that has its kubelet's release.
    """
    node = named_node(inputs)
    return inputs.version if node is None else _node_version(node)


def named_node(inputs: KubeletInputs) -> dict[str, Any] | None:
    """Read the Node that is given instead of a release, else None; raise as ``named_version`` does."""
    if not inputs.version.startswith("@"):
        return None

    from cpuctl.documents.files import read_input, source_name
    from cpuctl.documents.loading import load_documents

    name = inputs.version[1:]
    values: list[Any] = [each.value for each in load_documents(read_input(name), source_name(name))]
    whole = [each for each in values if isinstance(each, dict)]
    listed = [item for each in whole if isinstance(each.get("items"), list) for item in each["items"]]
    nodes = [each for each in (*whole, *listed) if isinstance(each, dict) and each.get("kind") == "Node"]
    versions = [_node_version(node) for node in nodes]
    if len(versions) != 1 or not versions[0]:
        found = f"{len(nodes)} Nodes" if len(nodes) != 1 else "none with a kubelet version"
        hint = "create it with kubectl get node NODE -o json"
        raise InputError(f"expected one Node, found {found}", where=source_name(name), hint=hint)
    return nodes[0]


def _node_version(node: dict[str, Any]) -> str:
    """Read ``status.nodeInfo.kubeletVersion``."""
    value: Any = node
    for member in ("status", "nodeInfo", "kubeletVersion"):
        value = value.get(member) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def read_gates(text: str, option: str = option_names.FEATURE_GATES) -> dict[str, bool]:
    """Read ``A=true,B=false`` as the flag of Kubernetes' components."""
    return dict(_gate(part, option) for part in text.split(",") if part)


def _gate(part: str, option: str) -> tuple[str, bool]:
    from cpuctl.golang.conversions import parse_bool

    name, _, value = part.partition("=")
    try:
        return name.strip(), parse_bool(value.strip())
    except ValueError:
        hint = "write GATE=true or GATE=false, separated by commas"
        raise UsageError(
            f"expected GATE=true or GATE=false, found {part!r}", where=option, hint=hint
        ) from None


def load_cgroup_version(text: str, machine: MachineSource | None, sources: Sources) -> Literal[1, 2]:
    """Read ``--cgroup-version``; without it use the live host's or the recording's version, else 2.

    Raise UsageError for anything but 1 or 2.
    """
    if text not in ("", "1", "2"):
        raise UsageError(f"expected 1 or 2, found {text!r}", where=option_names.CGROUP_VERSION)
    if text:
        sources.add("cgroupVersion", text, "given")
        return 1 if text == "1" else 2
    found = found_cgroup_version(machine)
    known: Origin = "live" if machine is not None and machine.origin == LIVE_MACHINE else "capture"
    sources.add("cgroupVersion", str(found or 2), known if found else "default")
    return found or 2


def found_cgroup_version(machine: MachineSource | None) -> Literal[1, 2] | None:
    """Return the version of a machine's control groups, None if it is unknown."""
    from cpuctl.cgroups.hierarchies import find_hierarchies

    if machine is None or machine.files is None:
        return None
    found = find_hierarchies(machine.files)
    return found.version if found else None


def load_known_kubelet(inputs: KubeletInputs, sources: Sources, *, machine: MachineSource) -> LoadedKubelet:
    """Read the kubelet's settings, as other commands do.

    Raise UsageError if neither the command line nor the recording names its release, and no kubelet is
    installed on the live host.
    """
    try:
        loaded = load_kubelet(inputs, sources, machine=machine)
    except ConfigRefusedError:
        require_version(inputs, sources)
        raise
    require_version(inputs, sources)
    return loaded


def release_is_known(sources: Sources) -> bool:
    """Return whether the release was specified or found, not assumed."""
    return sources.origin("kubeletVersion") != "default"


def own_release_is_known(machine: MachineSource) -> bool:
    """Return whether a node shows its kubelet's release, so that it need not be specified there."""
    if machine.origin != LIVE_MACHINE:
        return bool(_recorded_kubelet(machine).version)

    from cpuctl.capture.kubelet.running import installed_version

    return bool(installed_version()[0])


def require_version(inputs: KubeletInputs, sources: Sources) -> None:
    """Raise UsageError if the kubelet's release is unknown."""
    if not release_is_known(sources):
        raise UsageError(
            "the kubelet's version is unknown, and versions read state files differently",
            hint=f"specify it with {inputs.version_option}, for example 1.36",
        )


def kubelet_gates(kubelet: Kubelet, sources: Sources) -> FeatureGates:
    """Return the gates that a kubelet runs with, or would if it started."""
    from cpuctl.kubelet.gates.feature_gates import BadGatesError, gates_at_start

    files = [kubelet.gates_of_main_file, kubelet.config.feature_gates]
    try:
        return gates_at_start(kubelet.version.minor, files, kubelet.gate_flags, patch=kubelet.version.patch)
    except BadGatesError as error:
        sources.warnings.append(f"kubelet {kubelet.version} would not start with these gates: {error}")
        known = _known(kubelet.version.minor, kubelet.gates.settings)
        return replace(known, patch=kubelet.version.patch)


def server_gates(inputs: ServerInputs, kubelet: FeatureGates, sources: Sources) -> FeatureGates:
    """Return the API server's gates: the kubelet's release and gates, unless others are specified."""
    from cpuctl.kubelet.gates.feature_gates import FeatureGates

    minor = _server_minor(inputs.version, kubelet.minor, sources)
    given = read_gates(inputs.gates, option_names.API_SERVER_GATES)
    if not given:
        return _known(minor, kubelet.settings)
    try:
        return FeatureGates.for_minor(minor).with_overrides(given)
    except ValueError as error:
        sources.warnings.append(f"API server 1.{minor} would not start with these gates: {error}")
        return _known(minor, given)


def _server_minor(text: str, of_kubelet: int, sources: Sources) -> int:
    from cpuctl.kubelet.version import NEWEST, OLDEST, KubeletVersion

    if not text:
        return of_kubelet
    sources.add("apiServerVersion", text, "given")
    try:
        return KubeletVersion.parse(text).minor
    except ValueError:
        message = f"expected a version from 1.{OLDEST} to 1.{NEWEST}, found {text!r}"
        raise UsageError(message, where=option_names.API_SERVER_VERSION) from None


def _known(minor: int, settings: Mapping[str, bool]) -> FeatureGates:
    """Set the gates that a release has; the others belong to another component."""
    from cpuctl.kubelet.gates.feature_gates import FeatureGates

    release = FeatureGates.for_minor(minor)
    return FeatureGates(minor, {name: on for name, on in settings.items() if release.stage(name)})
