"""State files in a capture: data of plugins stays on the node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cpuctl.capture.kubelet.redaction import reduced_cdi, reduced_state
from cpuctl.checkpoints.inspection import inspect_state

RECORDED = {
    each["name"]: each
    for each in json.loads((Path(__file__).parents[3] / "fixtures/state_files/recorded.json").read_text())
}
DEVICES, CLAIMS = "device-plugins/kubelet_internal_checkpoint", "dra_manager_state"


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("wrong", [False, True])
def test_holders_and_the_result_of_the_checksum_stay(name: str, *, wrong: bool) -> None:
    file, text = RECORDED[name]["file"], RECORDED[name]["text"]
    before = inspect_state(text, file)
    if wrong:
        text = text.replace(str(before.checksums[0].written), str(before.checksums[0].written ^ 2))
    after = inspect_state(reduced_state(f"device-plugins/{file}", text), file)
    assert after.state == before.state
    assert [each.ok for each in after.checksums] == [RECORDED[name]["right"] and not wrong]


def test_data_of_plugins_and_drivers_is_removed() -> None:
    devices = reduced_state(DEVICES, RECORDED["device-of-one-gpu"]["text"])
    assert '"AllocResp":null' in devices
    claims = reduced_state(CLAIMS, RECORDED["claim-1.30"]["text"])
    assert '{"driverName":"test-driver.cdi.k8s.io"}' in claims
    assert reduced_state("cpu_manager_state", "{") == "{"


@pytest.mark.parametrize("path", [DEVICES, CLAIMS])
@pytest.mark.parametrize("text", ["", "{", "[5]", "[" * 100_000])
def test_unreadable_files_are_not_recorded(path: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"^it cannot be parsed"):
        reduced_state(path, text)


def test_structured_parameters_are_not_recorded() -> None:
    text = RECORDED["claim-1.30"]["text"].replace('"data":', '"structuredData":{"results":[]},"data":')
    with pytest.raises(ValueError, match=r"^it cannot be parsed"):
        reduced_state(CLAIMS, text)


CDI = {
    "cdiVersion": "0.8.0",
    "kind": "dra.k8s.io/cpu",
    "devices": [
        {
            "name": "claim-7d5a",
            "containerEdits": {
                "env": ["DRA_CPUSET_7d5a=2-5", "TOKEN=secret"],
                "mounts": [{"hostPath": "/key"}],
            },
        }
    ],
    "containerEdits": {"env": ["OTHER=secret"]},
}


def test_the_cpus_of_claims_in_the_drivers_file_stay() -> None:
    assert json.loads(reduced_cdi(json.dumps(CDI))) == {
        "kind": "dra.k8s.io/cpu",
        "devices": [{"name": "claim-7d5a", "containerEdits": {"env": ["DRA_CPUSET_7d5a=2-5"]}}],
    }
    assert json.loads(reduced_cdi("")) == {"kind": "dra.k8s.io/cpu", "devices": []}


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"kind": "x", "devices": [{"name": "secret"}]}'])
def test_an_invalid_cdi_specification_is_not_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=r"^it is not a CDI specification$"):
        reduced_cdi(text)
