"""Whether a kubelet starts, in lines and colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from cpuctl.cli.render.tables.start import verdict_cell

if TYPE_CHECKING:
    from cpuctl.answers.start import Start


def test_the_colour_of_a_verdict_matches_the_answer() -> None:
    """A "no" is never green: with errors the answer is "no" even if the kubelet would start."""
    started, refused = {"outcome": "Started"}, {"outcome": "Rejected", "stage": "load", "error": "x"}
    styles = {
        (start["outcome"], errors): verdict_cell(cast("Start", start), "The kubelet", errors=errors).style
        for start in (started, refused)
        for errors in (0, 1)
    }
    assert styles == {
        ("Started", 0): "green",
        ("Started", 1): "yellow",
        ("Rejected", 0): "red",
        ("Rejected", 1): "red",
    }
