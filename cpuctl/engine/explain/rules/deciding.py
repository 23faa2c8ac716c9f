"""Which rule of the kubelet decided about a pod, read from the trace of its admission."""

from __future__ import annotations

from collections.abc import Sequence

from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.offers import Round
from cpuctl.engine.explain.story import Telling
from cpuctl.engine.outcome import Admitted, Forbidden, KubeletFault, Rejected, Undetermined


def deciding_rule(telling: Telling, rounds: Sequence[Round]) -> Decision:
    """Name the rule that decided; *rounds* are those of the Topology Manager."""
    match telling.admission.verdict:
        case Admitted():
            return Decision(rule=Rule.ADMITTED, why="every check of the kubelet passes")
        case KubeletFault() as fault if telling.before.fault:
            return Decision(rule=Rule.FAILED_BEFORE, why=_failed_before(telling, fault))
        case KubeletFault() as fault:
            return Decision(rule=Rule.KUBELET_FAULT, why=f"{fault.kind} in {fault.where}: {fault.why}")
        case Forbidden(refusals=refusals):
            why = f"the API server never stores this pod, and no kubelet hears of it: {'; '.join(refusals)}"
            return Decision(rule=Rule.API_SERVER, why=why)
        case Undetermined(text=why):
            return Decision(rule=Rule.INPUT_LACKS, why=why)
        case Rejected() as refused:
            from cpuctl.engine.explain.rules.refusals import refusal

            return refusal(telling, refused, rounds)


def _failed_before(telling: Telling, fault: KubeletFault) -> str:
    failing = (each.pod for each in telling.admissions if isinstance(each.verdict, KubeletFault))
    return f"the kubelet has failed at {next(failing).full_name} ({fault.kind} in {fault.where})"
