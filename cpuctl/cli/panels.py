"""Help in panels: inputs, the kubelet's options, the command's own options, and output.

Options name their panel as in Typer (``rich_help_panel``); it is written as plain text here because rich
takes longer to load than most answers take. The kubelet's options are the same in most commands, and folded.
"""

from collections.abc import Callable, Iterable
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

if TYPE_CHECKING:
    from cpuctl.inputs.user_defaults import UserDefault

ARGUMENTS, INPUT, KUBELET = "Arguments", "Input", "Kubelet"
DRIVER, OPTIONS, OUTPUT = "Driver", "Options", "Output"
_ORDER = (ARGUMENTS, INPUT, KUBELET, DRIVER, OPTIONS, OUTPUT)
_UNFOLD = "--help-kubelet"


class _HelpFormatter(typer.Context.formatter_class):  # type: ignore[valid-type, misc]  # it is a variable
    """A formatter that breaks no word at a hyphen, so that options can be searched for."""

    _HYPHEN = "\N{NON-BREAKING HYPHEN}"

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", self._HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], *widths: int) -> None:
        super().write_dl([(name, text.replace("-", self._HYPHEN)) for name, text in rows], *widths)

    def getvalue(self) -> str:
        return str(super().getvalue()).replace(self._HYPHEN, "-")


class HelpContext(typer.Context):
    """The context of a command line whose help is formatted as above."""

    formatter_class = _HelpFormatter


class PanelledCommand(TyperCommand):
    """A command that lists its options in panels, those of the kubelet only if requested."""

    context_class = HelpContext

    def __init__(self, name: str | None, *, params: list[Any], **settings: Any) -> None:  # noqa: ANN401
        folds = any(panel_of(each) == KUBELET for each in params)
        params = [*params, *(declared(_unfold) if folds else ()), *_former_options(params)]
        super().__init__(name, params=params, **settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  # typer's types are private
        """Replace this host with the machine from the user's defaults, if the command would read the host."""
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            _refuse_endless(ctx)
            _deprecate(ctx)
            from cpuctl.inputs.user_defaults import stand_in

            stand_in(default := _machine_of_user(ctx))
            if default:
                ctx.params["machine"] = default.value
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401  # typer's types are private
        """List arguments as other tools do: without braces, optional ones in brackets."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  # typer's types are private
        """Write one section per panel; list only the names of the kubelet's options."""
        for panel, parameters in in_panels(self.get_params(ctx)).items():
            with formatter.section(panel):
                if panel == KUBELET:
                    formatter.write_text(_folded(parameters))
                else:
                    formatter.write_dl([each.get_help_record(ctx) for each in parameters])


class _FormerOption(TyperOption):
    """A deprecated name of an option: it passes its value on, and appears in no help."""

    def __init__(self, name: str, option: Any) -> None:  # noqa: ANN401
        super().__init__(
            param_decls=[name.lstrip("-").replace("-", "_") + "_before", name],
            type=option.type,
            is_flag=option.is_flag,
            multiple=option.multiple,
            hidden=True,
            expose_value=False,
            is_eager=True,
        )
        self.option = option

    def handle_parse_result(self, ctx: Any, opts: Any, args: list[str]) -> Any:  # noqa: ANN401
        """Use the value for the current option; raise UsageError if both names are given."""
        if self.name in opts:
            former, name = self.opts[0], self.option.opts[-1]
            if self.option.name in opts:
                from cpuctl.errors import UsageError

                raise UsageError(f"is the old name of {name}", where=former, hint=f"use only {name}")
            opts[self.option.name] = opts.pop(self.name)
            ctx.meta.setdefault(_FormerOption.__name__, []).append((former, name))
        return super().handle_parse_result(ctx, opts, args)


def _former_options(params: Iterable[Any]) -> list[_FormerOption]:
    """Return the former names of a command's options, except those that now mean something else."""
    from cpuctl.option_names import FORMER_NAMES

    options = {name: each for each in params for name in each.opts}
    return [
        _FormerOption(former, options[name])
        for former, name in FORMER_NAMES
        if name in options and former not in options
    ]


def _refuse_endless(ctx: Any) -> None:  # noqa: ANN401
    """Raise UsageError for nan and infinity, which Python parses as numbers and ranges do not exclude."""
    for option in ctx.command.params:
        value = ctx.params.get(option.name)
        if isinstance(value, float) and not isfinite(value):
            from cpuctl.errors import UsageError

            raise UsageError(f"expected a number, found {value}", where=option.opts[-1])


def _deprecate(ctx: Any) -> None:  # noqa: ANN401
    """Warn about deprecated option names."""
    if ctx.params.get("quiet"):
        return
    from cpuctl.cli.output import complain

    for former, name in ctx.meta.get(_FormerOption.__name__, ()):
        complain(f"warning: {former} is deprecated, use {name} instead")


def _machine_of_user(ctx: Any) -> "UserDefault | None":  # noqa: ANN401
    """Return the machine that replaces this host; None if the command line names a machine or directory."""
    from cpuctl.inputs.user_defaults import user_default

    named = [name for name in ("machine", "root") if ctx.get_parameter_source(name) is not None]
    is_named = any(ctx.get_parameter_source(name).name == "COMMANDLINE" for name in named)
    return None if is_named or ctx.params.get("machine") != "live" else user_default("machine")


def _folded(parameters: Iterable[Any]) -> str:
    """List options without explaining them."""
    names = [each.opts[-1] for each in parameters if _UNFOLD not in each.opts]
    return f"{_UNFOLD} explains {', '.join(names)}."


def _explain_kubelet(ctx: typer.Context, wanted: bool) -> None:
    """Print the usage, and the options that are otherwise folded."""
    if not wanted or ctx.resilient_parsing:
        return
    formatter = ctx.make_formatter()
    ctx.command.format_usage(ctx, formatter)
    with formatter.section(KUBELET):
        options = in_panels(ctx.command.get_params(ctx))[KUBELET]
        formatter.write_dl([each.get_help_record(ctx) for each in options])
    typer.echo(formatter.getvalue().rstrip("\n"))
    raise typer.Exit


def _unfold(
    _wanted: Annotated[
        bool,
        typer.Option(
            _UNFOLD,
            help="Explain the kubelet options, and exit.",
            callback=_explain_kubelet,
            is_eager=True,
            expose_value=False,
            rich_help_panel=KUBELET,
        ),
    ] = False,
) -> None:
    """Declare the option that shows the kubelet's options."""


def declared(function: Callable[..., object]) -> list[Any]:
    """Return the parameters that typer makes from a function's signature."""
    app = typer.Typer(add_completion=False)
    app.command()(function)
    command: Any = typer.main.get_command(app)
    return list(command.params)


def panel_of(parameter: Any) -> str:  # noqa: ANN401
    """Return the panel of an argument or option."""
    if parameter.param_type_name == "argument":
        return ARGUMENTS
    return getattr(parameter, "rich_help_panel", None) or OPTIONS


def in_panels(parameters: Iterable[Any]) -> dict[str, list[Any]]:
    """Sort a command's parameters into panels, in their order, with ``--help`` last."""
    *shown, show_help = [each for each in parameters if not getattr(each, "hidden", False)]
    panels = {panel: [each for each in shown if panel_of(each) == panel] for panel in _ORDER}
    filled = {panel: members for panel, members in panels.items() if members}
    *_, last = (OPTIONS, *(panel for panel in filled if panel != ARGUMENTS))
    filled.setdefault(last, []).append(show_help)
    return filled
