from __future__ import annotations

import pytest

from cpuctl.kubelet.golang import map_text, parse_bool, quoted


def test_booleans() -> None:
    assert all(map(parse_bool, ["1", "t", "T", "TRUE", "true", "True"]))
    assert not any(map(parse_bool, ["0", "f", "F", "FALSE", "false", "False"]))


@pytest.mark.parametrize("text", ["", "yes", "tRUE"])
def test_other_booleans_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=rf'^strconv.ParseBool: parsing "{text}": invalid syntax$'):
        parse_bool(text)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("plain ä", '"plain ä"'),
        ('say "hi"\\', r'"say \"hi\"\\"'),
        ("\t\n\x00\x7f", r'"\t\n\x00\x7f"'),
        ("\u200b\U000e0001", r'"\u200b\U000e0001"'),
    ],
)
def test_quoting(text: str, want: str) -> None:
    assert quoted(text) == want


def test_maps_are_printed_by_key() -> None:
    assert map_text({"b": 1, "a": "x"}) == "map[a:x b:1]"
    assert map_text({}) == "map[]"
