"""The options for the pods to plan and their node, for all commands that plan pods."""

from typing import Any, ClassVar

import typer

from cpuctl.cli.kubelet_options import KubeletCommand
from cpuctl.cli.options import (
    NODE_STATE,
    AssumeDevicesOption,
    DevicesOption,
    DriverArgsOption,
    EphemeralStorageOption,
    EventsOption,
    IncludeCompletedOption,
    MachineOption,
    MemoryOption,
    PodFilesOption,
    RunningPodsOption,
    SkipApiServerOption,
    StateOption,
    TemplateOption,
)
from cpuctl.cli.panels import INPUT, declared, panel_of
from cpuctl.operations.plan_inputs import NodeOptions, PlanningInputs
from cpuctl.records import replace


class PlanningCommand(KubeletCommand):
    """A command with these options and those of the kubelet; its function gets them from ``planning_inputs``.

    ``missing`` lists the parameters that a command does not have; its own inputs are listed first or last.
    """

    missing: ClassVar[frozenset[str]] = frozenset({"events"})
    own_first: ClassVar[bool] = True

    def __init__(self, name: str | None, *, params: list[Any], **settings: Any) -> None:  # noqa: ANN401
        shared = [each for each in declared(_planning_inputs) if each.name not in self.missing]
        self._planning_inputs = [each.name for each in shared]
        own = [each for each in params if panel_of(each) == INPUT]
        others = [each for each in params if panel_of(each) != INPUT]
        inputs = [*own, *shared] if self.own_first else [*shared, *own]
        super().__init__(name, params=[*inputs, *others], **settings)

    def inputs_of(self, ctx: Any) -> PlanningInputs:  # noqa: ANN401  # typer's types are private
        """Take these options, too, out of the arguments of the command's function."""
        shared = _planning_inputs(**{name: ctx.params.pop(name) for name in self._planning_inputs})
        if "include_completed" in self.missing:
            shared = replace(shared, include_completed=None)
        return replace(shared, kubelet=super().inputs_of(ctx))


class ExplainingCommand(PlanningCommand):
    """A command that also takes past events."""

    missing = frozenset()


class ReportingCommand(PlanningCommand):
    """A command about a node as it is: state files are the node's own, whatever configures its kubelet."""

    def __init__(self, name: str | None, *, params: list[Any], **settings: Any) -> None:  # noqa: ANN401
        super().__init__(name, params=params, **settings)
        options: list[Any] = self.params
        for each in options:
            if each.name == "state":
                each.help = NODE_STATE


class ResizingCommand(PlanningCommand):
    """A command about running pods: none of them has ended."""

    missing = frozenset({"events", "include_completed"})


class EmptyNodeCommand(PlanningCommand):
    """A command that plans on an otherwise empty node."""

    missing = frozenset(
        {"state", "pods", "events", "ephemeral_storage", "skip_api_server", "include_completed"}
    )
    own_first = False


def planning_inputs(context: typer.Context, policy: str = "") -> PlanningInputs:
    """Return the inputs on the command line of a ``PlanningCommand``; *policy* replaces the kubelet's."""
    inputs: PlanningInputs = context.obj
    return replace(inputs, node=replace(inputs.node, policy=policy))


def _planning_inputs(
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    template: TemplateOption = [],  # noqa: B006
    machine: MachineOption = "live",
    state: StateOption = "",
    pods: RunningPodsOption = "",
    events: EventsOption = "",
    devices: DevicesOption = "",
    assume_devices: AssumeDevicesOption = False,
    driver_args: DriverArgsOption = "",
    ephemeral_storage: EphemeralStorageOption = "",
    memory: MemoryOption = "",
    skip_api_server: SkipApiServerOption = False,
    include_completed: IncludeCompletedOption = False,
) -> PlanningInputs:
    return PlanningInputs(
        filenames=filename,
        templates=template,
        machine=machine,
        state=state,
        pods=pods,
        events=events,
        ephemeral_storage=ephemeral_storage,
        memory=memory,
        skip_api_server=skip_api_server,
        include_completed=include_completed,
        node=NodeOptions(devices, assume_devices, driver_args),
    )
