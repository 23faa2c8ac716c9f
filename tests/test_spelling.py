from __future__ import annotations

import pytest

from cpuctl.spelling import nearest


@pytest.mark.parametrize(
    ("word", "want"),
    [("STATIC", "static"), ("statik", "static"), ("None", "none"), ("non", "none"), ("xyz", ""), ("", "")],
)
def test_the_nearest_name(word: str, want: str) -> None:
    assert nearest(word, ("none", "static")) == want


def test_no_name_is_near_where_there_are_none() -> None:
    assert nearest("static", ()) == ""
