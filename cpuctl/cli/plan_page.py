"""``cpuctl plan --svg`` and ``--html``: the resulting node as a picture, and the whole answer as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.pictures import HTML, SVG
from cpuctl.cli.render.blocks import Block, Lines
from cpuctl.cli.render.layouts.plan import closing_lines, node_lines, notes, numa_table, pods_table
from cpuctl.cli.render.page_parts import page_parts
from cpuctl.cli.render.tables.capacity import headroom_blocks
from cpuctl.cli.render.tables.resources import devices_table, memory_table
from cpuctl.exports.answer_text import full_name
from cpuctl.exports.outcomes import PODS, pod_counts_text, rejection_text, start_sentence
from cpuctl.exports.page import Figure, Grid, Heading, Part, Section, Sentences, StyledText, page

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Pod
    from cpuctl.answers.plan import NotStartedPlan, StartedPlan
    from cpuctl.cli.pictures import Pictures
    from cpuctl.engine.start import StartResult
    from cpuctl.exports.page import Markup
    from cpuctl.operations.plan_inputs import Planning


def draw(
    pictures: Pictures,
    planning: Planning,
    document: StartedPlan | NotStartedPlan,
    node: StartResult | None,
) -> None:
    """Draw the picture and the page, if requested."""
    from cpuctl.answering.plan.picture_answer import plan_picture
    from cpuctl.exports.machine_facts import plan_facts
    from cpuctl.exports.machine_picture import machine_svg

    named = (*planning.initial.running, *planning.incoming)
    answer = plan_picture(planning.source.machine, node, named)
    picture = machine_svg(plan_facts(document, answer))
    pictures.write(SVG, lambda: picture)
    pictures.write(HTML, lambda: report_page(document, picture))


def report_page(document: StartedPlan | NotStartedPlan, picture: Markup) -> Markup:
    """Write the page about a plan, with the picture of the resulting node."""
    return page("Plan", _verdict(document), list(_sections(document, picture)))


def _verdict(document: StartedPlan | NotStartedPlan) -> StyledText:
    if "node" not in document:
        return StyledText(start_sentence(document["start"], "The kubelet"), "bad")
    admitted = all(pod["outcome"] == "Admitted" for pod in document["pods"])
    return StyledText(pod_counts_text(document["summary"]), "good" if admitted else "bad")


def _sections(document: StartedPlan | NotStartedPlan, picture: Markup) -> Iterator[Section]:
    refused = [pod for pod in document["pods"] if pod["outcome"] != "Admitted"]
    if refused:
        yield Section("Not admitted", (_refusals(refused),))
    if document["warnings"]:
        warnings = tuple(StyledText(warning["message"], "warn") for warning in document["warnings"])
        yield Section("Warnings", (Sentences(warnings),))
    yield Section("Machine", (Figure(picture),))
    if "node" in document:
        yield Section("Placements", tuple(page_parts(_placements(document))))
        yield Section("Remaining resources", tuple(page_parts(_left(document))))
        if headroom := tuple(page_parts(headroom_blocks(document, wide=True))):
            yield Section("Headroom", headroom)
    yield Section("Settings", (*page_parts(_node(document)), _settings(document)))
    yield Section("Inputs", tuple(_inputs(document)))


def _refusals(pods: Sequence[Pod]) -> Grid:
    rows = (
        (
            StyledText(full_name(pod), "bad"),
            StyledText(pod.get("container") or ""),
            StyledText(PODS[pod["outcome"]].word),
            StyledText(rejection_text(pod)),
        )
        for pod in pods
    )
    return _grid(("Pod", "Container", "Outcome", "Reason"), rows)


def _placements(document: StartedPlan) -> Iterator[Block]:
    yield pods_table(document["pods"], wide=True)
    # Warnings and rejections have their own sections.
    admitted = [pod for pod in document["pods"] if pod["outcome"] == "Admitted"]
    if lines := tuple(notes((), admitted, document.get("explain"))):
        yield Lines(lines)


def _left(document: StartedPlan) -> Iterator[Block]:
    after = document["after"]
    if document["node"]["cpuManagerPolicy"] != "none":
        yield numa_table(after)
    if "memory" in after:
        yield memory_table(after["memory"], wide=True)
    if "devices" in after:
        yield devices_table(after["devices"])
    yield Lines.of(*closing_lines(document))


def _node(document: StartedPlan | NotStartedPlan) -> Iterator[Block]:
    if "node" in document:
        yield Lines.of(*node_lines(document["node"], document["kubelet"]))


def _settings(document: StartedPlan | NotStartedPlan) -> Grid:
    """List the kubelet's settings, and what pods get from the node (CPU in milli, memory in bytes)."""
    allocatable = document["node"].get("allocatable", {}) if "node" in document else {}
    rows = [
        *_flat(document["kubelet"]),
        *((f"allocatable {name}", str(amount)) for name, amount in allocatable.items()),
    ]
    return _grid(("Setting", "Value"), ((StyledText(name), StyledText(value)) for name, value in rows))


def _flat(settings: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)


def _inputs(document: StartedPlan | NotStartedPlan) -> Iterator[Part]:
    rows = (
        (StyledText(name), StyledText(entry["value"]), StyledText(entry["from"]))
        for name, entry in document["sources"].items()
    )
    yield _grid(("Input", "Value", "From"), rows)
    if files := document.get("state"):
        digests = ((StyledText(file["path"]), StyledText(file["sha256"])) for file in files)
        yield _grid(("State file", "SHA-256"), digests)


def _grid(headings: Iterable[str], rows: Iterable[tuple[StyledText, ...]]) -> Grid:
    return Grid(tuple(map(Heading, headings)), tuple(rows))
