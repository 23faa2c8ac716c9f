"""Changes that would alter an answer, as part of a document: in words, how to try them, their effect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cpuctl.answering.plan.plan_answer import placed_containers, round_answer
from cpuctl.audit.commands import delete_pod
from cpuctl.engine.explain.explanation import known_name
from cpuctl.engine.explain.searches.changes import (
    Amount,
    Change,
    EarlierPosition,
    Removal,
    RequestChange,
    SettingChange,
)
from cpuctl.engine.explain.searches.huge_pages import MorePages
from cpuctl.engine.explain.searches.searches import Search, Suggestion
from cpuctl.engine.memory.tables import pages_file
from cpuctl.phrases import all_of

if TYPE_CHECKING:
    from cpuctl.answers import explanation as answers

AskWith = Callable[[Sequence[str]], str]
"""Writes the same command line with more flags of the kubelet."""

_THE_POD = "spec.resources"
_FLAGS = {
    "cpuManagerPolicyOptions": "--cpu-manager-policy-options",
    "maxPods": "--max-pods",
    "memoryManagerPolicy": "--memory-manager-policy",
    "podsPerCore": "--pods-per-core",
    "topologyManagerPolicy": "--topology-manager-policy",
    "topologyManagerPolicyOptions": "--topology-manager-policy-options",
    "topologyManagerScope": "--topology-manager-scope",
}


def suggestion_answer(suggestion: Suggestion, ask_with: AskWith) -> answers.Suggestion:
    """Describe one change that was found, and the engine's result with it."""
    change, replayed = suggestion.change, suggestion.replayed
    answer: answers.Suggestion = {
        "kind": change.kind.value,
        "change": _change(change),
        "text": _change_text(change),
        "command": _command(change, ask_with),
        "containers": list(placed_containers(replayed.before.topology, replayed.admission)),
        "hints": [round_answer(requested) for requested in replayed.admission.hint_rounds],
        "lost": [lost.full_name for lost in suggestion.lost],
    }
    if suggestion.left:
        answer["stillRejected"] = [left.full_name for left in suggestion.left]
    return answer


def pages_answer(tried: Sequence[MorePages], *, in_the_way: bool, repair: str) -> answers.HugePagesPart:
    """Describe huge pages to set aside, with the command for it, and numbers that are not enough.

    *in_the_way*: the kubelet's ``memory_manager_state`` has fewer; the command *repair*, if there is one,
    adds them.
    """
    part: answers.HugePagesPart = {}
    found = [_pages(each, in_the_way=in_the_way, repair=repair) for each in tried if each.enough]
    if found:
        part["hugePages"] = found
    failed: list[answers.TriedHugePages] = [
        {
            "numaNode": each.numa_node,
            "pageKiB": each.kib,
            "before": each.before,
            "after": each.after,
            "allUpTo": each.all_up_to,
        }
        for each in tried
        if not each.enough
    ]
    if failed:
        part["triedHugePages"] = failed
    return part


def _pages(pages: MorePages, *, in_the_way: bool, repair: str) -> answers.HugePages:
    answer: answers.HugePages = {
        "numaNode": pages.numa_node,
        "pageKiB": pages.kib,
        "before": pages.before,
        "after": pages.after,
        "command": f"echo {pages.after} | sudo tee {pages_file(pages.numa_node, pages.kib)}",
        "removesMemoryState": in_the_way and not repair,
        "lost": [lost.full_name for lost in pages.lost],
    }
    if repair:
        answer["repairCommand"] = repair
    if pages.left:
        answer["stillRejected"] = [left.full_name for left in pages.left]
    return answer


def search_answer(search: Search) -> answers.Search:
    """Describe the search for one kind of change."""
    return {
        "kind": search.kind.value,
        "found": len(search.found),
        "runs": search.runs,
        "bound": search.bound,
        "complete": search.complete,
        "excluded": search.left_out,
        "resources": list(search.resources),
        "alone": list(search.alone),
        "inProportion": list(search.in_proportion),
        "sharesCPUs": search.shared,
        "more": search.more,
        "notStarted": list(search.unstarted),
    }


def _change(change: Change) -> answers.Change:
    match change:
        case RequestChange():
            return _request_change(change)
        case SettingChange():
            return {
                "setting": change.setting,
                "option": change.option or None,
                "before": change.before,
                "after": change.after,
            }
        case Removal():
            return {"remove": [pod.full_name for pod in change.pods]}
        case EarlierPosition():
            return {"before": [pod.full_name for pod in change.overtaken]}


def _request_change(change: RequestChange) -> answers.RequestChange:
    amounts = [_amount(amount) for amount in change.amounts]
    answer: answers.RequestChange = {"amounts": amounts}
    if change.template_of:
        answer["allPodsOf"] = change.template_of
    if not change.fields:
        return answer
    fields: list[answers.FieldChange] = [
        {"field": each.field, "before": each.before or None, "after": each.after} for each in change.fields
    ]
    return {**answer, "fields": fields}


def _amount(amount: Amount) -> answers.Amount:
    return {
        "container": amount.container or None,
        "resource": amount.resource,
        "before": str(amount.before),
        "after": str(amount.after),
    }


def _change_text(change: Change) -> str:
    match change:
        case RequestChange():
            return _request_change_text(change)
        case SettingChange(setting=setting, option=""):
            return f"set {setting}: {change.after} (now {change.before})"
        case SettingChange():
            return f'set {change.setting}: {change.option}: "{change.after}" (now "{change.before}")'
        case Removal(pods=pods):
            return f"remove {all_of(map(known_name, pods))}"
        case EarlierPosition(overtaken=overtaken):
            more = f" and {len(overtaken) - 1} more" if len(overtaken) > 1 else ""
            return f"admit it before {overtaken[0].full_name}{more}"


def _request_change_text(change: RequestChange) -> str:
    """Write each container's new requests: ``request in web: cpu 4 (now 6), memory 2Gi (now 4Gi)``."""
    everywhere = f", in all pods of {change.template_of}" if change.template_of else ""
    if change.fields:
        edits = (f"{each.field}: {each.after} (now {each.before or 'unset'})" for each in change.fields)
        amounts = (f"{each.resource} {each.after} (now {each.before})" for each in change.amounts)
        return f"set {', '.join(edits)}, for {', '.join(amounts)}{everywhere}"
    by_container: dict[str, list[str]] = {}
    for each in change.amounts:
        now = "unchanged, but written this way" if each.after == each.before else f"now {each.before}"
        after = f"{each.resource} {each.after}" if each.after.sign else f"no {each.resource}"
        by_container.setdefault(each.container, []).append(f"{after} ({now})")
    text = "; ".join(
        f"request in {name or _THE_POD}: {', '.join(amounts)}" for name, amounts in by_container.items()
    )
    return f"{text}{everywhere}"


def _command(change: Change, ask_with: AskWith) -> str | None:
    """Write the command that tries or makes the change, if one command does."""
    match change:
        case SettingChange():
            return ask_with(_flags(change))
        # Pods of manifests, which have no status, may not exist yet, and those of workloads have other names.
        case Removal(pods=pods) if all(pod.name != pod.uid and pod.phase for pod in pods):
            return " && ".join(map(delete_pod, pods))
        case _:
            return None


def _flags(change: SettingChange) -> list[str]:
    flag = _FLAGS[change.setting]
    if not change.option:
        return [f"{flag}={change.after}"]
    # A flag replaces the whole map of the file, so it must have every option.
    return [f"{flag}={name}={value}" for name, value in change.options.items()]
