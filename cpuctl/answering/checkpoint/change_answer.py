"""The answer of ``cpuctl checkpoint migrate``, ``repair`` and ``new`` (schema: ``checkpointchange``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from cpuctl.answering import API_VERSION
from cpuctl.answering.checkpoint.diff_answer import difference
from cpuctl.answering.checkpoint.parts import owner_answer, shortened
from cpuctl.answering.checkpoint.verdict_answer import findings_answer, outcome_answer, unloaded_findings
from cpuctl.answering.parts import spell_out_fixes
from cpuctl.checkpoints.inspection import Inspection
from cpuctl.diagnostics import Severity
from cpuctl.operations.command_lines import CONFIG_CHECK

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers
    from cpuctl.answers.values import Sources
    from cpuctl.capture.kubelet.running import RunningKubelet
    from cpuctl.checkpoints.migration import Loss
    from cpuctl.engine.state_checks.owners import Owners
    from cpuctl.engine.state_checks.verify import StateVerdict
    from cpuctl.engine.state_repair import RepairAction
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
    from cpuctl.operations.checkpoint.changes import Applied, FileChange


def change_document(
    changes: Sequence[FileChange],
    owners: Owners,
    sources: Sources,
    kubelet: answers.ReadingKubelet,
    proof: StateVerdict | None = None,
) -> answers.CheckpointChange:
    """Describe the result for every file; *proof* is whether the kubelet starts on all of them."""
    return {
        "apiVersion": API_VERSION,
        "kind": "CheckpointChange",
        "sources": sources,
        "kubelet": kubelet,
        "outcome": _outcome(changes, proof),
        "files": [_file(change, owners) for change in changes],
        "proof": None if proof is None else _proof(proof),
        "kubelets": [],
        "written": False,
    }


def unloaded_document(refused: ConfigRefusedError, sources: Sources) -> answers.CheckpointChange:
    """Describe a kubelet that cannot load its configuration: it never reads state files, so none are made."""
    found = findings_answer(tuple(unloaded_findings(refused)))
    return {
        "apiVersion": API_VERSION,
        "kind": "CheckpointChange",
        "sources": sources,
        "outcome": "Rejected",
        "files": [],
        "proof": {"start": outcome_answer(refused.whole_refusal), **found},
        "kubelets": [],
        "written": False,
    }


def spell_out_commands(
    document: answers.CheckpointChange, verb: str, spelt_out: Callable[[str], str], on_node: str
) -> None:
    """Add the given options to the proposed commands; the answering *verb* itself is not proposed.

    A recording cannot be changed: *on_node* is the command that changes its node.
    """
    for file in document["files"]:
        file["fix"] = spelt_out(file["fix"])
    itself = f"cpuctl checkpoint {verb}"
    findings = document["proof"]["findings"] if document["proof"] else []
    spell_out_fixes(findings, lambda fix: "" if itself in fix else spelt_out(fix))
    stated = any(file["outcome"] == "rejected" for file in document["files"]) or any(
        each["fix"] or "see" in each for each in findings
    )
    if document["proof"] and document["proof"]["start"]["outcome"] != "Started" and not stated:
        document["next"] = spelt_out(CONFIG_CHECK)
    if document["outcome"] == "Changed" and not is_in_place(document):
        document["next"] = on_node


def name_the_plan(document: answers.CheckpointChange, plan: str) -> None:
    """Propose *plan*, which shows the pods that are the cause, if a kubelet rejects its own new files.

    Fixes are for files that exist.
    """
    if proof := document["proof"]:
        spell_out_fixes(proof["findings"], lambda _: "")
        if proof["start"]["outcome"] != "Started":
            document["next"] = plan


def is_in_place(document: answers.CheckpointChange) -> bool:
    """Return whether the files that were read can be overwritten: not those of a recording."""
    recorded = {entry["value"] for entry in document["sources"].values() if entry["from"] == "capture"}
    return all(file["source"] and file["source"] not in recorded for file in document["files"])


def add_kubelets(document: answers.CheckpointChange, kubelets: Sequence[RunningKubelet]) -> None:
    """Add the running kubelets that would overwrite the files with their own state."""
    document["kubelets"] = [
        {"pid": each.pid, "name": each.name, "rootDirectory": each.root_directory} for each in kubelets
    ]


def add_applied(document: answers.CheckpointChange, applied: Applied) -> None:
    """Add the paths of written files and of their backups."""
    for file in document["files"]:
        file["target"] = _text(applied.paths.get(file["file"]))
        file["backup"] = _text(applied.backups.get(file["file"]))
    document["written"] = bool(applied.paths)


def _text(path: object) -> str | None:
    return None if path is None else str(path).encode(errors="backslashreplace").decode()


def _outcome(
    changes: Sequence[FileChange], proof: StateVerdict | None
) -> Literal["Changed", "Unchanged", "Rejected"]:
    if any(change.refused for change in changes) or (proof is not None and not proof.starts):
        return "Rejected"
    return "Changed" if any(change.changed for change in changes) else "Unchanged"


def _file(change: FileChange, owners: Owners) -> answers.ChangedFile:
    before = change.state.inspection if change.state else Inspection()
    after = change.after if change.changed else before
    return {
        "file": change.file_name,
        "source": change.state.source if change.state else None,
        "outcome": "rejected" if change.refused else "changed" if change.changed else "unchanged",
        "reason": shortened(change.refused.reason) if change.refused else "",
        "fix": change.refused.advice if change.refused else "",
        "formatBefore": before.format,
        "formatAfter": after.format,
        # A rejected change is not made, either.
        "actions": [_action(action, owners) for action in change.actions if not change.refused],
        "losses": [_loss(loss, owners) for loss in change.losses if not change.refused],
        **difference(before, after, owners),
        "target": None,
        "backup": None,
    }


def _action(action: RepairAction, owners: Owners) -> answers.Action:
    owner = owner_answer(owners, action.pod_uid, action.container) if action.pod_uid else None
    return {
        "kind": action.did.value,
        "holder": owner,
        "before": shortened(action.before),
        "after": shortened(action.after),
        "reason": shortened(action.reason),
    }


def _loss(loss: Loss, owners: Owners) -> answers.Loss:
    return {
        "kind": loss.kind.value,
        "holder": owner_answer(owners, loss.pod_uid, loss.container),
        "before": shortened(loss.was),
        "meaning": loss.meaning,
    }


def _proof(proof: StateVerdict) -> answers.Proof:
    rest = [finding for finding in proof.findings if finding.severity is not Severity.NOTE]
    return {"start": outcome_answer(proof.start), **findings_answer(rest)}
