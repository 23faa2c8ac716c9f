from __future__ import annotations

import pytest

from cpuctl.spelling import did_you_mean, nearest


@pytest.mark.parametrize(
    ("word", "want"),
    [("STATIC", "static"), ("statik", "static"), ("None", "none"), ("non", "none"), ("xyz", ""), ("", "")],
)
def test_the_nearest_name(word: str, want: str) -> None:
    assert nearest(word, ("none", "static")) == want


def test_no_name_is_near_where_there_are_none() -> None:
    assert nearest("static", ()) == ""


def test_a_hint_names_what_was_meant_or_says_something_else() -> None:
    assert did_you_mean("statik", ("none", "static"), "choose one") == "did you mean static?"
    assert did_you_mean("xyz", ("none", "static"), "choose one") == "choose one"
    assert did_you_mean("xyz", ("none", "static")) == ""
