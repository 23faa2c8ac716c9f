"""Command lines to run next: they name what the previous one named, and more.

What was read from standard input is ``FILE`` in them, to be replaced like other words in capitals:
``VERSION`` is an unknown kubelet version, if a command does not work without it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.documents.files import STDIN, file_argument
from cpuctl.inputs.configuration import LIVE_MACHINE
from cpuctl.phrases import REPAIR_STEPS
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.engine.node import Node
    from cpuctl.engine.start import NotStarted
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.live_node import NodeInputs
    from cpuctl.inputs.state_files import CheckpointInputs
    from cpuctl.operations.advice import AdviceOptions
    from cpuctl.operations.plan import Plan, Planner
    from cpuctl.operations.plan_inputs import Planning, PlanningInputs

_PROPOSED = (
    r"(?P<command>(?:cpuctl checkpoint|sudo cpuctl) (?P<verb>verify|repair|migrate|audit)"
    r"(?: --to \S+)?)"
    r"(?P<whose> --pods FILE)?"
)
CONFIG_CHECK = "cpuctl config check"
"""The command proposed if settings keep a kubelet from starting; the given options are added."""
RESERVE_CPUS = "cpuctl config reserve --cpu-count"
"""The command proposed if no CPU is reserved; the count follows."""
_RESERVED = "--reserved-memory"
_EXPLAINING = r"cpuctl explain (?P<pod>\S+) --pods FILE"
_OF_KUBELET = f"{CONFIG_CHECK}|{RESERVE_CPUS} [0-9]+|cpuctl config reserve"


STARTS = ("check", "--check", "config,state")
"""The arguments of ``cpuctl fleet`` that show why kubelets would not start."""
PUBLISHES = ("list", "-o", "nrt")
"""The arguments of ``cpuctl fleet`` that show what exporters would publish."""


def planning_command(inputs: PlanningInputs, verb: Sequence[str], flags: Sequence[str] = ()) -> str:
    """Write the command line for the same question, or another, with additional kubelet flags."""
    return shlex.join([*_cpuctl(inputs), *verb, *planning_options(inputs, flags), *pods_options(inputs)])


def _cpuctl(inputs: PlanningInputs) -> tuple[str, ...]:
    return ("sudo", "cpuctl") if inputs.as_root else ("cpuctl",)


def planning_options(inputs: PlanningInputs, flags: Sequence[str] = ()) -> Iterator[str]:
    """Yield all options of a question except new pods, with additional kubelet flags."""
    yield from _options(inputs, flags)
    if inputs.skip_api_server:
        yield option_names.SKIP_API_SERVER
    if inputs.include_completed:
        yield option_names.INCLUDE_COMPLETED
    if inputs.node.assume_devices:
        yield option_names.ASSUME_DEVICES
    if inputs.node.driver_arguments:
        yield from (option_names.DRIVER_ARGS, inputs.node.driver_arguments)


def pods_options(inputs: PlanningInputs) -> Iterator[str]:
    """Yield the options that name new pods."""
    yield from _manifests(inputs)
    yield from (word for template in inputs.templates for word in ("-T", template))


def assuming_command(planning: Planning, node: Node, verb: Sequence[str]) -> str:
    """Write the same command line, but assuming enough of the undescribed devices.

    Return an empty text if all requested devices are described.
    """
    inputs = planning.inputs
    served = node.claims is not None
    requested = (
        each for pod in planning.incoming for each in node.devices.unknown(pod, claims_served=served)
    )
    if not any("/" in each for each in requested):
        return ""
    return planning_command(replace(inputs, node=replace(inputs.node, assume_devices=True)), verb)


def claims_command(planning: Planning) -> str:
    """Write the command line that shows the devices of a node, from which its claims can request."""
    from cpuctl.inputs.dra import driver_options

    inputs = planning.inputs
    node = node_options(inputs.machine, inputs.kubelet, (), {})
    return shlex.join(["cpuctl", "dra", "slices", *node, *driver_options(inputs.node.driver_arguments)])


def advise_command(planning: Planning) -> str:
    """Write the command line that finds settings for the same pods, if any were named."""
    inputs = planning.inputs
    if not (inputs.filenames or inputs.templates or inputs.pods):
        return ""
    return planning_command(_without_state(inputs), ("advise",))


def _without_state(inputs: PlanningInputs) -> PlanningInputs:
    """Return the inputs of a command that reads no state files, for which it would have to be root."""
    return replace(inputs, state="", as_root=False)


def snippet_command(inputs: PlanningInputs, search: AdviceOptions, row: int) -> str:
    """Write the command line that makes the same search for settings and prints one row of its result."""
    from cpuctl.operations.advice import BUDGET

    flags = [word for name in sorted(search.keep) for word in (option_names.KEEP, name)]
    flags += ["--what-if"] if search.what_if else []
    flags += ["--budget", str(search.budget)] if search.budget != BUDGET else []
    command = planning_command(_without_state(inputs), ("advise",))
    return f"{command} {shlex.join([*flags, '--snippet', str(row)])}"


def explain_command(planner: Planner, plan: Plan, inputs: PlanningInputs, flags: Sequence[str] = ()) -> str:
    """Write the command line that explains the first rejected pod, if it would reach the same decision."""
    from cpuctl.engine.ordering import PodOrder

    refused = plan.refused
    # The first copies are the pods themselves.
    first = plan.repetition is None or plan.repetition.fitted == 0
    if refused is None or not first or planner.options.order is not PodOrder.GIVEN:
        return ""
    equivalent = [each.pod.uid for each in plan.admissions if each.pod.full_name == refused.full_name]
    name = refused.full_name if len(equivalent) == 1 else refused.uid
    return planning_command(inputs, ("explain", name), flags)


def capacity_command(planner: Planner, plan: Plan) -> str:
    """Write the command line that shows what is left besides the same copies, if one was rejected."""
    from cpuctl.engine.ordering import PodOrder

    options = planner.options
    if plan.refused is None or options.rounds is None or options.capacity:
        return ""
    again = options.order is PodOrder.GIVEN
    flags = (option_names.CAPACITY, option_names.REPEAT, str(options.rounds))
    return planning_command(planner.planning.inputs, ("plan", *flags)) if again else ""


def lint_command(inputs: PlanningInputs) -> str:
    """Write the command line that shows where manifests break rules of the API server, if any were named."""
    named = _manifests(inputs)
    return kubelet_command(("pods", "lint", *named), inputs.machine, inputs.kubelet) if named else ""


def check_command(planning: Planning, start: NotStarted, flags: Sequence[str] = ()) -> str:
    """Write the command line that shows why a kubelet does not start, and what to change.

    It checks the state files if one of them is the obstacle, else the configuration.
    """
    from cpuctl.engine.state_start import fails_on_files

    of_files = bool(planning.initial.texts) and fails_on_files(start, planning.source.info, planning.kubelet)
    return start_command(planning.inputs, of_files=of_files, flags=flags)


def start_command(inputs: PlanningInputs, *, of_files: bool, flags: Sequence[str] = ()) -> str:
    """Write the command line that shows why a kubelet does not start: from its state files, or at all."""
    if of_files:
        state = file_argument(inputs.state)
        more = {option_names.PODS: inputs.pods, option_names.MEMORY: inputs.memory}
        options = node_options(inputs.machine, inputs.kubelet, flags, more)
        verify = (*_cpuctl(inputs), "checkpoint", "verify")
        return shlex.join([*verify, *([state] if state else []), *options])
    # The check is about the configuration, not about the pods.
    without = replace(inputs, pods="", node=replace(inputs.node, devices="", policy=""))
    if inputs.state == option_names.NO_STATE:
        without = replace(without, state="")
    return shlex.join([*_cpuctl(inputs), "config", "check", *_options(without, flags)])


def kubelet_command(
    verb: Sequence[str], machine: str, kubelet: KubeletInputs, memory: str = "", flags: Sequence[str] = ()
) -> str:
    """Write a command line about a machine and its kubelet's settings, with additional flags."""
    options = node_options(machine, kubelet, flags, {option_names.MEMORY: memory})
    return shlex.join(["cpuctl", *verb, *options])


def pods_diff_command(
    filenames: Sequence[str], machine: str, kubelet: KubeletInputs, memory: str, before: str, after: str
) -> str:
    """Write the command line that compares the pods of files on two releases, empty if none can.

    It takes a single file, but no must-gather, and a kubelet's settings only from files and gates.
    """
    from cpuctl.machine.sources import with_node

    if len(filenames) != 1 or STDIN in (*filenames, kubelet.config) or with_node(filenames[0])[1]:
        return ""
    if kubelet.config_dir is not None or kubelet.arguments:
        return ""
    verb = ("pods", "diff", "-f", *filenames, option_names.TO, after)
    # Without flags, its arguments are empty.
    kubelet = replace(kubelet, version=before, arguments=None, ignores_unknown_gates=False)
    return kubelet_command(verb, machine, kubelet, memory)


def fleet_command(
    verb: Sequence[str],
    recordings: Sequence[str],
    kubelet: KubeletInputs,
    nodes: str = "",
    pods: str = "",
) -> str:
    """Write a command line about the same recordings, with the same settings of their kubelets."""
    names = ("@FILE" if name in (STDIN, f"@{STDIN}") else name for name in recordings)
    command = kubelet_command(("fleet", *verb, *names), "", kubelet)
    objects = shlex.join(_words({option_names.NODES: nodes, option_names.PODS: pods}))
    return f"{command} {objects}" if objects else command


def _manifests(inputs: PlanningInputs) -> list[str]:
    return [word for name in inputs.filenames for word in ("-f", file_argument(name))]


def _words(options: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the options that have a value; without flags, a kubelet has none rather than unknown ones."""
    for option, value in options.items():
        if option == option_names.KUBELET_ARGS and value == "":
            yield from (option, value)
        elif value:
            yield from (option, "@FILE" if value == f"@{STDIN}" else file_argument(value))


def _machine(name: str) -> str:
    """Name a machine; this host only if the command would not use it by default."""
    from cpuctl.inputs.user_defaults import user_default

    return "" if name == LIVE_MACHINE and user_default("machine") is None else name


def node_options(
    machine: str, kubelet: KubeletInputs, flags: Sequence[str], more: Mapping[str, str | None]
) -> Iterator[str]:
    """Yield the options that name a machine and configure its kubelet, with additional flags and options."""
    options = {
        "-m": _machine(machine),
        option_names.KUBELET_CONFIG: kubelet.config,
        option_names.CONFIG_DIR: kubelet.config_dir,
        option_names.KUBELET_ARGS: _with_flags(_from_file(kubelet.arguments), flags),
        option_names.KUBELET_VERSION: kubelet.version,
        option_names.FEATURE_GATES: kubelet.gates,
    }
    yield from _words({**options, **more})
    if kubelet.ignores_unknown_gates:
        yield option_names.IGNORE_UNKNOWN_GATES


def _options(inputs: PlanningInputs, flags: Sequence[str] = ()) -> Iterator[str]:
    """Yield the options of a command about the same node."""
    more = {
        option_names.STATE: inputs.state,
        option_names.PODS: inputs.pods,
        option_names.STORAGE: inputs.ephemeral_storage,
        option_names.MEMORY: inputs.memory,
        option_names.DEVICES: inputs.node.devices,
        option_names.POLICY: inputs.node.policy,
    }
    return node_options(inputs.machine, inputs.kubelet, flags, more)


def _with_flags(arguments: str | None, flags: Sequence[str]) -> str | None:
    """Append flags to a kubelet's command line, in place of what it has for the same ones."""
    if not flags:
        return arguments

    from cpuctl.inputs.configuration import given_arguments
    from cpuctl.kubelet.flags.table import FLAGS

    # Repeated flags of other kinds, such as options, add up. So do reservations, but one of the same memory
    # twice is an error, and a proposal has all of them.
    single = {f"--{name}" for name, forms in FLAGS.items() if forms[-1].kind == "string"} | {_RESERVED}
    replaced = single.intersection(flag.partition("=")[0] for flag in flags)
    given = given_arguments(arguments)
    if not replaced.intersection(word.partition("=")[0] for word in given):
        return " ".join(filter(None, (arguments, *map(_quoted, flags))))
    kept = []
    words = iter(given)
    for word in words:
        name, separate, _ = word.partition("=")
        if name not in replaced:
            kept.append(word)
        elif not separate:
            next(words, None)
    return " ".join(map(_quoted, (*kept, *flags)))


def _quoted(flag: str) -> str:
    """Quote a flag's value, in double quotes if possible: the flags together are quoted again."""
    name, equals, value = flag.partition("=")
    if shlex.quote(flag) == flag or not equals or any(char in '"$`\\!' for char in value):
        return shlex.quote(flag)
    return f'{shlex.quote(name)}="{value}"'


def _from_file(arguments: str | None) -> str | None:
    """Write a command line that is in a file, so that more can be appended."""
    from cpuctl.inputs.configuration import given_arguments

    from_file = arguments is not None and arguments.startswith("@")
    return shlex.join(given_arguments(arguments)) if from_file else arguments


def audit_command(inputs: NodeInputs) -> str:
    """Write the command line that audits the same node, which needs root if that is this host."""
    from cpuctl.inputs.state_files import CheckpointInputs

    here = inputs.machine == LIVE_MACHINE and inputs.root in ("", "/")
    requested = CheckpointInputs(
        state=inputs.state,
        machine=_machine(inputs.machine),
        kubelet=inputs.kubelet,
        pods=inputs.pods,
        root=inputs.root or "/",
    )
    command = checkpoint_commands(requested)("sudo cpuctl audit")
    return command if here else command.removeprefix("sudo ")


def checkpoint_commands(
    inputs: CheckpointInputs, *, released: bool = True, root_dir: str = ""
) -> Callable[[str], str]:
    """Return a function that adds the given options to the cpuctl command that a fix proposes.

    *released* is False if neither the options nor the node show the kubelet's release. *root_dir* is the
    kubelet's setting, empty if it is unknown here.
    """

    def spelt_out(proposed: re.Match[str]) -> str:
        given = _checkpoint_options(inputs, proposed["verb"], released=released)
        command = shlex.join([*proposed["command"].split(), *given])
        return command if inputs.pods else f"{command}{proposed['whose'] or ''}"

    def spelt_out_all(text: str) -> str:
        from cpuctl.inputs.state_files import is_recording

        below = inputs.root if inputs.root != "/" else ""
        recording = inputs.state if is_recording(inputs.state) else ""
        steps = ""
        if recording or not inputs.state:
            text, steps = _steps_on_node(text, inputs.kubelet)
        machine = inputs.machine or recording or below or LIVE_MACHINE
        of_kubelet = partial(_of_kubelet, machine, inputs)
        text = re.sub(_EXPLAINING, partial(_explaining, machine, inputs, root_dir), text)
        return re.sub(_OF_KUBELET, of_kubelet, re.sub(_PROPOSED, spelt_out, text)) + steps

    return spelt_out_all


def _steps_on_node(text: str, kubelet: KubeletInputs) -> tuple[str, str]:
    """Split off the steps that repair a node's own files, which are only changed there."""
    change, steps, _ = text.partition(f"then {REPAIR_STEPS}")
    if not steps:
        return text, ""
    release = shlex.join(_words({option_names.KUBELET_VERSION: kubelet.version or None}))
    command = f"checkpoint repair {release}".rstrip()
    return change, f"then, on the node, {REPAIR_STEPS.replace('checkpoint repair', command)}"


def _of_kubelet(machine: str, inputs: CheckpointInputs, proposed: re.Match[str]) -> str:
    checks = proposed[0] == CONFIG_CHECK and inputs.state != machine
    more = {option_names.MEMORY: inputs.memory, option_names.STATE: inputs.state if checks else ""}
    return shlex.join([*proposed[0].split(), *node_options(machine, inputs.kubelet, (), more)])


def _explaining(machine: str, inputs: CheckpointInputs, root_dir: str, proposed: re.Match[str]) -> str:
    state = inputs.state if inputs.state != machine else ""
    own = not state
    if own and inputs.kubelet.config is not None:
        # With another configuration, a node's own files are only used if they are named.
        from cpuctl.inputs.state_files import own_directory

        here = own_directory(root_dir) if root_dir else own_directory()
        state = here if machine == LIVE_MACHINE else machine
    more = {
        option_names.STATE: state,
        option_names.PODS: inputs.pods or "FILE",
        option_names.MEMORY: inputs.memory,
    }
    root = ("sudo",) if machine == LIVE_MACHINE and own else ()
    options = node_options(machine, inputs.kubelet, (), more)
    return shlex.join([*root, "cpuctl", "explain", proposed["pod"], *options])


def on_node_command(verb: Sequence[str], inputs: CheckpointInputs, *, writes: bool = True) -> str:
    """Write the command line that changes the files of a recorded node there, with the same options.

    Unless it *writes*, it only shows the changes. Files named here are ``FILE`` and ``DIR`` in it: their
    paths there are not known.
    """
    kubelet, migrates = inputs.kubelet, verb[0] == "migrate"
    arguments = kubelet.arguments
    of_file = arguments is not None and arguments.startswith("@")
    options = {
        "-m": LIVE_MACHINE if migrates else "",
        option_names.KUBELET_CONFIG: "FILE" if kubelet.config else "",
        option_names.CONFIG_DIR: "DIR" if kubelet.config_dir else "",
        option_names.KUBELET_ARGS: "@FILE" if of_file else arguments,
        option_names.KUBELET_VERSION: "" if migrates else kubelet.version,
        option_names.FEATURE_GATES: kubelet.gates,
        option_names.PODS: "FILE" if inputs.pods else "",
    }
    unknown = [option_names.IGNORE_UNKNOWN_GATES] if kubelet.ignores_unknown_gates and not migrates else []
    words = ["sudo", "cpuctl", "checkpoint", *verb, *_words(options), *unknown]
    return shlex.join([*words, option_names.YES] if writes else words)


def _checkpoint_options(inputs: CheckpointInputs, verb: str, *, released: bool) -> Iterator[str]:
    kubelet = inputs.kubelet
    configured = any((kubelet.config is not None, kubelet.config_dir, kubelet.arguments is not None))
    migrates, asks = verb == "migrate", verb != "audit"
    below = inputs.root if inputs.root != "/" else ""
    machine = inputs.machine or (below if verb == "verify" else "")
    if migrates and configured:
        machine = machine or LIVE_MACHINE
    options = {
        "-m": "" if machine == LIVE_MACHINE and not migrates else machine,
        option_names.ROOT: "" if verb == "verify" else below,
        option_names.KUBELET_CONFIG: kubelet.config,
        option_names.CONFIG_DIR: kubelet.config_dir,
        option_names.KUBELET_ARGS: kubelet.arguments,
        option_names.KUBELET_VERSION: ""
        if migrates
        else kubelet.version or ("VERSION" if verb == "repair" and not released else ""),
        option_names.FEATURE_GATES: kubelet.gates,
        option_names.PODS: inputs.pods,
        option_names.MEMORY: inputs.memory,
    }
    if state := file_argument(inputs.state):
        yield from (state,) if asks else (option_names.STATE, state)
    yield from _words(options)
    if kubelet.ignores_unknown_gates and not migrates:
        yield option_names.IGNORE_UNKNOWN_GATES
