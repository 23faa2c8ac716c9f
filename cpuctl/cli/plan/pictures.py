"""``cpuctl plan --svg`` and ``--html``: the node afterwards as a picture, and all of the answer as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.cli.pictures import HTML, SVG

if TYPE_CHECKING:
    from cpuctl.answers.plan import NotStartedPlan, StartedPlan
    from cpuctl.cli.pictures import Pictures
    from cpuctl.engine.start import StartResult
    from cpuctl.operations.plan_inputs import Planning


def draw(
    pictures: Pictures,
    planning: Planning,
    document: StartedPlan | NotStartedPlan,
    node: StartResult | None,
) -> None:
    """Write what is asked for of the picture and the page."""
    from cpuctl.answering.plan.picture_answer import plan_picture
    from cpuctl.cli.plan.report import report_page
    from cpuctl.exports.machine.facts import plan_facts
    from cpuctl.exports.machine.picture import machine_svg

    named = (*planning.past.running, *planning.wanted)
    answer = plan_picture(planning.source.machine, node, named)
    picture = machine_svg(plan_facts(document, answer))
    pictures.write(SVG, lambda: picture)
    pictures.write(HTML, lambda: report_page(document, picture))
