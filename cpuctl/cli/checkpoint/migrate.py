"""``cpuctl checkpoint migrate``: state files for another release or other gates, up or down."""

from typing import TYPE_CHECKING

from cpuctl.cli.app import command_group
from cpuctl.cli.checkpoint.commit import commit
from cpuctl.cli.checkpoint.options import (
    ExitCodeOption,
    ForceRunningOption,
    MachineOrNoneOption,
    StateArgument,
    StateAsOption,
    StateRootOption,
    ToKubeletOption,
    WriteStateOption,
    YesOption,
    named_state,
)
from cpuctl.cli.options import (
    ConfigDirOption,
    FeatureGatesOption,
    ForceStateOption,
    KubeletArgsOption,
    KubeletConfigOption,
    NoColorOption,
    OutputOption,
    QuietOption,
    RunningPodsOption,
)
from cpuctl.cli.output import Document, Output, Style
from cpuctl.errors import InputError, UsageError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.kubelet import named_version, read_gates
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.operations.checkpoint.words import CheckpointInputs, CommitWords
from cpuctl.operations.state_writing import changing

if TYPE_CHECKING:
    from cpuctl.checkpoints.reader import StateReader
    from cpuctl.operations.checkpoint.changes import FileChange

app = command_group()

HELP = """Rewrite state files for a kubelet of another minor, or with other gates, up or down.

Tells what gets lost: CPUs and memory that pods hold as a whole, baselines. Refuses what the other kubelet
would not start on, and says what to do instead. The oldest format names containers by their id: --pods tells
who they are. With -m, the result is proven against that machine and its kubelet's configuration. Without
--yes nothing is written: the answer is what would change.

Examples:

\b
  cpuctl checkpoint migrate --to-kubelet 1.36                # what is lost
  cpuctl checkpoint migrate --to-kubelet 1.36 -m live --yes
  cpuctl checkpoint migrate old/ --to-kubelet 1.37 --write-state new/
  cpuctl checkpoint migrate v1/ --to-kubelet 1.37 --pods running.json

Exit codes: 0 it can be done or is done (with --exit-code 3 where something would change), 3 the other kubelet
would not start, 2 usage, 4 unusable input, 5 a kubelet runs, a file has changed meanwhile, or writing is not
permitted: nothing was changed, 6 changed and not fully restored.
"""


@app.command(name="migrate", help=HELP)
def migrate(
    state: StateArgument = "",
    state_option: StateAsOption = "",
    to_kubelet: ToKubeletOption = "",
    feature_gates: FeatureGatesOption = "",
    pods: RunningPodsOption = "",
    machine: MachineOrNoneOption = "",
    kubelet_config: KubeletConfigOption = None,
    config_dir: ConfigDirOption = None,
    kubelet_args: KubeletArgsOption = "",
    root: StateRootOption = "/",
    write_state: WriteStateOption = "",
    force: ForceStateOption = False,
    yes: YesOption = False,
    force_kubelet_running: ForceRunningOption = False,
    exit_code: ExitCodeOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read, rewrite, prove, write.

    Raise UsageError where no release to go to is named.
    """
    writing = CommitWords(
        write_state=write_state,
        force=force,
        yes=yes,
        force_running=force_kubelet_running,
        root=root,
        exit_code=exit_code,
    )
    writing.check()
    if not to_kubelet:
        raise UsageError("the release to go to is missing", where="--to-kubelet", hint="1.36, for instance")
    sources = Sources()
    words = CheckpointInputs(
        state=named_state(state, state_option),
        machine=machine,
        kubelet=KubeletInputs(
            config=kubelet_config,
            config_dir=config_dir,
            arguments=kubelet_args,
            version=to_kubelet,
            version_option="--to-kubelet",
            gates=feature_gates,
        ),
        pods=pods,
        root=root,
        in_place=yes,
    )
    told = any((machine, kubelet_config, config_dir, kubelet_args))
    with changing(write_state, in_place=yes) as lock:
        words = words._replace(lock=lock)
        changes, document = _on_node(words, writing, sources) if told else _alone(words, sources)
        document = _with_commands(document, words)
        commit(document, changes, writing, sources, Style(output, color=not no_color, quiet=quiet))


def _with_commands(document: Document, words: CheckpointInputs) -> Document:
    from cpuctl.cli.answers.checkpoint.change_answer import with_commands

    return with_commands(document, "migrate", words.spelt_out)


def _on_node(
    words: CheckpointInputs, writing: CommitWords, sources: Sources
) -> "tuple[tuple[FileChange, ...], Document]":
    """Migrate for a kubelet of which all is known."""
    from cpuctl.cli.answers.checkpoint.change_answer import change_document
    from cpuctl.operations.checkpoint.migration import migrate as migrated
    from cpuctl.operations.checkpoint.migration import proven
    from cpuctl.operations.checkpoint.states import kubelet_head, read_case, read_node

    words, node = read_node(words, sources)
    if writing.writes:
        sources.require_configuration(changes_assignments=True)
    case = read_case(words, node, sources)
    _require(len(case.states), node.source.origin)
    changes, proof = proven(migrated(case.states, case.reader), case)
    head = {"sources": sources.entries} | kubelet_head(node.kubelet, case.reader)
    return changes, change_document(changes, case.owners, head, proof)


def _alone(words: CheckpointInputs, sources: Sources) -> "tuple[tuple[FileChange, ...], Document]":
    """Migrate for a kubelet of which nothing is known but its release and gates."""
    from pathlib import Path

    from cpuctl.cli.answers.checkpoint.change_answer import change_document
    from cpuctl.inputs.state_files import StatePlace, read_states
    from cpuctl.operations.checkpoint.migration import migrate as migrated
    from cpuctl.operations.checkpoint.verdict import container_names, load_owners
    from cpuctl.pods.rules import PodRules

    refuse_stdin_twice(words.state, words.pods)
    reader = _reader(words.kubelet)
    place = StatePlace(root=Path(words.root), in_place=words.in_place, lock=words.lock)
    states = read_states(words.state, place, sources)
    _require(len(states), words.state or words.root)
    owners = load_owners(words.pods, PodRules(), sources)
    changes = migrated(states, reader._replace(initial_containers=container_names(owners)))
    kubelet = {
        "version": f"1.{reader.minor}",
        "podLevelResourceManagers": reader.pod_level_managers,
        "exclusiveResize": reader.exclusive_resize,
    }
    return changes, change_document(changes, owners, {"sources": sources.entries, "kubelet": kubelet})


def _require(files: int, where: str) -> None:
    if not files:
        hint = "without state files a kubelet of any release starts as on a fresh node"
        raise InputError("there is no state file to migrate", where=where, hint=hint)


def _reader(words: KubeletInputs) -> "StateReader":
    from cpuctl.inputs.past import reader_of_gates
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.kubelet.version import KubeletVersion

    try:
        gates = FeatureGates.for_minor(KubeletVersion.parse(named_version(words)).minor)
        return reader_of_gates(gates.with_overrides(read_gates(words.gates)))
    except ValueError as error:
        raise UsageError(str(error), where=words.version_option) from None
