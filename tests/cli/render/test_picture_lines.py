from __future__ import annotations

import io
import sys

import pytest

from cpuctl.cli.render.blocks import Box, Cell, Flow, Picture
from cpuctl.cli.render.picture_lines import picture_lines

FOUR = Flow(tuple((Cell("["), Cell(text), Cell("]")) for text in ("a", "b", "long", "d")))


def drawn(what: Picture, width: int) -> list[str]:
    return ["".join(cell.text for cell in line) for line in picture_lines(what, width)]


def test_items_stand_in_columns() -> None:
    assert drawn(FOUR, 18) == ["[ a ]     [ b ]", "[ long ]  [ d ]"]


def test_boxes_are_as_narrow_as_their_content() -> None:
    assert drawn(Box("Socket 0", (Flow(((Cell("0"),),)),)), 80) == [
        "╭─ Socket 0 ╮",
        "│ 0         │",
        "╰───────────╯",
    ]


def test_boxes_stand_side_by_side_while_they_fit() -> None:
    inner = tuple(Box(f"L3 {n}", (Flow(((Cell(str(n)),),)),)) for n in range(3))
    assert drawn(Box("Node", inner), 23) == [
        "╭─ Node ──────────────╮",
        "│ ╭─ L3 0 ╮ ╭─ L3 1 ╮ │",
        "│ │ 0     │ │ 1     │ │",
        "│ ╰───────╯ ╰───────╯ │",
        "│ ╭─ L3 2 ╮           │",
        "│ │ 2     │           │",
        "│ ╰───────╯           │",
        "╰─────────────────────╯",
    ]
    assert len(drawn(Box("Node", inner), 22)) == 11


def test_frames_are_plain_where_stdout_knows_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert drawn(Box("L3 0", (Flow(((Cell("0"),),)),)), 80) == ["+- L3 0 +", "| 0     |", "+-------+"]
