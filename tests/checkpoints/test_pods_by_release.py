"""How each release reads the state of pods' allocated resources, and which error is shown."""

from __future__ import annotations

import json

import pytest

from cpuctl.checkpoints.formats import data_checksum
from cpuctl.checkpoints.model import PodsStateFile, RecordedPod, RecordedResources, UnreadableState
from cpuctl.checkpoints.pods_state import read_pods_state, write_pods_state
from cpuctl.checkpoints.reader import StateReader
from cpuctl.quantity import Quantity
from cpuctl.state_names import ACTUATED_FILE, ALLOCATED_FILE

NEW = StateReader(minor=37)
CORRUPTED = "checkpoint is corrupted"
UNMARSHAL = "json: cannot unmarshal"
NO_INFORMATION = "failed to get pod resource information"
INFO_FIELD = "Go struct field PodResourceCheckpointInfo"


def pods_file(data: str) -> str:
    return json.dumps({"data": data, "checksum": data_checksum(data)})


PODS = [
    ("[]", f"{UNMARSHAL} array into Go value of type state.Checkpoint"),
    ("{}", CORRUPTED),
    ('{"data":"{}","checksum":0}', CORRUPTED),
    (
        json.dumps({"data": "", "checksum": data_checksum("")}),
        f"{NO_INFORMATION}: unexpected end of JSON input",
    ),
    (
        json.dumps({"data": '{"entries":[]}', "checksum": data_checksum('{"entries":[]}')}),
        f"{NO_INFORMATION}: {UNMARSHAL} array into {INFO_FIELD}.entries of type state.PodResourceInfoMap",
    ),
    *(
        (
            pods_file(f'{{"entries":{{"u":{pod}}}}}'),
            f"{NO_INFORMATION}: {UNMARSHAL} number into {INFO_FIELD}.{rest}",
        )
        for pod, rest in (
            ("5", "entries.u of type state.PodResourceInfo"),
            (
                '{"ContainerResources":5}',
                "entries.u.ContainerResources of type map[string]v1.ResourceRequirements",
            ),
            (
                '{"ContainerResources":{"c":5}}',
                "entries.u.ContainerResources.c of type v1.ResourceRequirements",
            ),
            (
                '{"ContainerResources":{"c":{"limits":5}}}',
                "entries.u.ContainerResources.c.limits of type v1.ResourceList",
            ),
            (
                '{"ContainerResources":{"c":{"claims":5}}}',
                "entries.u.ContainerResources.c.claims of type []v1.ResourceClaim",
            ),
            (
                '{"ContainerResources":{"c":{"claims":[5]}}}',
                "entries.u.ContainerResources.c.claims.0 of type v1.ResourceClaim",
            ),
            ('{"PodLevelResources":5}', "entries.u.PodLevelResources of type v1.ResourceRequirements"),
            (
                '{"EmptyDirVolumeLimits":5}',
                "entries.u.EmptyDirVolumeLimits of type map[string]*resource.Quantity",
            ),
        )
    ),
]
UP_TO_1_36 = [
    ('{"entries":{"u":5}}', "PodResourceCheckpointInfo.entries of type state.PodResourceInfo"),
    (
        '{"entries":{"u":{"containerResources":{"c":{"claims":[5]}}}}}',
        "ResourceRequirements.entries.ContainerResources.claims of type v1.ResourceClaim",
    ),
]


@pytest.mark.parametrize(("data", "place"), UP_TO_1_36)
def test_a_broken_pods_state_in_the_words_of_go_up_to_1_26(data: str, place: str) -> None:
    wanted = f"{NO_INFORMATION}: {UNMARSHAL} number into Go struct field {place}"
    assert read_pods_state(pods_file(data), StateReader(minor=36)) == UnreadableState(wanted)


WRONG_AMOUNT = '{"entries":{"u":{"ContainerResources":{"c":{"limits":{"cpu":"2x"}}}}}}'


@pytest.mark.parametrize(("text", "error"), PODS, ids=[text[:30] for text, _ in PODS])
def test_a_broken_pods_state(text: str, error: str) -> None:
    assert read_pods_state(text, NEW) == UnreadableState(error)


def test_an_invalid_amount() -> None:
    read = read_pods_state(json.dumps({"data": WRONG_AMOUNT, "checksum": data_checksum(WRONG_AMOUNT)}))
    assert isinstance(read, UnreadableState)
    assert "quantities must match the regular expression" in read.error


def test_empty_members_are_not_written_except_a_pods_own() -> None:
    """As in the JSON of pods; ``claims`` may or may not name a request."""
    some = RecordedResources(claims=(("gpu", ""), ("nic", "one")))
    state = PodsStateFile(pods={"u": RecordedPod(containers={"a": RecordedResources(), "b": some})})
    text = write_pods_state(state, NEW)
    assert json.loads(text)["data"] == (
        '{"entries":{"u":{"ContainerResources":{"a":{},"b":{"claims":[{"name":"gpu"},'
        '{"name":"nic","request":"one"}]}},"PodLevelResources":null,"EmptyDirVolumeLimits":null}}}'
    )
    assert read_pods_state(text, NEW) == state


def test_the_kubelets_names_of_the_files() -> None:
    assert (ALLOCATED_FILE, ACTUATED_FILE) == ("allocated_pods_state", "actuated_pods_state")


def test_null_means_empty_in_a_pods_state() -> None:
    amounts = '{"limits":{"cpu":null},"requests":null,"claims":null}'
    pod = f'{{"ContainerResources":{{"c":{amounts}}},"EmptyDirVolumeLimits":{{"v":null}}}}'
    read = read_pods_state(pods_file(f'{{"entries":{{"u":{pod}}}}}'), NEW)
    assert RecordedResources() == RecordedResources(limits={}, requests={}, claims=())
    nothing = RecordedResources(limits={"cpu": Quantity()})
    assert read == PodsStateFile(
        pods={"u": RecordedPod(containers={"c": nothing}, volume_limits={"v": None})}
    )
    for data in ("{}", '{"entries":null}', '{"entries":{}}'):
        assert read_pods_state(pods_file(data)) == PodsStateFile()
    assert json.loads(write_pods_state(PodsStateFile()))["data"] == "{}"


def test_additions_of_a_newer_kubelet_are_ignored() -> None:
    pod = '{"ContainerResources":null,"PodLevelResources":{"limits":{"cpu":2}}}'
    data = f'{{"podList":"CgA=","entries":{{"u":{pod}}}}}'
    text = json.dumps({"version": "v2", "data": data, "checksum": data_checksum(data)})
    read = read_pods_state(text)
    assert isinstance(read, PodsStateFile)
    assert read.pods["u"].pod_level is not None
    assert str(read.pods["u"].pod_level.limits["cpu"]) == "2"
    assert read_pods_state(text, StateReader(minor=34)) != read
