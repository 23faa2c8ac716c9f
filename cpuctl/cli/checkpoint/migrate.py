"""``cpuctl checkpoint migrate``: state files for another release or other feature gates, newer or older."""

from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.cli.app import command_group
from cpuctl.cli.checkpoint.commit import CommitOptions, answering_unloaded, commit
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
    MemoryOption,
    NoColorOption,
    OutputOption,
    QuietOption,
    RunningPodsOption,
)
from cpuctl.cli.output import Output, Style
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.state_files import CheckpointInputs
from cpuctl.operations.state_writing import changing
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import CheckpointChange
    from cpuctl.operations.checkpoint.migration import Migration

app = command_group()

HELP = """Rewrite state files for another kubelet version, newer or older.

Also converts them for other feature gates. Shows what is lost: pod-level CPUs and memory, and the CPUs
guaranteed at admission. If the other kubelet would not start with the result, writes nothing and shows what
to do instead. The oldest format has container IDs instead of names: --pods maps them. With -m, the result is
verified on that machine with its kubelet's configuration. Without --yes or --write-state, nothing is written;
the output shows what would change.

Examples:

\b
  sudo cpuctl checkpoint migrate --to 1.36           # what is lost
  sudo cpuctl checkpoint migrate --to 1.36 -m live --yes
  cpuctl checkpoint migrate old/ --to 1.37 --write-state new/
  cpuctl checkpoint migrate v1/ --to 1.37 --pods running.json

Exit codes: 0 possible or done (with --exit-code 3 if something would change), 3 the other kubelet would not
start, 2 usage, 4 unusable input, 5 a kubelet is running, a file has changed in the meantime, or writing is
not permitted: nothing was changed, 6 changed and not fully restored.
"""


@app.command(name="migrate", help=HELP)
def migrate(
    state: StateArgument = "",
    state_option: StateAsOption = "",
    to_kubelet: ToKubeletOption = "",
    feature_gates: FeatureGatesOption = "",
    pods: RunningPodsOption = "",
    machine: MachineOrNoneOption = "",
    memory: MemoryOption = "",
    kubelet_config: KubeletConfigOption = None,
    config_dir: ConfigDirOption = None,
    kubelet_args: KubeletArgsOption = None,
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
    """Read the files, rewrite them, verify the result and write it.

    Raise UsageError if no target release is named.
    """
    writing = CommitOptions(
        write_state=write_state,
        force=force,
        yes=yes,
        force_running=force_kubelet_running,
        root=root,
        exit_code=exit_code,
    )
    writing.check()
    if not to_kubelet:
        hint = "set it, for example --to 1.36"
        raise UsageError("the target version is missing", where=option_names.TO, hint=hint)
    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    inputs = CheckpointInputs(
        state=named_state(state, state_option),
        machine=machine,
        kubelet=KubeletInputs(
            config=kubelet_config,
            config_dir=config_dir,
            arguments=kubelet_args,
            version=to_kubelet,
            version_option=option_names.TO,
            gates=feature_gates,
        ),
        pods=pods,
        memory=memory,
        root=root,
        in_place=yes,
    )
    with changing(write_state, in_place=yes) as lock:
        with answering_unloaded(sources, style):
            migration = _migration(replace(inputs, lock=lock), writing, sources)
        document = _answer(migration, inputs, sources)
        commit(document, migration.changes, writing, sources, style)


def _migration(inputs: CheckpointInputs, options: CommitOptions, sources: Sources) -> "Migration":
    """Migrate for a kubelet that is fully known or, if nothing is given, for release and feature gates."""
    from cpuctl.operations.checkpoint.migration import migrate_for_host, migrate_for_release

    kubelet = inputs.kubelet
    has_flags = kubelet.arguments is not None
    if has_flags or any((inputs.machine, inputs.memory, kubelet.config, kubelet.config_dir)):
        return migrate_for_host(inputs, sources, writes=options.writes)
    return migrate_for_release(inputs, sources)


def _answer(migration: "Migration", inputs: CheckpointInputs, sources: Sources) -> "CheckpointChange":
    from cpuctl.answering.checkpoint.change_answer import change_document, spell_out_commands
    from cpuctl.answering.checkpoint.parts import kubelet_answer, release_answer
    from cpuctl.operations.command_lines import checkpoint_commands, on_node_command

    changes, owners, reader, proof, kubelet = migration
    reads_as = kubelet_answer(kubelet, reader) if kubelet else release_answer(reader)
    document = change_document(changes, owners, sources.entries, reads_as, proof)
    on_node = on_node_command(("migrate", option_names.TO, inputs.kubelet.version), inputs)
    spell_out_commands(document, "migrate", checkpoint_commands(inputs), on_node)
    return document
