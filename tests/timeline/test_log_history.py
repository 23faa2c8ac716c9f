"""A kubelet's log is replayed: the engine decides on the same pods, and differences are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cpuctl.errors import InputError, UsageError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.operations.replay import TimelineInputs, load_timeline
from cpuctl.timeline.model import Admit, KubeletAction, KubeletEvent, Remove, Timeline
from tests.timeline.logged import CONFIG, LOGS, MACHINE, PODS, load, printed, replay
from tests.timeline.replaying import read as read_written

CONFIGURED = {
    key: value
    for key, value in yaml.safe_load(Path(CONFIG).read_text()).items()
    if key not in ("apiVersion", "kind")
}
STATE = 'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-3"'
EDITS = [
    ("other CPUs", 'cpuSet="1,5"', 'cpuSet="2,6"', 'containers["shop/web/app"].cpus', "2,6", "1,5"),
    ("another pool", 'cpuSet="0,2-4,6-7"', 'cpuSet="0,3-7"', "sharedPool", "0,3-7", "0,2-4,6-7"),
    (
        "no agreement",
        '"Topology Affinity" bestHint={NUMANodeAffinity:01 Preferred:true} pod="shop/web"',
        '"Something else" pod="shop/web"',
        'pods["shop/web"].phase',
        "Failed",
        "Running",
    ),
    (
        "other hints",
        "cpu:[{NUMANodeAffinity:01 Preferred:true}]",
        "cpu:[{NUMANodeAffinity:01 Preferred:true} {NUMANodeAffinity:10 Preferred:false}]",
        'hints["shop/web/app"].cpu',
        "node 0 preferred; node 1",
        "node 0 preferred",
    ),
    (
        "another merged hint",
        'bestHint={NUMANodeAffinity:01 Preferred:true} pod="shop/web"',
        'bestHint={NUMANodeAffinity:<nil> Preferred:false} pod="shop/web"',
        'hints["shop/web/app"].best',
        "any nodes",
        "node 0 preferred",
    ),
    (
        "hints for a resource without a provider in the engine",
        "hints=map[cpu:[{",
        "hints=map[memory:[{NUMANodeAffinity:01 Preferred:true}] cpu:[{",
        'hints["shop/web/app"].memory',
        "node 0 preferred",
        None,
    ),
    (
        "hints for devices, which a replay does not know",
        "hints=map[cpu:[{",
        "hints=map[nvidia.com/gpu:[{NUMANodeAffinity:01 Preferred:true}] cpu:[{",
        None,
        None,
        None,
    ),
    ("no CPUs", '"Updated desired CPUSet"', '"x"', 'containers["shop/web/app"].cpus', "", "1,5"),
    ("an unlogged end", '"Allocate error"', '"x"', None, None, None),
]


@pytest.mark.parametrize("name", ["kubelet-1.27.log", "kubelet-1.36.jsonl"])
def test_a_correct_kubelet_has_no_difference(name: str) -> None:
    simulation = replay(load(LOGS / name))
    assert simulation.failures == []
    assert simulation.checked == 4
    assert [life.name for life in simulation.world.pods.values()] == ["shop/agent", "shop/odd"]


def test_a_failed_start_is_a_difference_if_the_engine_would_start() -> None:
    timeline = load(LOGS / "kubelet-1.31.jsonl")
    failures = replay(timeline).failures
    assert [(each.what, each.expected, each.found) for each in failures] == [
        ("kubelet.running", False, True),
        ("kubelet.error", STATE, ""),
    ]
    assert {each.place for each in failures} == {f"{LOGS}/kubelet-1.31.jsonl line 6"}
    restarts = [each.event for each in timeline.moments if isinstance(each.event, KubeletEvent)]
    assert [each.action for each in restarts] == [KubeletAction.RESTART]


@pytest.mark.parametrize(
    ("old", "new", "what", "stated", "engine"), [each[1:] for each in EDITS], ids=[each[0] for each in EDITS]
)
def test_the_first_difference_is_the_kubelets_deviation(
    old: str, new: str, what: str | None, stated: str | None, engine: str | None, tmp_path: Path
) -> None:
    log = tmp_path / "kubelet.log"
    text = (LOGS / "kubelet-1.27.log").read_text()
    assert old in text
    log.write_text(text.replace(old, new))
    failures = replay(load(log)).failures
    found = [(each.what, each.expected, each.found) for each in failures]
    assert found[:1] == ([(what, stated, engine)] if what is not None else [])


def test_merged_hints_are_not_compared_if_devices_count(tmp_path: Path) -> None:
    listed = yaml.safe_load(Path(PODS).read_text())
    for pod in listed["items"]:
        for container in pod["spec"]["containers"]:
            container.setdefault("resources", {}).setdefault("limits", {})["nvidia.com/gpu"] = 1
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump(listed))
    other = 'bestHint={NUMANodeAffinity:<nil> Preferred:false} pod="shop/web"'
    log = edited(
        lambda text: text.replace('bestHint={NUMANodeAffinity:01 Preferred:true} pod="shop/web"', other),
        tmp_path,
    )
    moments = load(log, pods=str(tmp_path / "pods.yaml")).moments
    wanted = [each.expect["hints"] for each in moments if "hints" in each.expect]
    assert wanted[0] == {"shop/web/app": {"cpu": "node 0 preferred"}}


def edited(change: Callable[[str], str], tmp_path: Path) -> Path:
    log = tmp_path / "kubelet.log"
    log.write_text(change((LOGS / "kubelet-1.27.log").read_text()))
    return log


def test_gaps_in_the_log_are_reported(tmp_path: Path) -> None:
    sources = Sources()
    pods = tmp_path / "pods.yaml"
    pods.write_text(yaml.safe_dump_all([{"apiVersion": "v1", "kind": "Pod", **POD}]))
    log = edited(lambda text: "\n".join(text.splitlines()[4:]), tmp_path)
    timeline = load(log, sources, pods=str(pods))
    assert [moment for moment in timeline.moments if isinstance(moment.event, Admit | Remove)] == []
    reported = " ".join(sources.warnings)
    assert "does not begin with a start" in reported
    assert (
        "skipped, as their manifests are missing (add them with -f): shop/agent, shop/odd, shop/web"
        in reported
    )
    assert "the kubelet gave CPUs to pods that are skipped (shop/web: 1,5)" in reported
    assert "does not mention shop/late" in reported


POD = {"metadata": {"name": "late", "namespace": "shop"}, "spec": {"containers": [{"name": "a"}]}}


def test_cpus_from_a_state_file_are_named(tmp_path: Path) -> None:
    sources = Sources()
    kept = '"Static policy: container already present in state, skipping" pod="shop/web" containerName="app"'
    load(
        edited(lambda text: text.replace('"Topology Admit Handler" podUID=uid-web', f"{kept} x=y"), tmp_path),
        sources,
    )
    assert any("shop/web had CPUs from a state file" in each for each in sources.warnings)


def test_another_process_is_another_kubelet(tmp_path: Path) -> None:
    """Even without the line with its version: a pod that it handles again is not admitted a second time."""
    again = (
        'I0823 12:35:40.000001    9999 kubelet.go:1] "SyncLoop ADD" source="api" pods=[shop/agent shop/web]\n'
        'I0823 12:35:40.000002    9999 policy_static.go:1] "Static policy: container already present in '
        'state, skipping" pod="shop/web" containerName="app"'
    )
    log = edited(lambda text: text.replace("Aug 23 12:36:00", f"{again}\nAug 23 12:36:00", 1), tmp_path)
    log.write_text(log.read_text().replace("12:36:00.700001    1234", "12:36:00.700001    9999"))
    timeline = load(log)
    events = [moment.event for moment in timeline.moments if moment.event is not None]
    assert [each.pod.pod.name for each in events if isinstance(each, Admit)] == ["agent", "web", "odd"]
    assert sum(isinstance(each, KubeletEvent) for each in events) == 2
    assert replay(timeline).failures == []


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ('I0823 12:00:00.000001 1 a.go:1] "Reconciling"', "", "contains no kubelet decisions"),
        (
            '\nI0823 12:00:00.000001 1 a.go:1] "Kubelet version" kubeletVersion="v1.19.0"',
            " line 2",
            "kubelet 1.19 is not supported",
        ),
        (
            'I0823 12:00:00.000001 1 a.go:1] "Updated default CPUSet" cpuSet="0-"',
            " line 1",
            "cpuSet: ",
        ),
    ],
)
def test_unusable_logs_are_rejected_with_their_place(
    text: str, where: str, message: str, tmp_path: Path
) -> None:
    log = tmp_path / "kubelet.log"
    log.write_text(text)
    with pytest.raises(InputError, match=message) as raised:
        load(log)
    assert raised.value.where == f"{log}{where}"


def test_a_timeline_has_its_own_pods_and_kubelet() -> None:
    name = "fixtures/timelines/scenario-1.yaml"
    for words in (
        TimelineInputs(name, filenames=(PODS,)),
        TimelineInputs(name, kubelet=KubeletInputs(config=CONFIG)),
    ):
        with pytest.raises(UsageError, match="its own pods and kubelet"):
            load_timeline(words, Sources())


@settings(max_examples=25, deadline=None)
@given(
    minor=st.sampled_from([27, 30, 31, 33, 36]),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=8),
    machine=st.sampled_from([MACHINE, "synthetic:2s2n2c2t", "synthetic:2s4n6c2t"]),
)
def test_a_printed_log_of_the_engine_is_read_back(
    minor: int, steps: list[tuple[bool, int]], machine: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A timeline printed as a kubelet's log is read back, and has no difference."""
    here: set[int] = set()
    events = []
    for second, (comes, number) in enumerate(steps, 1):
        if comes == (number in here):
            continue
        here ^= {number}
        events.append({"at": f"{second}s", "admit" if comes else "remove": f"p{number}"})
    if not events:
        return
    written = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Timeline",
        "machine": machine,
        "kubelet": {"version": f"1.{minor}.0", "config": CONFIGURED},
        "pods": [shape(number) for number in range(6)],
        "events": events,
    }
    timeline = read_written(written)
    folder = tmp_path_factory.mktemp("log")
    (folder / "kubelet.log").write_text("\n".join(printed(timeline, minor)))
    pods = [{"apiVersion": "v1", "kind": "Pod", **shape(number)} for number in range(6)]
    (folder / "pods.yaml").write_text(yaml.safe_dump_all(pods))
    back = load(folder / "kubelet.log", pods=str(folder / "pods.yaml"), machine=machine)
    assert arrivals_and_removals(back) == arrivals_and_removals(timeline)
    assert replay(back).failures == []
    assert back.setup.release.minor == minor


def arrivals_and_removals(timeline: Timeline) -> list[tuple[int, str, str]]:
    """List added and removed pods, by seconds from the first line, which the kubelet prints at its start."""
    return [
        (moment.at, type(moment.event).__name__, moment.event.pod.pod.full_name)
        if isinstance(moment.event, Admit)
        else (moment.at, type(moment.event).__name__, moment.event.pod)
        for moment in timeline.moments
        if isinstance(moment.event, Admit | Remove)
    ]


def shape(number: int) -> dict[str, object]:
    """Make one of six pods: of one CPU to six, so full-pcpus-only rejects those with an odd number."""
    limits = {"cpu": number + 1, "memory": "1Gi"}
    container = {"name": "app", "image": "app", "resources": {"limits": limits}}
    return {"metadata": {"name": f"p{number}", "namespace": "default"}, "spec": {"containers": [container]}}
