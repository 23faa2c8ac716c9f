"""The options that describe the kubelet, for every command that has all of them."""

import shlex
from collections.abc import Sequence
from typing import Any

import typer

from cpuctl import option_names
from cpuctl.cli.options import (
    ConfigDirOption,
    FeatureGatesOption,
    IgnoreUnknownGatesOption,
    KubeletArgsOption,
    KubeletConfigOption,
    KubeletVersionOption,
)
from cpuctl.cli.panels import PanelledCommand, declared
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import KubeletInputs


class KubeletCommand(PanelledCommand):
    """A command with these options in addition to its own; its function gets them from ``kubelet_inputs``."""

    def __init__(self, name: str | None, *, params: list[Any], **settings: Any) -> None:  # noqa: ANN401
        self._kubelet_inputs = declared(_kubelet_inputs)
        super().__init__(name, params=[*self._kubelet_inputs, *params], **settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Let ``--pod-resources`` stand without a value: it then means the kubelet's own socket.

        Raise UsageError for a flag of the kubelet whose value is not quoted together with it.
        """
        _refuse_unquoted(args)
        arguments = list(args)
        for at in reversed([at for at, word in enumerate(arguments) if word == "--pod-resources"]):
            value = arguments[at + 1] if at + 1 < len(arguments) else "--"
            if value.startswith("-") and value != "-":
                arguments.insert(at + 1, option_names.OWN_SOCKET)
        return super().parse_args(ctx, arguments)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  # typer's types are private
        """Store the values of these options where the command's function finds them."""
        ctx.obj = self.inputs_of(ctx)
        return super().invoke(ctx)

    def inputs_of(self, ctx: Any) -> Any:  # noqa: ANN401
        """Take these options out of the arguments of the command's function."""
        return _kubelet_inputs(**{each.name: ctx.params.pop(each.name) for each in self._kubelet_inputs})


def _refuse_unquoted(words: Sequence[str]) -> None:
    """Raise UsageError for ``--kubelet-args --FLAG VALUE`` without quotes: VALUE would be an argument."""
    if option_names.KUBELET_ARGS not in words:
        return
    from cpuctl.kubelet.flags.table import FLAGS, SWITCHES

    for option, flag, value in zip(words, words[1:], words[2:], strict=False):
        forms = FLAGS.get(flag.removeprefix("--"))
        takes = forms is not None and flag.startswith("--") and forms[-1].kind not in SWITCHES
        if option == option_names.KUBELET_ARGS and takes and not value.startswith("-"):
            hint = f"join flag and value: {option_names.KUBELET_ARGS} {shlex.quote(f'{flag}={value}')}"
            raise UsageError(f"{flag} has no value", where=option_names.KUBELET_ARGS, hint=hint)


def kubelet_inputs(context: typer.Context) -> KubeletInputs:
    """Return the kubelet's settings from the command line of a ``KubeletCommand``."""
    inputs: KubeletInputs = context.obj
    return inputs


def _kubelet_inputs(
    kubelet_config: KubeletConfigOption = None,
    config_dir: ConfigDirOption = None,
    kubelet_args: KubeletArgsOption = None,
    kubelet_version: KubeletVersionOption = "",
    feature_gates: FeatureGatesOption = "",
    ignore_unknown_gates: IgnoreUnknownGatesOption = False,
) -> KubeletInputs:
    return KubeletInputs(
        config=kubelet_config,
        config_dir=config_dir,
        arguments=kubelet_args,
        version=kubelet_version,
        gates=feature_gates,
        ignores_unknown_gates=ignore_unknown_gates,
    )
