"""The options that say what the kubelet is told, as one parameter of a command."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from cpuctl.cli.options import (
    ConfigDirOption,
    FeatureGatesOption,
    IgnoreUnknownGatesOption,
    KubeletArgsOption,
    KubeletConfigOption,
    KubeletVersionOption,
)
from cpuctl.inputs.configuration import KubeletWords

NOTHING_TOLD = KubeletWords()
"""The default of the parameter ``kubelet``: none of its options is given."""

_PARAMETER = "kubelet"
_OPTIONS: tuple[tuple[str, str, Any, Any], ...] = (
    ("kubelet_config", "config", KubeletConfigOption, None),
    ("config_dir", "config_dir", ConfigDirOption, None),
    ("kubelet_args", "arguments", KubeletArgsOption, ""),
    ("kubelet_version", "version", KubeletVersionOption, ""),
    ("feature_gates", "gates", FeatureGatesOption, ""),
    ("ignore_unknown_gates", "ignores_unknown_gates", IgnoreUnknownGatesOption, False),
)


def with_kubelet_options(command: Callable[..., None]) -> Callable[..., None]:
    """Offer these options in the place of the parameter ``kubelet``, and hand them over as its value."""

    @wraps(command)
    def called(**given: Any) -> None:  # noqa: ANN401  # whatever the other options are
        words = {field: given.pop(name) for name, field, _, _ in _OPTIONS}
        command(**given, kubelet=KubeletWords(**words))

    offered = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default)
        for name, _, annotation, default in _OPTIONS
    ]
    own = signature(command)
    parameters = [
        each
        for parameter in own.parameters.values()
        for each in (offered if parameter.name == _PARAMETER else [parameter])
    ]
    # This is what typer reads.
    vars(called)["__signature__"] = own.replace(parameters=parameters)
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called
