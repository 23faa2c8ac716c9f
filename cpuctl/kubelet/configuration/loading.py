"""A kubelet's whole configuration, loaded as the kubelet loads it: main file, drop-ins, flags.

Rule: ``cmd/kubelet/app/server.go``, 1.36.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cpuctl.errors import InputError
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.configuration.decoded import (
    Layer,
    to_configuration,
    with_defaults,
    with_eviction_defaults,
)
from cpuctl.kubelet.configuration.notes import ConfigRemark, without_effect
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError, Refusal
from cpuctl.kubelet.configuration.settings import (
    OriginKind,
    Setting,
    Settings,
    ValueOrigin,
    merge_patch,
    uniform,
)
from cpuctl.kubelet.flags.kubelet_flags import STAGE as FLAGS
from cpuctl.kubelet.flags.kubelet_flags import KubeletFlags
from cpuctl.kubelet.gates.feature_gates import STAGE, BadGatesError, FeatureGates, gates_at_start
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.version import DEFAULT_VERSION, KubeletVersion
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.documents.document import PlacedText
    from cpuctl.kubelet.configuration.drop_ins import DropInSource

_VARIABLE = "KUBELET_CONFIG_DROPIN_DIR_ALPHA"
_READ_ONLY_PORT_OF_FLAGS = 10255


class ConfigSources(Record):
    """What a kubelet is started with: the main file's text and name, its drop-ins, its flags.

    ``base_directory`` is the directory to which relative paths in the main file belong, if not the file's
    own. ``places`` is another text whose lines are reported instead of the main file's.
    ``ignores_unknown_gates``: as in the kubelet of a distribution that has its own gates in the map.
    """

    main: tuple[str | bytes, str] | None = None
    base_directory: str = ""
    drop_ins: "DropInSource | None" = None
    flags: KubeletFlags = KubeletFlags()
    ignores_unknown_gates: bool = False
    places: "PlacedText | None" = None


class LoadedConfiguration(Record):
    """The configuration in force, and where every value comes from; defaults are filled in.

    ``config.feature_gates`` holds the gates of all files, ``gates_of_main_file`` those before drop-ins, which
    the kubelet also tries, and ``gate_flags`` those of flags; ``settings`` has the result.
    """

    config: KubeletConfiguration
    gates_of_main_file: dict[str, bool]
    gate_flags: Mapping[str, bool]
    settings: Settings
    warnings: tuple[ConfigRemark, ...]
    drop_ins: tuple[str, ...] = ()

    def origin(self, *path: str) -> ValueOrigin:
        """Return where a value was set; for a missing member, where its mapping was set."""
        setting: Setting | None = self.settings.get(path[0])
        origin = setting.origin if setting else ValueOrigin(OriginKind.DEFAULT)
        for name in path[1:]:
            setting = (setting.members or {}).get(name) if setting else None
            origin = setting.origin if setting else origin
        return origin


def load_configuration(
    sources: ConfigSources, version: KubeletVersion = DEFAULT_VERSION
) -> LoadedConfiguration:
    """Load a configuration; raise InputError if it cannot be read.

    If the kubelet's own words are known, it is a ConfigRefusedError that contains them.
    """
    minor, flags = version.minor, sources.flags
    _check_directory(sources, minor)
    base = Layer({})
    try:
        base = _first_base(sources, minor)
        if sources.ignores_unknown_gates:
            base, flags = _with_known_gates(base, minor), _known_flags(flags, minor)
        merged = _merged(base, sources, minor)
        if sources.ignores_unknown_gates:
            merged = _with_known_gates(merged, minor)
    except ConfigRefusedError as refused:
        _prefer_gates(base, flags, minor, refused)
        raise
    whole = merged.settings
    if behaviours(minor).defaults_after_drop_ins:
        whole = with_defaults(whole, minor)
    settings = {**whole, **flags.settings}
    return LoadedConfiguration(
        config=to_configuration(settings, **_flag_only_settings(flags)),
        gates_of_main_file=_gates(base.settings),
        gate_flags=flags.gates,
        settings=_with_gate_flags(settings, flags.gates),
        warnings=(*base.warnings, *merged.warnings, *_variable_needed(sources, minor)),
        drop_ins=merged.files,
    )


def _base(sources: ConfigSources, minor: int) -> Layer:
    """Read the main file and fill in defaults."""
    if sources.main is None:
        # Flags have their own defaults; of the fields relevant here, only this one has a different default.
        return Layer(with_defaults({"readOnlyPort": Setting(_READ_ONLY_PORT_OF_FLAGS)}, minor))

    from cpuctl.kubelet.configuration.main_file import read_main_file

    text, name = sources.main
    read = read_main_file(text, name, minor, base_directory=sources.base_directory, places=sources.places)
    return Layer(with_defaults(with_eviction_defaults(read.settings, minor), minor), read.warnings)


def _first_base(sources: ConfigSources, minor: int) -> Layer:
    """Read the main file; if it is refused, the error includes those of the drop-ins."""
    try:
        return _base(sources, minor)
    except ConfigRefusedError as refused:
        try:
            _merged(Layer(with_defaults({}, minor)), sources, minor)
        except ConfigRefusedError as later:
            raise refused.before(later) from None
        raise


def _merged(base: Layer, sources: ConfigSources, minor: int) -> Layer:
    if sources.drop_ins is None:
        return Layer(base.settings)

    from cpuctl.kubelet.configuration.drop_ins import merge_drop_ins

    return merge_drop_ins(base.settings, sources.drop_ins, minor)


def _prefer_gates(base: Layer, flags: KubeletFlags, minor: int, later: ConfigRefusedError) -> None:
    """Raise for gates if they stop the kubelet before it reaches the given error."""
    try:
        gates_at_start(minor, [_gates(base.settings)], flags.gates)
    except BadGatesError as error:
        gates = base.settings.get("featureGates")
        where = gates.origin.place if gates and error.crash else "--feature-gates"
        refusal = Refusal(STAGE, str(error), error.logged, crash=error.crash)
        raise ConfigRefusedError(str(error), refusal=refusal, where=where).before(later) from None


def _gates(settings: Settings) -> dict[str, bool]:
    gates = settings.get("featureGates")
    return {name: gate.value is True for name, gate in (gates.members or {}).items()} if gates else {}


def _with_known_gates(layer: Layer, minor: int) -> Layer:
    """Leave out the gates that a release does not know, each with a warning."""
    gates = layer.settings.get("featureGates")
    members = gates.members if gates else None
    unknown = _unknown(members or (), minor)
    if gates is None or not members or not unknown:
        return layer
    kept = gates._replace(value={name: gate for name, gate in members.items() if name not in unknown})
    warnings = (
        without_effect("gate-ignored", members[name].origin.place, f"unrecognized feature gate: {name}")
        for name in unknown
    )
    return replace(
        layer, settings={**layer.settings, "featureGates": kept}, warnings=(*layer.warnings, *warnings)
    )


def _known_flags(flags: KubeletFlags, minor: int) -> KubeletFlags:
    unknown = _unknown(flags.gates, minor)
    return replace(flags, gates={name: value for name, value in flags.gates.items() if name not in unknown})


def _unknown(names: Iterable[str], minor: int) -> list[str]:
    gates = FeatureGates(minor)
    return [name for name in names if gates.stage(name) is None and name not in ("AllAlpha", "AllBeta")]


def _check_directory(sources: ConfigSources, minor: int) -> None:
    if sources.drop_ins is not None and not behaviours(minor).drop_ins:
        text = "unknown flag: --config-dir"
        message = f"kubelet 1.{minor} has no drop-in directory"
        hint = "move the settings to the main file, and leave out the drop-in directory"
        error = InputError(message, where=sources.drop_ins.name, hint=hint)
        raise ConfigRefusedError.from_error(
            error, Refusal(FLAGS, text, f"failed to parse kubelet flag: {text}")
        )


def _variable_needed(sources: ConfigSources, minor: int) -> tuple[ConfigRemark, ...]:
    if sources.drop_ins is None or behaviours(minor).drop_ins_without_variable:
        return ()
    message = (
        f"kubelet 1.{minor} does not start with --config-dir unless the environment variable "
        f"{_VARIABLE} is set"
    )
    return (without_effect("drop-in-variable", sources.drop_ins.name, message),)


def _flag_only_settings(flags: KubeletFlags) -> dict[str, object]:
    from_flags: dict[str, object] = {"ignores_eviction_thresholds": flags.ignores_eviction_thresholds}
    return from_flags | {"root_dir": flags.root_dir} if flags.root_dir else from_flags


def _with_gate_flags(settings: Settings, gates: Mapping[str, bool]) -> Settings:
    if not gates:
        return settings
    by_flag = uniform(dict(gates), ValueOrigin(OriginKind.FLAG, "--feature-gates"))
    return {**settings, "featureGates": merge_patch(settings.get("featureGates", Setting(None)), by_flag)}
