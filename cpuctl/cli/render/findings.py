"""Findings of every kind for people: one or two lines each, or columns in the wide form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from cpuctl import option_names
from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.diagnostics import only_shows
from cpuctl.exports.answer_text import advice
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.audit import Finding as NodeFinding
    from cpuctl.answers.config import ConfigFinding
    from cpuctl.answers.pods import Finding as ManifestFinding
    from cpuctl.answers.pods import LintedObject
    from cpuctl.answers.start import Start
    from cpuctl.answers.values import FindingCounts, Found, Graded

    class Finding(Graded, Found):
        """The fields that every finding has."""

    class FileFinding(Finding):
        """A finding about a file."""

        file: str


FindingT = TypeVar("FindingT", bound="Finding")
FindingT_contra = TypeVar("FindingT_contra", bound="Finding", contravariant=True)

STYLES = {"error": "red", "warning": "yellow", "note": ""}
"""The style of each severity, the worst first."""


class Form(NamedTuple, Generic[FindingT_contra]):
    """How findings of one kind are shown: what precedes the message of a line, and the columns.

    ``detail`` follows the message of a line. ``note`` is additional information.
    """

    prefix: Callable[[FindingT_contra], tuple[str, ...]]
    columns: Mapping[str, Callable[[FindingT_contra], str]]
    detail: Callable[[FindingT_contra], str] = lambda _: ""
    note: Callable[[FindingT_contra], str] = lambda _: ""


def _spot(finding: ManifestFinding) -> str:
    return f"{finding['file']}:{finding['line']}:{finding['column']}"


def _object(named: LintedObject | None) -> str:
    if named is None:
        return ""
    namespace = f"{named['namespace']}/" if named["namespace"] else ""
    return f"{named['kind']} {namespace}{named['name']}".strip()


def _fix(each: Finding) -> str:
    return each["fix"] or (f"see: {each['see']}" if "see" in each else "")


CONFIGURATION: Form[ConfigFinding] = Form(
    prefix=lambda each: (each["severity"], each["where"] or "", each["setting"] or ""),
    columns={
        "SEVERITY": lambda each: each["severity"],
        "CODE": lambda each: each["code"],
        "WHERE": lambda each: each["where"] or "",
        "SETTING": lambda each: each["setting"] or "",
        "EXPECTED": lambda each: each["expected"],
        "DETECTED": lambda each: each["detected"],
        "MESSAGE": lambda each: each["message"],
        "FIX": _fix,
    },
)
FILES: Form[FileFinding] = Form(
    prefix=lambda each: (each["severity"], each["file"]),
    columns={
        "SEVERITY": lambda each: each["severity"],
        "CODE": lambda each: each["code"],
        "FILE": lambda each: each["file"],
        "EXPECTED": lambda each: each["expected"],
        "DETECTED": lambda each: each["detected"],
        "MESSAGE": lambda each: each["message"],
        "FIX": _fix,
    },
)
NODE: Form[NodeFinding] = Form(
    prefix=lambda each: (each["severity"], each["code"], each["subject"]),
    columns={
        "SEVERITY": lambda each: each["severity"],
        "CODE": lambda each: each["code"],
        "SUBJECT": lambda each: each["subject"],
        "EXPECTED": lambda each: each["expected"],
        "DETECTED": lambda each: each["detected"],
        "MESSAGE": lambda each: each["message"],
        "FIX": _fix,
    },
    detail=lambda each: f" (expected {each['expected'] or '-'}, detected {each['detected'] or '-'})",
)
MANIFESTS: Form[ManifestFinding] = Form(
    # The format of compiler messages, which editors recognize.
    prefix=lambda each: (_spot(each), each["severity"], each["code"]),
    columns={
        "SEVERITY": lambda each: each["severity"],
        "CODE": lambda each: each["code"],
        "REJECTED BY": lambda each: "-" if each["rejectedBy"] == "none" else each["rejectedBy"],
        "WHERE": _spot,
        "OBJECT": lambda each: _object(each["object"]),
        "MESSAGE": lambda each: each["message"],
        "NOTE": lambda each: each["note"],
        "FIX": _fix,
    },
    note=lambda each: each["note"],
)


def findings_block(
    findings: Sequence[FindingT], form: Form[FindingT], *, wide: bool, place: str = "", ends: bool = True
) -> Block:
    """Lay findings out, as lines or as a table; *place* is where fixes apply, as in ``on the node``."""
    return _table(findings, form) if wide else Lines(tuple(finding_lines(findings, form, place, ends=ends)))


def finding_lines(
    findings: Sequence[FindingT], form: Form[FindingT], place: str = "", *, ends: bool = True
) -> Iterator[Cell]:
    """Write a line for every finding, and one for the fix if it is known.

    The last lines are how to fix several of them, and what placeholders mean, unless the answer *ends* with
    that elsewhere.
    """
    repair = _of_several([advice(each) for each in findings])
    for each in findings:
        text = ": ".join(filter(None, (*form.prefix(each), each["message"])))
        yield Cell(text + form.detail(each), STYLES[each["severity"]])
        if note := form.note(each):
            yield Cell(f"  note: {note}")
        if (text := advice(each)) and text != repair:
            yield from fix_cells(text, fix_label(text, place))
    if ends:
        yield from repair_cells(findings, place)
        yield from placeholder_cells([advice(each) for each in findings])


def repair_cells(findings: Sequence[Finding], place: str = "") -> Iterator[Cell]:
    """Write how to fix what several findings report, if a command does."""
    if repair := _of_several([advice(each) for each in findings]):
        yield from fix_cells(repair, f"Next, to repair the state files {place}".rstrip(), indent="")


def fix_label(fix: str, place: str = "") -> str:
    """Return what precedes a fix; *place* is where it applies, empty for here."""
    label = "see" if only_shows(fix) else "fix"
    return f"{label}, {place}" if place else label


def _of_several(fixes: Sequence[str]) -> str:
    """Return how to repair what several findings report, with a command; empty if there is none."""
    repairs = Counter(fix for fix in fixes if _REPAIR in fix or fix == option_names.NO_POD_LEFT)
    return next((fix for fix, count in repairs.most_common(1) if count > 1), "")


_REPAIR = "cpuctl checkpoint repair"
_COMMAND = r"(?:sudo )?cpuctl "
_BEFORE_COMMAND = rf"(?<=[:,;]) ((?:or |then )?)(?={_COMMAND})"


def fix_cells(fix: str, label: str = "fix", indent: str = "  ") -> Iterator[Cell]:
    """Write how to fix something; commands after other words are on lines of their own, to be copied."""
    first, *rest = re.split(_BEFORE_COMMAND, fix)
    conjunctions, commands = rest[::2], rest[1::2]
    yield Cell(" ".join([f"{indent}{label}: {first}", *conjunctions[:1]]).rstrip())
    for command, conjunction in zip_longest(commands, conjunctions[1:], fillvalue=""):
        yield Cell(f"{indent}  {command.rstrip(',') if conjunction else command}")
        if conjunction:
            yield Cell(f"{indent}{conjunction.rstrip()}")


_ANOTHER = " (for another machine, add -m MACHINE)"
_PLACEHOLDERS = {
    f"{option_names.KUBELET_VERSION} VERSION": "the kubelet's version, unknown here "
    "(kubelet --version prints it)",
    f"{option_names.KUBELET_ARGS} FLAGS": "the kubelet's flags in quotes ('' for none), unknown here "
    "(ps -ww -o args= -C kubelet prints them; if it does not run, see systemctl cat kubelet and the "
    "environment files named there)",
    f"{option_names.KUBELET_CONFIG} FILE": f"the kubelet's configuration, not found here{_ANOTHER}",
    f"{option_names.PODS} FILE": f"the pods running on the node ({option_names.PODS_OF_NODE} > FILE)",
    f"{option_names.MEMORY} QUANTITY": "the machine's memory, unknown here (free -b prints it)",
}


def placeholder_cells(fixes: Sequence[str]) -> Iterator[Cell]:
    """Explain the placeholders of commands, each once."""
    for option, meaning in _PLACEHOLDERS.items():
        if found := [fix for fix in fixes if option in fix]:
            of_machine = all(" -m " in fix for fix in found)
            yield Cell(f"{option.split()[1]}: {meaning.removesuffix(_ANOTHER) if of_machine else meaning}")


def _table(findings: Iterable[FindingT], form: Form[FindingT]) -> Table:
    rows = tuple(
        tuple(
            Cell(text(each) or "-", STYLES[each["severity"]] if name == "SEVERITY" else "")
            for name, text in form.columns.items()
        )
        for each in findings
    )
    return Table(tuple(map(Column, form.columns)), rows)


def counts_text(summary: FindingCounts) -> str:
    """Count findings by severity, without zeros."""
    counts = {"error": summary["error"], "warning": summary["warning"], "note": summary["note"]}
    return ", ".join(counted(count, word) for word, count in counts.items() if count)


def start_counts_text(summary: FindingCounts, start: Start, *, stated: bool = False) -> str:
    """Count errors and warnings about a start; a start that is unknown is neither.

    *stated*: one of the errors is the failed start, which has no line of its own.
    """
    counts = [counted(summary["error"], "error"), counted(summary["warning"], "warning")]
    text = ", ".join([*counts, *(["start undetermined"] * (start["outcome"] == "Undetermined"))])
    return f"{text} (including the failed start)" if stated else text


def warning_line(text: str) -> Cell:
    """Write a warning about an answer as a whole."""
    return Cell(f"warning: {text}", STYLES["warning"])
