"""The answer of ``cpuctl fleet check``: what is found on many nodes, told once.

Findings are the same where their code is, and their text but for names and numbers: those of one node are
nobody else's. What differs between the nodes is left out of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from cpuctl.answering import API_VERSION
from cpuctl.answering.metrics import gauge

if TYPE_CHECKING:
    from cpuctl.answers.fleet import (
        CheckedNode,
        FleetCheck,
        FleetCheckName,
        FleetCheckSummary,
        FleetFinding,
        FleetUnchecked,
        NodeFinding,
        UnreadableNode,
    )
    from cpuctl.answers.values import Metric

Node: TypeAlias = "CheckedNode | UnreadableNode"

VARIES = "..."
_SEVERITIES = ("error", "warning", "note")
_NAMES = re.compile(r"""[^\s"'(),;:]*[0-9/][^\s"'(),;]*[^\s"'(),;:]|[0-9]""")
"""What a single node may have of its own: numbers, and names that a number or a slash gives away."""
_LISTED = re.compile(r"\.\.\.(?:(?:, ?| )(?:and )?\.\.\.)+(?: more)?")
_PLURAL = re.compile(r"\b(CPU|cache|container|core|interrupt|node|page|pod|thread|process)(?:e?s)\b")
_VERBS = {"are": "is", "have": "has", "come": "comes", "share": "shares"}
_VERB = re.compile(rf"\b({'|'.join(_VERBS)})\b")


def fleet_check_document(
    nodes: Sequence[Node],
    checks: Sequence[FleetCheckName],
    *,
    passed_over: Sequence[str] = (),
    complete: bool = True,
) -> FleetCheck:
    """Put nodes and what is found on them into one document."""
    read = [node for node in nodes if node["outcome"] == "Read"]
    findings = fleet_findings(read)
    return {
        "apiVersion": API_VERSION,
        "kind": "FleetCheck",
        "complete": complete,
        "passedOver": list(passed_over),
        "checks": list(checks),
        "summary": _summary(nodes, findings),
        "findings": findings,
        "unchecked": _unchecked(read),
        "nodes": list(nodes),
    }


def is_clean(node: CheckedNode, *, strict: bool = True) -> bool:
    """Return whether all was checked, the kubelet starts, and nothing is wrong, if *strict* no warning."""
    starts = node["start"] is None or node["start"]["outcome"] == "Started"
    wrong = node["summary"]["error"] or (strict and node["summary"]["warning"])
    return starts and not wrong and not node["unchecked"]


def _summary(nodes: Sequence[Node], findings: Sequence[FleetFinding]) -> FleetCheckSummary:
    read = [node for node in nodes if node["outcome"] == "Read"]
    starts = [node["start"]["outcome"] for node in read if node["start"] is not None]
    severities = [finding["severity"] for finding in findings]
    return {
        "nodes": len(nodes),
        "clean": sum(map(is_clean, read)),
        "wouldNotStart": sum(start in ("Refused", "KubeletFault") for start in starts),
        "undetermined": starts.count("Undetermined"),
        "unchecked": sum(bool(node["unchecked"]) for node in read),
        "unreadable": len(nodes) - len(read),
        "error": severities.count("error"),
        "warning": severities.count("warning"),
        "note": severities.count("note"),
    }


def fleet_findings(nodes: Iterable[CheckedNode]) -> list[FleetFinding]:
    """Put findings together that are the same, the worst first, then those of most nodes."""
    return same_findings((node["node"], each) for node in nodes for each in node["findings"])


def same_findings(findings: Iterable[tuple[str, NodeFinding]]) -> list[FleetFinding]:
    """Put findings with the names of their nodes together, as ``fleet_findings`` does."""
    found: dict[tuple[str, ...], list[tuple[str, NodeFinding]]] = {}
    for node, each in findings:
        texts = (skeleton(each[member]) for member in ("about", "message"))
        key = (each["check"], each["severity"], each["code"], *texts)
        found.setdefault(key, []).append((node, each))
    answers = (_together(members) for members in found.values())
    return sorted(answers, key=lambda each: (_SEVERITIES.index(each["severity"]), -len(each["nodes"])))


def _together(members: Sequence[tuple[str, NodeFinding]]) -> FleetFinding:
    first = members[0][1]
    findings = [finding for _, finding in members]
    fixes = {finding["fix"] for finding in findings}
    return {
        "check": first["check"],
        "severity": first["severity"],
        "code": first["code"],
        "about": in_common([each["about"] for each in findings]),
        "where": in_common([each["where"] for each in findings]),
        "expected": in_common([each["expected"] for each in findings]),
        "detected": in_common([each["detected"] for each in findings]),
        "message": in_common([each["message"] for each in findings]),
        # A command with a gap is none.
        "fix": first["fix"] if len(fixes) == 1 else "",
        "count": len(members),
        "nodes": list(dict.fromkeys(node for node, _ in members)),
    }


def skeleton(text: str) -> str:
    """Return what is equal for texts that differ in names and numbers only, one thing or many alike."""
    one = _VERB.sub(lambda verb: _VERBS[verb[0]], _PLURAL.sub(r"\1", _NAMES.sub(VARIES, text)))
    return _LISTED.sub(VARIES, one)


def in_common(texts: Sequence[str]) -> str:
    """Return the text with ... for every word that is not the same in all of them."""
    if len(set(texts)) == 1:
        return texts[0]
    words = [text.split(" ") for text in dict.fromkeys(texts)]
    if len({len(each) for each in words}) > 1:
        shapes = {skeleton(text) for text in texts}
        return shapes.pop() if len(shapes) == 1 else VARIES
    return _LISTED.sub(VARIES, " ".join(_word(each) for each in zip(*words, strict=True)))


def _word(words: Sequence[str]) -> str:
    """Return a word that is the same, or ... with the marks that stand around all of them."""
    if len(set(words)) == 1:
        return words[0]
    shapes = {_NAMES.sub(VARIES, word) for word in words}
    return shapes.pop() if len(shapes) == 1 else VARIES


def _unchecked(nodes: Iterable[CheckedNode]) -> list[FleetUnchecked]:
    found: dict[tuple[FleetCheckName, str], list[tuple[str, str]]] = {}
    for node in nodes:
        for each in node["unchecked"]:
            members = found.setdefault((each["check"], skeleton(each["missing"])), [])
            members.append((node["node"], each["missing"]))
    answers: list[FleetUnchecked] = [
        {
            "check": check,
            "missing": in_common([missing for _, missing in members]),
            "nodes": list(dict.fromkeys(node for node, _ in members)),
        }
        for (check, _), members in found.items()
    ]
    return sorted(answers, key=lambda each: -len(each["nodes"]))


def check_metrics(document: FleetCheck) -> Iterator[Metric]:
    """List the nodes and what is found on them, as a monitoring system wants it."""
    summary = document["summary"]
    yield gauge("fleet_nodes", "Nodes of the fleet.", {}, summary["nodes"])
    yield gauge("fleet_clean_nodes", "Nodes on which nothing was found but notes.", {}, summary["clean"])
    yield gauge("fleet_unreadable_nodes", "Recordings that could not be read.", {}, summary["unreadable"])
    for check in document["checks"]:
        nodes = {node for each in document["unchecked"] if each["check"] == check for node in each["nodes"]}
        help_ = "Nodes of which something was not there to be checked."
        yield gauge("fleet_unchecked_nodes", help_, {"check": check}, len(nodes))
    help_ = "Nodes whose kubelet would not start, or of which that cannot be said."
    yield gauge("fleet_not_starting_nodes", help_, {"start": "no"}, summary["wouldNotStart"])
    yield gauge("fleet_not_starting_nodes", help_, {"start": "undetermined"}, summary["undetermined"])
    yield from _of_findings(document["findings"])
    for node in document["nodes"]:
        if node["outcome"] == "Read":
            for severity in ("error", "warning"):
                labels = {"node": node["node"], "severity": severity}
                yield gauge("fleet_node_findings", "Findings of a node.", labels, node["summary"][severity])


def _of_findings(findings: Iterable[FleetFinding]) -> Iterator[Metric]:
    series: dict[tuple[str, ...], list[FleetFinding]] = {}
    for finding in findings:
        series.setdefault((finding["check"], finding["code"], finding["severity"]), []).append(finding)
    for values, members in series.items():
        labels = dict(zip(("check", "code", "severity"), values, strict=True))
        count = sum(each["count"] for each in members)
        yield gauge("fleet_findings", "How often something was found.", labels, count)
        nodes = {node for each in members for node in each["nodes"]}
        help_ = "Nodes on which something was found."
        yield gauge("fleet_affected_nodes", help_, labels, len(nodes))
