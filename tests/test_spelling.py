from __future__ import annotations

import pytest

from cpuctl.spelling import did_you_mean, nearest


@pytest.mark.parametrize(
    ("word", "want"),
    [("STATIC", "static"), ("statik", "static"), ("None", "none"), ("non", "none"), ("xyz", ""), ("", "")],
)
def test_nearest_name(word: str, want: str) -> None:
    assert nearest(word, ("none", "static")) == want


def test_nothing_is_nearest_without_known_names() -> None:
    assert nearest("static", ()) == ""


def test_hint_has_the_nearest_name_or_the_alternative() -> None:
    assert did_you_mean("statik", ("none", "static"), "choose one") == "did you mean static?"
    assert did_you_mean("xyz", ("none", "static"), "choose one") == "choose one"
    assert did_you_mean("xyz", ("none", "static")) == ""
