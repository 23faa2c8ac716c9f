"""Outcomes of pods, resizes, starts and state files: one word and one colour each, in all output.

A pod is *rejected*, as the kubelet writes into its status ("Pod was rejected"), or by an API server; a
kubelet also *rejects* files and settings, and then does not start: the outcomes of pods and of starts are
looked up in tables of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.advice import AdvisedSettings
    from cpuctl.answers.decisions import Pod, Rejection, Verdict
    from cpuctl.answers.plan import Summary
    from cpuctl.answers.start import PolicyInPlace, Start


class StyledWord(NamedTuple):
    """A word and its style, if colours are available."""

    word: str
    style: str = ""


PODS: Mapping[str, StyledWord] = {
    "Admitted": StyledWord("admitted", "green"),
    "Rejected": StyledWord("rejected", "red"),
    "Forbidden": StyledWord("rejected by the API server", "red"),
    "Pending": StyledWord("pending", "red"),
    "Undetermined": StyledWord("undetermined", "yellow"),
    "KubeletFault": StyledWord("kubelet fault", "bold red"),
}
RESIZES: Mapping[str, StyledWord] = {
    **PODS,
    "Admitted": StyledWord("accepted", "green"),
    "Unchanged": StyledWord("nothing to do"),
    "NoEffect": StyledWord("accepted, without effect on exclusive CPUs", "yellow"),
    "Deferred": StyledWord("deferred", "yellow"),
    "Infeasible": StyledWord("infeasible", "red"),
    "Ignored": StyledWord("ignored by the kubelet", "red"),
}
STATE_FILES_TAKEN: Mapping[str, str] = {
    "Accepted": "accepted",
    "NotReached": "not checked",
    "NotRead": "not read by this kubelet",
    "Skipped": "skipped",
    "Undetermined": "undetermined",
}
"""How a kubelet treats files that do not, or may not, keep it from starting."""


def is_served(pod: Pod) -> bool:
    """Return whether a pod is admitted and starts with its resource claims, whose CPUs are known."""
    unknown = any("whyUnknown" in each for each in pod.get("claims", ()))
    return pod["outcome"] == "Admitted" and "claimProblem" not in pod and not unknown


def settings_admit(advice: AdvisedSettings) -> bool:
    """Return whether a pod is or may be admitted with the current or any proposed settings."""
    current = advice["current"]
    services = [each["service"] for each in advice["proposals"]]
    services += [current["service"]] if current["start"]["outcome"] == "Started" else []
    some = any(each["admitted"] or each["undetermined"] for each in services)
    return some or (bool(services) and not advice["pods"])


def what_if_sentence(policy: PolicyInPlace) -> str:
    """Write that the deciding policy is one that no kubelet has."""
    options = "".join(f",{name}={value}" for name, value in policy["options"].items() if value)
    what = f"What if: policy {policy['name']}{options} chooses CPUs"
    if policy["name"] == "static":
        return f"{what}, as the kubelet itself does"
    return f"{what} instead of the kubelet; no kubelet does this"


def start_word(start: Start, who: str) -> StyledWord:
    """Write whether *who* starts, in the colour of the answer."""
    style = {"Started": "green", "Undetermined": "yellow"}.get(start["outcome"], "red")
    return StyledWord(start_sentence(start, who), style)


def start_sentence(start: Start, who: str) -> str:
    """Write whether *who* starts and, if not, with which error."""
    match start["outcome"]:
        case "Started":
            return f"{who} would start."
        case "Rejected":
            return f"{who} would not start: {start['error']}"
        case "KubeletFault":
            return f"{who} would fail ({start['fault']} {_where(start['where'])}): {start['why']}"
        case "Undetermined":
            return f"Whether {who[0].lower()}{who[1:]} would start is unknown: {start['why']}"


def _where(where: str) -> str:
    """Name the part of the kubelet, or what it was doing."""
    return f"{'while' if where[:1].islower() else 'in'} {where}"


def failure_text(start: Start) -> str:
    """Return the error of a kubelet that does not start, or why it is unknown."""
    match start["outcome"]:
        case "Started":
            return ""
        case "Rejected":
            return start["error"]
        case _:
            return start["why"]


def rejection_text(pod: Verdict | Rejection) -> str:
    """Write why a pod is not admitted, in the kubelet's words, if any."""
    match pod["outcome"]:
        case "Rejected":
            return f"{pod['reason']}: {pod['message']}"
        case "Forbidden":
            other = "--skip-apiserver shows the kubelet's decision"
            return f"the API server rejects the pod ({other}): {pod['message']}"
        case "Pending":
            return f"the pod stays pending: {pod['message']}"
        case "KubeletFault":
            return f"the kubelet fails ({pod['fault']} {_where(pod['where'])}): {pod['why']}"
        case _:
            return f"undetermined: {pod['why']}"


def brief_rejection(pod: Verdict | Rejection) -> str:
    """Return only the reason, if a kubelet gives one."""
    return pod["reason"] if pod["outcome"] == "Rejected" else rejection_text(pod)


def pod_counts_text(summary: Summary) -> str:
    """Write the number of pods and their outcomes: ``3 pods: 2 admitted, 1 rejected``."""
    counts = {
        "Admitted": summary["admitted"],
        "Rejected": summary["rejected"],
        "Forbidden": summary["forbidden"],
        "Pending": summary.get("pending", 0),
        "Undetermined": summary["undetermined"],
        "KubeletFault": summary["kubeletFault"],
    }
    counted_words = (
        counted(count, PODS[outcome].word) if outcome == "KubeletFault" else f"{count} {PODS[outcome].word}"
        for outcome, count in counts.items()
        if count or outcome == "Admitted"
    )
    return f"{counted(summary['pods'], 'pod')}: {', '.join(counted_words)}"


def splits_core(details: Mapping[str, int]) -> bool:
    """Return whether the amounts of a rejection are a request that is no multiple of the CPUs per core."""
    return bool(details.get("cpusPerCore") and details["requested"] % details["cpusPerCore"])
