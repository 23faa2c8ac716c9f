"""The subject of a command: an argument, or the option that all commands have for it.

``cpuctl audit node7.tar.xz`` is ``cpuctl audit -m node7.tar.xz``, ``cpuctl plan pods.yaml`` is
``cpuctl plan -f pods.yaml``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, NoReturn

import typer

from cpuctl import option_names
from cpuctl.cli.panels import PanelledCommand, declared
from cpuctl.errors import UsageError
from cpuctl.inputs.user_defaults import stand_in


def _machine(
    _subject: Annotated[
        str | None, typer.Argument(metavar="[SOURCE]", help="The machine, recording or node (same as -m).")
    ] = None,
) -> None:
    """Declare the argument of commands about a machine."""


def _pods(
    _subject: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PODS]...", help="Manifests (same as -f)."),
    ] = None,
) -> None:
    """Declare the argument of commands about pods."""


class Subject(Enum):
    """What the argument of a command means: the option's parameter, its name, the declaration."""

    MACHINE = ("machine", "-m", _machine)
    PODS = ("filename", "-f", _pods)

    def __init__(self, parameter: str, option: str, declaration: Callable[..., None]) -> None:
        self.parameter, self.option, self.declaration = parameter, option, declaration


_COMPARED = f"; {option_names.COMPARE} takes two values: join changes with commas, as in restricted,1.37"


class SubjectCommand(PanelledCommand):
    """A command that takes its subject as argument or option; its function has only the option."""

    subject: Subject

    def __init__(self, name: str | None, *, params: list[Any], **settings: Any) -> None:  # noqa: ANN401
        super().__init__(name, params=[*declared(self.subject.declaration), *params], **settings)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  # typer's types are private
        """Pass the argument on as the option; raise UsageError if both are given and differ."""
        given, parameter = ctx.params.pop("_subject"), self.subject.parameter
        if given or given == "":  # an empty name is not a machine, and does not mean this host
            if ctx.get_parameter_source(parameter).name == "COMMANDLINE" and ctx.params[parameter] != given:
                self._refuse(given, ctx.params[parameter], compares=bool(ctx.params.get("compare")))
            ctx.params[parameter] = given
            if self.subject is Subject.MACHINE:
                stand_in(None)
        return super().invoke(ctx)

    def _refuse(self, given: Any, other: Any, *, compares: bool) -> NoReturn:  # noqa: ANN401
        option = self.subject.option
        if self.subject is Subject.MACHINE:
            raise UsageError(
                f"conflicts with the argument {given}",
                where=f"{option} {other}",
                hint="use one of them",
            )
        raise UsageError(
            f"conflicts with the arguments {' '.join(given)}",
            where=" ".join(f"{option} {each}" for each in other),
            hint=f"use arguments or {option}, not both{_COMPARED if compares else ''}",
        )


def about(subject: Subject, cls: type[PanelledCommand] = PanelledCommand) -> type[PanelledCommand]:
    """Return the command class that also takes this subject as an argument."""
    return type(f"{cls.__name__}About{subject.name.title()}", (SubjectCommand, cls), {"subject": subject})
