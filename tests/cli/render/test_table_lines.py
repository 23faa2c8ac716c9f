from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cli.render.blocks import Cell, Column, Table
from cpuctl.cli.render.table_lines import table_lines

TEXTS = st.text(alphabet="ab0-,;/ 世\N{COMBINING ACUTE ACCENT}", max_size=30)


def table(*rows: tuple[str, ...], right: str = "") -> Table:
    """Make a table of *rows*, the first of which is the headings; those in *right* are aligned so."""
    headings, *others = rows
    columns = tuple(Column(name, "right" if name in right else "left") for name in headings)
    return Table(columns, tuple(tuple(Cell(text) for text in row) for row in others))


def drawn(what: Table, width: int) -> list[str]:
    return ["".join(cell.text for cell in line) for line in table_lines(what, width)]


def test_columns_are_aligned_and_lines_end_with_their_text() -> None:
    assert drawn(table(("POD", "N", "CPUS"), ("web", "12", "0-3"), ("db", "4", ""), right="N"), 80) == [
        "POD   N  CPUS",
        "web  12  0-3",
        "db    4",
    ]


def test_long_texts_go_on_below_at_separators() -> None:
    """The gap gets narrow first; ranges of CPUs and short words stay whole."""
    assert drawn(table(("POD", "CPUS", "QOS"), ("shop/web-server", "0-15,32-47", "Burstable")), 28) == [
        "POD       CPUS     QOS",
        "shop/web- 0-15,    Burstable",
        "server    32-47",
    ]


def test_words_are_cut_when_nothing_else_helps() -> None:
    assert drawn(table(("A", "B"), ("abcdefgh", "xy")), 7) == ["A    B", "abcd xy", "efgh"]


def test_headings_are_never_cut() -> None:
    assert drawn(table(("HEADING", "OTHER"), ("a", "b")), 5) == ["HEADING OTHER", "a       b"]


def test_control_characters_cannot_break_a_line() -> None:
    assert drawn(table(("A", "B"), ("x\n\x1b[31m", "y")), 80) == ["A            B", "x\\n\\x1b[31m  y"]


def test_styles_stay_with_their_text() -> None:
    styled = Table((Column("A"),), ((Cell("0-3,8", "green"),),))
    assert list(table_lines(styled, 4))[1:] == [
        [Cell(""), Cell("0-3,", "green")],
        [Cell(""), Cell("8", "green")],
    ]


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=5), st.integers(min_value=16, max_value=120))
def test_nothing_is_lost_and_nothing_sticks_out(rows: list[tuple[str, str, str]], width: int) -> None:
    """Wide characters count twice, combining ones not at all; blanks may go where a line is folded."""
    from rich.cells import cell_len

    lines = drawn(table(("ONE", "TWO", "THREE"), *rows), width)
    assert max(map(cell_len, lines)) <= width
    shown, given_texts = "".join(lines[1:]), "".join(text for row in rows for text in row)
    assert sorted(shown.replace(" ", "")) == sorted(given_texts.replace(" ", ""))
