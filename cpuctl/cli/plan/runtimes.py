"""``cpuctl plan -o nri`` and the like: a plan as what others carry out where containers are run."""

import sys
from typing import TYPE_CHECKING

from cpuctl.cli.output import Style, complain, emit, note

if TYPE_CHECKING:
    from cpuctl.answers.plan import NotStartedPlan, PlanComparison, StartedPlan
    from cpuctl.engine.start import StartResult

NRI = "nri"
_WHO = {NRI: "the plug-in", "memory-qos": "the plug-in", "balloons": "the plug-in", "crictl": "such a script"}


def emit_for_runtime(
    plan: "StartedPlan | NotStartedPlan | PlanComparison", node: "StartResult | None", style: Style
) -> None:
    """Write what carries a plan out; say who else writes CPU sets, or why there is no plan."""
    from cpuctl.answering.plan.nri_answer import nri_document, written_by_kubelet
    from cpuctl.engine.node import Node

    assert plan["kind"] == "Plan", "two sides are refused before"
    if written_by_kubelet(plan) and (who := _WHO.get(style.output)):
        note(f"note: the kubelet's static policy writes CPU sets, too: a node has it or {who}", style)
    answers = nri_document(plan, node if isinstance(node, Node) else None)
    if style.output == NRI:
        emit(answers, style)
        return
    if "after" not in plan:
        from cpuctl.exports.outcomes import start_sentence

        complain(start_sentence(plan["start"], "The kubelet"))
        return

    from cpuctl.answering.plan.carrying_out import WAYS, carried

    sys.stdout.write(WAYS[style.output](carried(answers, plan), plan))
