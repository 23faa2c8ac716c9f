"""Any timeline, however odd, ends in an answer or in an error that names the place."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.answering.replay_answer import replay_document
from cpuctl.errors import InputError
from cpuctl.timeline.example import EXAMPLE
from cpuctl.timeline.reading.document import TimelineLoaders, read_timeline
from tests.timeline.replaying import OUTSIDE, replay

FOLDER = Path(__file__).parents[2] / "fixtures" / "timelines"
RIGHT: list[Any] = [
    yaml.safe_load(text)
    for text in (
        EXAMPLE,
        *(
            (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
            for name in (
                "offline-cpu",
                "grace-of-pods",
                "kep-5526-lifecycle",
                "scenario-8",
                "reported-at-once",
            )
        ),
    )
]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 20),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(
        ["0s", "5s", "1ms", "1ns", "744h", "dpdk", "dpdk/app", "start", "restart", "stop", "reboot"]
    ),
    st.sampled_from(["1.27", "1.36", "1.38", "static", "none", "true", "0-19", "node:0", "\x1b[2J"]),
    st.sampled_from(["synthetic:1s1n2c1t", "synthetic:2s4n8c2t", "synthetic:0n4c"]),
    st.lists(st.integers(0, 3), max_size=2),
)


@st.composite
def odd_timelines(draw: st.DrawFn) -> str:
    """Take a correct timeline, and replace, remove or repeat some of its parts."""
    document = draw(st.sampled_from(RIGHT))
    for _ in range(draw(st.integers(1, 4))):
        document = _altered(draw, document)
    return json.dumps(document)


def _altered(draw: st.DrawFn, value: Any) -> Any:
    if not isinstance(value, dict | list) or not value:
        return draw(ODD)
    value = copy.copy(value)
    key = draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
    match draw(st.integers(0, 15)):
        case 15:
            del value[key]
        case 14:
            value[key] = draw(ODD)
        case 13 if isinstance(value, list):
            value.insert(draw(st.integers(0, len(value))), value[key])
        case 12 if isinstance(value, list):
            value.reverse()
        case _:
            value[key] = _altered(draw, value[key])
    return value


@given(odd_timelines())
def test_every_timeline_has_an_answer_or_an_error(text: str) -> None:
    def no_such_file(name: str) -> bytes:
        raise InputError("no such file", where=name)

    def synthetic(spec: str) -> Any:
        if not spec.startswith("synthetic:"):
            raise InputError("is not synthetic", where="machine")
        return OUTSIDE.machine(spec)

    place = ""
    try:
        timeline = read_timeline(text, "odd.json", TimelineLoaders(synthetic, no_such_file))
        answer = json.dumps(replay_document(replay(timeline), {}))
    except InputError as error:
        answer, place = "", error.where
    assert answer or place
