"""The page of a report, chapter by chapter: the tables of all commands, and the map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Lines, Table
from cpuctl.cli.render.layouts import audit as audit_layout
from cpuctl.cli.render.layouts import checkpointdump, checkpointverify, config_check, explanation, topology
from cpuctl.cli.render.layouts import plan as plan_layout
from cpuctl.cli.render.layouts import replay as replay_layout
from cpuctl.cli.render.page_parts import page_parts
from cpuctl.cli.render.tables.checkpoint import cpu_table
from cpuctl.cli.render.tables.resources import devices_table, memory_table
from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import full_name, kubelet_text, pod_of_cpus, shared_sentence, starts_first
from cpuctl.exports.cpu_map import owner_classes
from cpuctl.exports.machine_facts import dump_facts, plan_facts, topology_facts
from cpuctl.exports.outcomes import rejection_text
from cpuctl.exports.page import Attributes, Figure, Grid, Heading, Part, Sentences, StyledText
from cpuctl.exports.report_page import (
    Card,
    Chapter,
    CPUMap,
    Fact,
    Facts,
    Fold,
    Head,
    Item,
    Unknowns,
    report_page,
)
from cpuctl.exports.report_words import PARTS, findings_of, machine_text, standings, verdict
from cpuctl.exports.timeline_picture import replay_facts, timeline_svg
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import CPUHolder
    from cpuctl.answers.config import ConfigCheck
    from cpuctl.answers.explanation import Explanation
    from cpuctl.answers.plan import NotStartedPlan, PlanPicture, StartedPlan
    from cpuctl.answers.report import Report
    from cpuctl.exports.machine_facts import MachineFacts
    from cpuctl.exports.page import Markup


def node_page(report: Report, index: str = "") -> Markup:
    """Write the page about a node; *index* is the page that links to it, if there is one."""
    cards = [Card(each.title, each.status, each.part) for each in standings(report)]
    found = findings_of(report)
    if found:
        cards.insert(0, Card("Findings", StyledText(counted(len(found), "finding")), "findings"))
    head = Head(report["node"], verdict(report), list(_facts(report)), index)
    return report_page(head, cards, list(_chapters(report)))


def _facts(report: Report) -> Iterator[str]:
    model = report["machine"]["summary"]["model"]
    yield ", ".join(filter(None, (model, machine_text(report["machine"]))))
    if "plan" in report and "node" in report["plan"]:
        yield kubelet_text(report["plan"]["kubelet"])
    elif "kubelet" in report["configuration"]:
        yield _kubelet_line(report["configuration"])
    machine = report["sources"].get("machine")
    origin = "this host" if machine is None or machine["from"] == "live" else machine["value"]
    when = f", {report['recordedAt']}" if report["recordedAt"] else ", time unknown"
    yield f"from {origin}{when}"


def _kubelet_line(checked: ConfigCheck) -> str:
    node, release = checked.get("node"), f"kubelet {checked['kubelet']['version']}"
    if node is None:
        return release
    policies = f"CPU Manager {node['cpuManagerPolicy']}, Topology Manager {node['topologyManagerPolicy']}"
    return f"{release}, {policies}"


def _chapters(report: Report) -> Iterator[Chapter]:
    if found := tuple(_findings(report)):
        yield Chapter("findings", "Findings", (Facts(found),))
    if report["unknown"]:
        unknown = tuple(f"{PARTS[each['part']]}: {each['what']}" for each in report["unknown"])
        yield Chapter("unknown", "Unknown", (Unknowns(unknown),))
    yield Chapter("holders", PARTS["holders"], tuple(_holders(report)))
    if "plan" in report:
        yield Chapter("pods", PARTS["pods"], tuple(_pods(report, report["plan"])))
        if "planned" in report and "after" in report["plan"]:
            after = tuple(_after(report["plan"], report["planned"]))
            yield Chapter("after", "Owners of CPUs and memory", after)
    if "timeline" in report:
        picture = Figure(timeline_svg(replay_facts(report["timeline"])))
        replayed = tuple(_parts(replay_layout.blocks(report["timeline"], wide=False)))
        yield Chapter("timeline", PARTS["timeline"], (picture, Fold(StyledText("As a table"), replayed)))
    if "audit" in report:
        audit = report["audit"].copy()
        audit["findings"], audit["unchecked"] = [], []
        yield Chapter("audit", PARTS["audit"], tuple(_parts(audit_layout.blocks(audit, wide=True))))
    else:
        yield Chapter("audit", PARTS["audit"], (_why_unknown(report, "audit"),))
    yield from _kubelet(report)
    machine = report["machine"].copy()
    machine["findings"] = []
    yield Chapter("machine", "Machine", tuple(_parts(topology.blocks(machine, wide=False))))
    yield Chapter("inputs", "Inputs", tuple(_inputs(report)), folded=True)


def _kubelet(report: Report) -> Iterator[Chapter]:
    checked = report["configuration"].copy()
    checked["findings"] = []
    shown = config_check.blocks(checked, wide=False, alone=False)
    yield Chapter("configuration", PARTS["configuration"], tuple(_parts(shown)))
    if "state" in report:
        state = report["state"].copy()
        state["findings"] = []
        yield Chapter("state", PARTS["state"], tuple(_parts(checkpointverify.blocks(state, wide=True))))
    else:
        yield Chapter("state", PARTS["state"], (_why_unknown(report, "state"),))


def _why_unknown(report: Report, part: str) -> Unknowns:
    unknown = [each["what"] for each in report["unknown"] if each["part"] == part]
    return Unknowns(tuple(unknown or ["unknown"]))


def _findings(report: Report) -> Iterator[Fact]:
    for part, about, pod, each in findings_of(report):
        compared = [
            f"{word} {value}"
            for word, value in (("expected", each["expected"]), ("found", each["detected"]))
            if value
        ]
        yield Fact(
            severity=each["severity"],
            code=f"{'Machine' if part == 'machine' else PARTS[part]}: {each['code']}",
            about=about,
            message=each["message"],
            detail=", ".join(compared),
            fix=each["fix"],
            see=each.get("see", ""),
            pod=pod,
        )


def _holders(report: Report) -> Iterator[Item]:
    yield CPUMap(_map_facts(report))
    if "holders" not in report:
        yield _why_unknown(report, "holders")
        return
    dump = report["holders"]
    pool = dump["cpus"]["sharedPool"] if "cpus" in dump else ""
    if "cpus" in dump:
        yield Sentences((StyledText(shared_sentence(pool, _reserved(report))),))
        yield from _owners(dump["cpus"]["holders"])
    rest = dump.copy()
    rest.pop("cpus", None)
    rest.pop("map", None)
    yield from _parts(checkpointdump.blocks(rest, wide=False))


def _reserved(report: Report) -> str:
    node = report["configuration"].get("node")
    return node["reservedCPUs"] if node is not None and node["cpuManagerPolicy"] == "static" else ""


def _map_facts(report: Report) -> MachineFacts:
    if "holders" in report and "map" in report["holders"]:
        return replace(dump_facts(report["holders"], _reserved(report)), lines=())
    return replace(topology_facts(report["machine"]), lines=())


def _owners(holders: list[CPUHolder]) -> Iterator[Grid]:
    """Show which container holds which CPUs, with the colour and letters of its CPUs in the map."""
    if not holders:
        return
    (grid,) = page_parts([cpu_table(holders, wide=False, marked=True)])
    assert isinstance(grid, Grid)
    rows, about = [], list[Attributes]()
    for place, (holder, row) in enumerate(zip(holders, grid.rows, strict=True)):
        mark = row[0]._replace(swatch=" ".join(owner_classes(place)))
        rows.append((mark, *row[1:]))
        about.append({"data-pod": pod_of_cpus(holder), "data-o": holder["mark"]})
    yield grid._replace(rows=tuple(rows), about=tuple(about))


def _pods(report: Report, plan: StartedPlan | NotStartedPlan) -> Iterator[Item]:
    """Show what happens to the pods to be added, and why some are rejected."""
    warnings = [StyledText(each["message"], "warn") for each in plan["warnings"]]
    if warnings:
        yield Sentences(tuple(warnings))
    if "after" not in plan:
        yield from _parts(plan_layout.blocks(plan, wide=True))
        return
    yield from _parts([plan_layout.pods_table(plan["pods"], wide=True)])
    for each in report.get("explanations", ()):
        yield _explained(each)
    if left := report.get("unexplained"):
        text = f"not explained here: {', '.join(left)} (use cpuctl explain POD)"
        yield Sentences((StyledText(text, "warn"),))
    yield Fold(StyledText("Remaining resources"), tuple(_left(plan)))


def _after(plan: StartedPlan, planned: PlanPicture) -> Iterator[Item]:
    """Show which container holds which CPUs once the pods run, without the pods that are not admitted."""
    facts = plan_facts(plan, planned)
    yield CPUMap(replace(facts, lines=()), "map-after")
    shared = CPUSet.of(cpu.number for cpu in facts.cpus if cpu.row.get("shared"))
    reserved = plan["node"].get("reservedCPUs", "")
    yield Sentences((StyledText(shared_sentence(str(shared), reserved, is_new=starts_first(plan))),))
    yield from _owners(planned["holders"])


def _left(plan: StartedPlan) -> Iterator[Part]:
    after, found = plan["after"], list[Block]()
    if plan["node"]["cpuManagerPolicy"] != "none":
        found.append(plan_layout.numa_table(after))
    if "memory" in after:
        found.append(memory_table(after["memory"], wide=False))
    if "devices" in after:
        found.append(devices_table(after["devices"]))
    yield from _parts([*found, Lines.of(*plan_layout.closing_lines(plan))])


def _explained(document: Explanation) -> Fold:
    parts = tuple(_parts(explanation.blocks(document, wide=True)))
    if "pod" not in document:
        return Fold(StyledText("The kubelet would not start", "bad"), parts)
    pod = document["pod"]
    name = full_name(pod)
    return Fold(StyledText(f"{name}: {rejection_text(pod)}", "bad"), parts, name)


def _inputs(report: Report) -> Iterator[Part]:
    rows = tuple(
        (StyledText(name), StyledText(entry["value"]), StyledText(entry["from"]))
        for name, entry in report["sources"].items()
    )
    yield Grid((Heading("Input"), Heading("Value"), Heading("From")), rows)
    if warnings := report["warnings"]:
        yield Sentences(tuple(StyledText(text, "warn") for text in warnings))


def _parts(blocks: Iterable[Block]) -> Iterator[Part]:
    """Convert tables and sentences, and mark the rows of tables with the pod that they belong to."""
    for part in page_parts(each for each in blocks if isinstance(each, Lines | Table)):
        yield _by_pod(part) if isinstance(part, Grid) else part


def _by_pod(grid: Grid) -> Grid:
    """Return the pod of every row: only a pod's first row contains its name."""
    names = [heading.name for heading in grid.headings]
    if "POD" not in names:
        return grid
    column, pod, about = names.index("POD"), "", list[Attributes]()
    for row in grid.rows:
        pod = row[column].text or pod
        about.append({"data-pod": pod})
    return grid._replace(about=tuple(about))
