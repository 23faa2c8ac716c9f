"""The shipped timelines: a node's history according to the proposals, moment by moment.

Each expects something before, during and after; a copy of it whose delay is one millisecond short fails.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from cpuctl.documents.loading import load_documents
from cpuctl.golang.durations import MILLISECOND, duration_text, parse_duration
from cpuctl.timeline.example import EXAMPLE
from cpuctl.timeline.model import KubeletAction
from cpuctl.timeline.reading.document import read_timeline
from cpuctl.timeline.reading.events import ACTIONS
from cpuctl.timeline.simulation import Simulation
from tests.support.schemas import follow_schema
from tests.timeline.replaying import OUTSIDE, replay

FOLDER = Path(__file__).parents[2] / "fixtures" / "timelines"
SHIPPED = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))}
REQUIRED = {
    *(f"scenario-{number}" for number in range(1, 10)),
    *(f"gates-{row}" for row in range(1, 9)),
    *("case-a", "case-b", "plan-downward-api", "plan-scale-delay"),
    *("kep-5554-story", "kep-5526-lifecycle"),
}
_DELAY = re.compile(r"(?P<what>\bscale-delay-time: )(?P<value>[0-9]+m?s)\b")
_PERIOD = re.compile(r"(?P<what>\bcpuManagerReconcilePeriod: )(?P<value>[0-9]+m?s)\b")
_TOO_EARLY = re.compile(r"\.cgroup$|^kubelet\.running$")
"""What must show it: a cgroup is written, or a kubelet starts, although it has to wait."""
_ONLY_MEASURED = re.compile(r"^slis\.application\.longest$")
"""In case A the delay does not affect when the set is applied, as the KEP says: only the wait is longer."""
_GRACE = "scaleDownGracePeriodSeconds: 5"


def played(text: str, name: str) -> Simulation:
    return replay(read_timeline(text, f"{name}.yaml", OUTSIDE))


def shortened(text: str) -> str:
    """Shorten the delay by a millisecond, or without a delay the time until the next pass.

    The announced field of pods counts in seconds.
    """
    delays = [found["value"] for found in _DELAY.finditer(text)]
    if any(map(parse_duration, delays)):
        return _DELAY.sub(_less, text)
    if _GRACE in text:
        return text.replace(_GRACE, "scaleDownGracePeriodSeconds: 4")
    return _PERIOD.sub(_less, text)


def _less(found: re.Match[str]) -> str:
    nanoseconds = parse_duration(found["value"])
    return found["what"] + duration_text(max(nanoseconds - MILLISECOND, 0))


def test_all_required_timelines_exist() -> None:
    assert SHIPPED.keys() >= REQUIRED


@pytest.mark.parametrize("name", SHIPPED)
def test_it_happens_as_expected(name: str) -> None:
    assert played(SHIPPED[name], name).failures == []


@pytest.mark.parametrize("name", SHIPPED)
def test_it_is_checked_before_during_and_after(name: str) -> None:
    timeline = read_timeline(SHIPPED[name], name, OUTSIDE)
    checked = [moment.at for moment in timeline.moments if moment.expect]
    assert len(set(checked)) >= 3


@pytest.mark.parametrize("name", SHIPPED)
def test_a_millisecond_less_is_detected(name: str) -> None:
    copy = shortened(SHIPPED[name])
    assert copy != SHIPPED[name]
    what = [failure.what for failure in played(copy, name).failures]
    shows_it = _ONLY_MEASURED if name == "case-a" else _TOO_EARLY
    assert [each for each in what if shows_it.search(each)], what


@pytest.mark.parametrize("name", SHIPPED)
def test_it_follows_the_schema(name: str) -> None:
    (document,) = load_documents(SHIPPED[name], name)
    follow_schema(document.value, "timeline")


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_the_volume_is_never_late(name: str) -> None:
    assert not [each for each in played(SHIPPED[name], name).world.scale_downs.all if each.late]


def test_the_example_names_every_action_and_its_comments_are_right() -> None:
    """Commented-out members are right, too, once they are uncommented."""
    whole = EXAMPLE.replace("# - {at", "- {at").replace("until: 15s\n", "")
    moments = yaml.safe_load(whole)["events"]
    assert {name for moment in moments for name in moment} >= set(ACTIONS)
    changes = [moment["kubelet"] for moment in moments if "kubelet" in moment]
    actions = {each if isinstance(each, str) else each["action"] for each in changes}
    assert actions == {*KubeletAction} - {"reboot"}
    played(whole, "example")


def test_the_example_for_new_timelines_happens_as_expected() -> None:
    simulation = played(EXAMPLE, "example")
    assert simulation.failures == []
    assert simulation.checked == 5
    (document,) = load_documents(EXAMPLE, "example")
    follow_schema(document.value, "timeline")
    assert played(shortened(EXAMPLE), "example").failures
