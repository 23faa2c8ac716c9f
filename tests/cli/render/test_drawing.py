"""Tables, boxes and charts of styled text."""

from __future__ import annotations

import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cli.render.blocks import Box, Cell, Chart, ChartLine, Column, Flow, Picture, Stretch, Table
from cpuctl.cli.render.drawing import chart_lines, picture_lines, table_lines

TEXTS = st.text(alphabet="ab0-,;/ 世\N{COMBINING ACUTE ACCENT}", max_size=30)


def table(*rows: tuple[str, ...], right: str = "") -> Table:
    """Make a table of *rows*, the first of which has the headings; columns in *right* are right-aligned."""
    headings, *others = rows
    columns = tuple(Column(name, "right" if name in right else "left") for name in headings)
    return Table(columns, tuple(tuple(Cell(text) for text in row) for row in others))


def drawn(what: Table, width: int, *, whole: bool = False) -> list[str]:
    return ["".join(cell.text for cell in line) for line in table_lines(what, width, whole=whole)]


def test_columns_are_aligned_and_lines_end_with_their_text() -> None:
    assert drawn(table(("POD", "N", "CPUS"), ("web", "12", "0-3"), ("db", "4", ""), right="N"), 80) == [
        "POD   N  CPUS",
        "web  12  0-3",
        "db    4",
    ]


def test_long_texts_are_wrapped_at_separators() -> None:
    """The gap narrows first; ranges of CPUs and short words are not split."""
    assert drawn(table(("POD", "CPUS", "QOS"), ("shop/web-server", "0-15,32-47", "Burstable")), 28) == [
        "POD         CPUS   QOS",
        "shop/       0-15,  Burstable",
        "web-server  32-47",
    ]


def test_tables_are_split_before_lists_of_cpus_are_broken() -> None:
    rows = (("POD", "EXPECTED", "THREADS"), ("web", "0-3,8-11,16-19", "0-3,8-11"))
    split = table(*rows)._replace(split=2, keys=1)
    assert drawn(split, 27) == ["POD EXPECTED       THREADS", "web 0-3,8-11,16-19 0-3,8-11"]
    assert drawn(split, 26) == ["POD  EXPECTED", "web  0-3,8-11,16-19", "", "POD  THREADS", "web  0-3,8-11"]


def test_words_are_wrapped_at_hyphens_only_if_nothing_else_helps() -> None:
    rows = (("OPTIONS", "B"), ("strategy=most-allocated, cpus=4", "xy"))
    assert drawn(table(*rows), 28) == [
        "OPTIONS                   B",
        "strategy=most-allocated,  xy",
        "cpus=4",
    ]
    assert drawn(table(*rows), 20) == ["OPTIONS           B", "strategy=most-    xy", "allocated, cpus=4"]


def test_rows_keep_their_length_if_words_do_not_fit() -> None:
    assert drawn(table(("A", "B"), ("abcdefgh", "xy")), 7) == ["A         B", "abcdefgh  xy"]


def test_rows_with_sentences_become_blocks_if_words_do_not_fit() -> None:
    message = "numMinSharedCPUs is an option that no kubelet has"
    rows = (("SEVERITY", "FIX", "MESSAGE"), ("error", "", message), ("note", "x", message))
    assert drawn(table(*rows), 25) == [
        "SEVERITY  error",
        f"MESSAGE   {message}",
        "",
        "SEVERITY  note",
        "FIX       x",
        f"MESSAGE   {message}",
    ]


def test_details_wrap_below_a_message_that_is_too_wide() -> None:
    message = "current set of available CPUs doesn't match"
    rows = (("MESSAGE", message), ("MEANS", "CPUs were switched on or off by the machine's firmware"))
    assert drawn(table(*rows), 40) == [
        f"MESSAGE {message}",
        "MEANS   CPUs were switched on or off by",
        "        the machine's firmware",
    ]


def test_indented_text_is_not_a_sentence() -> None:
    rows = (("GROUP", "PATH"), ("    pod 33333333-3333-4333-8333-333333333333", "/a"))
    assert drawn(table(*rows), 30) == [f"GROUP{'':41}PATH", f"{rows[1][0]}  /a"]


def test_whole_names_are_wrapped_neither_at_hyphens_nor_at_slashes() -> None:
    rows = (("POD", "CPUS"), ("shop/web-server", "0-15,32-47"))
    assert drawn(table(*rows), 22, whole=True) == [
        "POD             CPUS",
        "shop/web-server 0-15,",
        f"{'':16}32-47",
    ]
    assert drawn(table(*rows), 20, whole=True) == [
        "POD              CPUS",
        "shop/web-server  0-15,32-47",
    ]


def test_uids_options_and_ranges_are_not_wrapped_at_hyphens() -> None:
    uid = "cd8f44bb-fe6f-8fc9-b037-457fb7aebdb9"
    text = f"most-allocated-or-least-allocated-ones {uid} --reserved-cpus -q 10-15"
    assert drawn(table(("A", "B"), (text, "x")), 38) == [
        f"A{'':36}B",
        f"most-allocated-or-least-allocated-{'':3}x",
        "ones",
        uid,
        "--reserved-cpus -q 10-15",
    ]


def test_a_set_of_nodes_stays_on_one_line() -> None:
    lines = drawn(table(("HINTS", "B"), ("{0} {0,3} {2-3,5}", "xy")), 12)
    assert lines == ["HINTS     B", "{0} {0,3} xy", "{2-3,5}"]


def test_names_are_shortened_in_the_middle_before_wrapping_at_hyphens() -> None:
    columns = (Column("NODE", cut="middle"), Column("WHY"))
    rows = ((Cell("ip-10-0-131-1.eu-central-1.compute.internal"), Cell("not-enough cpus")),)
    lines = [
        ["".join(cell.text for cell in line) for line in table_lines(Table(columns, rows), width)]
        for width in (80, 40, 24)
    ]
    assert lines == [
        ["NODE                                         WHY", f"{rows[0][0].text}  not-enough cpus"],
        ["NODE                        WHY", "ip-10-0-131-...ute.internal not-enough", f"{'':28}cpus"],
        ["NODE              WHY", "ip-10-0...nternal not-", f"{'':18}enough", f"{'':18}cpus"],
    ]


def test_headings_are_never_cut() -> None:
    assert drawn(table(("HEADING", "OTHER"), ("a", "b")), 5) == ["HEADING  OTHER", "a        b"]


def test_control_characters_cannot_break_a_line() -> None:
    assert drawn(table(("A", "B"), ("x\n\x1b[31m", "y")), 80) == ["A            B", "x\\n\\x1b[31m  y"]


def test_styles_stay_with_their_text() -> None:
    styled = Table((Column("A"),), ((Cell("0-3,8", "green"),),))
    assert list(table_lines(styled, 4))[1:] == [
        [Cell(""), Cell("0-3,", "green")],
        [Cell(""), Cell("8", "green")],
    ]


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=5), st.integers(min_value=16, max_value=120))
def test_no_text_is_lost_and_no_word_is_broken(rows: list[tuple[str, str, str]], width: int) -> None:
    """Wide characters count as two columns, combining ones as none; blanks may be dropped at line breaks.

    No line is too wide as long as the longest words fit next to each other.
    """
    from rich.cells import cell_len

    lines = drawn(table(("ONE", "TWO", "THREE"), *rows), width)
    shown, given_texts = "".join(lines[1:]), "".join(text for row in rows for text in row)
    assert sorted(shown.replace(" ", "")) == sorted(given_texts.replace(" ", ""))
    words = {word for row in rows for text in row for word in re.split("[ ,;/-]", text)}
    assert [word for word in words if word not in shown] == []
    longest = [
        max(map(cell_len, (heading, *re.split("(?<=[ ,;/])", " ".join(texts)))))
        for heading, *texts in zip(("ONE", "TWO", "THREE"), *rows, strict=True)
    ]
    if sum(longest) + 2 <= width:
        assert max(map(cell_len, lines)) <= width


FOUR = Flow(tuple((Cell("["), Cell(text), Cell("]")) for text in ("a", "b", "long", "d")))


def drawn_picture(what: Picture, width: int) -> list[str]:
    return ["".join(cell.text for cell in line) for line in picture_lines(what, width)]


def test_items_are_in_columns() -> None:
    assert drawn_picture(FOUR, 18) == ["[ a ]     [ b ]", "[ long ]  [ d ]"]


def test_boxes_are_as_narrow_as_their_content() -> None:
    assert drawn_picture(Box("Socket 0", (Flow(((Cell("0"),),)),)), 80) == [
        "╭─ Socket 0 ╮",
        "│ 0         │",
        "╰───────────╯",
    ]


def test_boxes_are_side_by_side_as_long_as_they_fit() -> None:
    inner = tuple(Box(f"L3 {n}", (Flow(((Cell(str(n)),),)),)) for n in range(3))
    assert drawn_picture(Box("Node", inner), 23) == [
        "╭─ Node ──────────────╮",
        "│ ╭─ L3 0 ╮ ╭─ L3 1 ╮ │",
        "│ │ 0     │ │ 1     │ │",
        "│ ╰───────╯ ╰───────╯ │",
        "│ ╭─ L3 2 ╮           │",
        "│ │ 2     │           │",
        "│ ╰───────╯           │",
        "╰─────────────────────╯",
    ]
    assert len(drawn_picture(Box("Node", inner), 22)) == 11


def test_frames_are_ascii_if_stdout_supports_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert drawn_picture(Box("L3 0", (Flow(((Cell("0"),),)),)), 80) == ["+- L3 0 +", "| 0     |", "+-------+"]


SECOND = 1_000_000_000


def drawn_chart(chart: Chart, width: int) -> list[str]:
    return ["".join(cell.text for cell in line) for line in chart_lines(chart, width)]


def history(*stretches: tuple[int, int, str], name: str = "0-3") -> ChartLine:
    return ChartLine(name, tuple(Stretch(start, end, Cell(mark)) for start, end, mark in stretches))


def test_a_column_shows_the_state_at_its_end() -> None:
    line = history((0, 5, "A"), (5, 15, "a"), (15, 20, "."))
    assert drawn_chart(Chart("CPUS", (line,), 20), 25)[1] == "0-3  AAAAAaaaaaaaaaa....."


def test_a_change_within_a_column_is_visible() -> None:
    line = history((0, 39, "A"), (39, 40, "B"))
    assert drawn_chart(Chart("CPUS", (line,), 40), 25)[1] == "0-3  " + "A" * 19 + "B"


def test_a_time_without_a_stretch_is_blank() -> None:
    assert drawn_chart(Chart("CPUS", (history((10, 20, "A")),), 20), 25)[1] == "0-3  " + " " * 10 + "A" * 10


@pytest.mark.parametrize(
    ("end", "axis"),
    [
        (20 * SECOND, "CPUS 0         10s"),
        (3 * SECOND, "CPUS 0            2s"),
        (2 * SECOND, "CPUS 0         1s"),
        (250_000_000, "CPUS 0       0.1s    0.2s"),
        (3 * 3600 * SECOND, "CPUS 0            2h"),
        (20 * 60 * SECOND, "CPUS 0         10m"),
        (1, "CPUS 0"),
    ],
)
def test_ticks_are_at_round_times(end: int, axis: str) -> None:
    assert drawn_chart(Chart("CPUS", (history((0, end, "A")),), end), 25)[0] == axis


@pytest.mark.parametrize("width", [1, 25, 10_000])
def test_time_takes_between_20_and_120_columns(width: int) -> None:
    _, line = drawn_chart(Chart("CPUS", (history((0, SECOND, "A")),), SECOND), width)
    assert len(line) == 5 + (20 if width < 120 else 120)


def test_a_column_that_is_shortened_keeps_rows_on_one_line() -> None:
    columns = (Column("POD"), Column("POLICIES", cut="end"), Column("FREE"))
    rows = (
        (Cell("web"), Cell("static, single-numa-node, None"), Cell("12")),
        (Cell("db"), Cell("none"), Cell("4")),
    )
    assert drawn(Table(columns, rows), 24) == [
        "POD POLICIES        FREE",
        "web static, sing... 12",
        "db  none            4",
    ]


def test_a_command_stays_on_one_line_while_its_neighbours_wrap() -> None:
    command = Cell("cpuctl explain shop/database -f pods.yaml", command=True)
    rows = ((Cell("MEANS"), Cell("whole cores only, no odd number")), (Cell("NEXT"), command))
    message = Table((Column("MESSAGE"), Column("SMT Alignment Error")), rows)
    assert drawn(message, 30) == [
        "MESSAGE SMT Alignment Error",
        "MEANS   whole cores only, no",
        "        odd number",
        f"NEXT    {command.text}",
    ]
