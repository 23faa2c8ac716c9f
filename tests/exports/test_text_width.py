"""Text that would not fit is shortened in the middle, so that its ends stay readable."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.exports.text_width import ELLIPSIS, bounded, fitted, text_width, wrapped
from cpuctl.visible_text import printable
from tests.support.drawn_rows import HOSTILE


@given(HOSTILE, st.floats(20, 400), st.booleans())
def test_fitted_text_fits(text: str, width: float, bold: bool) -> None:
    shown = fitted(text, width, 12, bold=bold)
    assert text_width(shown, 12, bold=bold) <= width
    if text_width(text, 12, bold=bold) <= width and len(printable(text)) <= 1000:
        assert shown == printable(text)
    else:
        assert ELLIPSIS in shown


@given(st.lists(HOSTILE, max_size=5).map(" ".join), st.floats(60, 400))
def test_wrapped_lines_fit_and_keep_all_words_that_fit(text: str, width: float) -> None:
    lines = list(wrapped(text, width, 12))
    assert all(text_width(line, 12) <= width for line in lines)
    if len(text) <= 1000 and all(text_width(word, 12) <= width for word in text.split()):
        assert " ".join(lines) == " ".join(printable(word) for word in text.split())


def test_the_middle_is_cut() -> None:
    assert fitted("telemetry/collector-7f9c8-x2k4q main", 150, 12) == "telemetry/co…q main"
    assert bounded("abcdefghij", 6) == "abcd…j"
    assert bounded("abc", 3) == "abc"
