"""Settings as words on a command line."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.errors import UsageError
from cpuctl.kubelet.configuration.setting_overrides import read_setting_overrides
from cpuctl.kubelet.configuration.settings import DEFAULT_ORIGIN, Setting, plain, uniform


def patch(text: str) -> dict[str, Any]:
    return {name: plain(setting) for name, setting in read_setting_overrides(text, "--here").patch.items()}


@pytest.mark.parametrize("text", ["", ".", "current", " . "])
def test_some_words_mean_no_change(text: str) -> None:
    words = read_setting_overrides(text, "--here")
    assert (words.text, words.version, dict(words.gates), words.patch) == ("", None, {}, {})


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("topologyManagerPolicy=restricted", {"topologyManagerPolicy": "restricted"}),
        ("maxPods=5, podsPerCore = 2", {"maxPods": 5, "podsPerCore": 2}),
        ("cpuCFSQuota=false,failSwapOn=T", {"cpuCFSQuota": False, "failSwapOn": True}),
        ("podPidsLimit=-1", {"podPidsLimit": -1}),
        ("cpuManagerReconcilePeriod=500ms", {"cpuManagerReconcilePeriod": "500ms"}),
        ("cpuManagerPolicy=", {"cpuManagerPolicy": ""}),
        ("maxPods=5,maxPods=6", {"maxPods": 6}),
        (
            "cpuManagerPolicyOptions.full-pcpus-only=true,cpuManagerPolicyOptions.align-by-socket=false",
            {"cpuManagerPolicyOptions": {"full-pcpus-only": "true", "align-by-socket": "false"}},
        ),
        (
            "full-pcpus-only=false,max-allowable-numa-nodes=16",
            {
                "cpuManagerPolicyOptions": {"full-pcpus-only": "false"},
                "topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "16"},
            },
        ),
        ("evictionHard.memory.available=5%", {"evictionHard": {"memory.available": "5%"}}),
        ("kubeReserved.cpu=1,kubeReserved.memory=1Gi", {"kubeReserved": {"cpu": "1", "memory": "1Gi"}}),
        ("memorySwap.swapBehavior=NoSwap", {"memorySwap": {"swapBehavior": "NoSwap"}}),
        ("memoryReservationPolicy=None", {"memoryReservationPolicy": "None"}),
        ("reservedSystemCPUs=0,16-17,20,maxPods=9", {"reservedSystemCPUs": "0,16-17,20", "maxPods": 9}),
        ("enforceNodeAllocatable=pods,kube-reserved", {"enforceNodeAllocatable": ["pods", "kube-reserved"]}),
        (
            "reservedMemory=0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=2Gi,maxPods=9",
            {
                "reservedMemory": [
                    {"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-1Gi": "2Gi"}},
                    {"numaNode": 1, "limits": {"memory": "2Gi"}},
                ],
                "maxPods": 9,
            },
        ),
    ],
)
def test_values_are_read_as_flags_read_them(text: str, want: dict[str, Any]) -> None:
    assert patch(text) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("static", {"cpuManagerPolicy": "static"}),
        (
            "single-numa-node,pod",
            {"topologyManagerPolicy": "single-numa-node", "topologyManagerScope": "pod"},
        ),
        ("strict-cpu-reservation", {"cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}),
        (
            "prefer-closest-numa-nodes",
            {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"}},
        ),
    ],
)
def test_unambiguous_values_need_no_setting_name(text: str, want: dict[str, Any]) -> None:
    assert patch(text) == want


@pytest.mark.parametrize("text", ["1.37", "v1.37.2", "1.37-rc.0", "1.37+build", "kubeletVersion=1.37"])
def test_a_release_is_a_setting(text: str) -> None:
    version = read_setting_overrides(f"pod,{text}", "--here").version
    assert version is not None
    assert version.minor == 37


def test_gates_are_kept_separately() -> None:
    words = read_setting_overrides("featureGates.PodLevelResources=true,featureGates.AllAlpha=0", "--here")
    assert words.gates == {"PodLevelResources": True, "AllAlpha": False}
    assert words.patch == {}


def test_members_are_added_to_existing_ones() -> None:
    words = read_setting_overrides("kubeReserved.cpu=2,maxPods=5,enforceNodeAllocatable=pods", "--here")
    before = {
        "kubeReserved": uniform({"cpu": "1", "memory": "1Gi"}, DEFAULT_ORIGIN),
        "enforceNodeAllocatable": Setting(["kube-reserved"]),
        "podsPerCore": Setting(3),
    }
    after = {name: plain(setting) for name, setting in words.applied_to(before).items()}
    assert after == {
        "kubeReserved": {"cpu": "2", "memory": "1Gi"},
        "maxPods": 5,
        "enforceNodeAllocatable": ["pods"],
    }


REFUSALS = [
    ("topologyManagerPolcy=x", "is not one of the kubelet's settings", "did you mean topologyManagerPolicy?"),
    ("kubletVersion=1.36", "is not one of the kubelet's settings", "did you mean kubeletVersion?"),
    ("full-pcpu-only=false", "is not one of the kubelet's settings", "did you mean full-pcpus-only?"),
    ("nonsense=1", '"nonsense" is not one of', "write NAME=VALUE"),
    ("restriced", "expected NAME=VALUE or a policy, found 'restriced'", "did you mean restricted?"),
    ("none", "expected NAME=VALUE or a policy, found 'none'", "write cpuManagerPolicy=none or topology"),
    ("Static", "expected NAME=VALUE or a policy, found 'Static'", "write memoryManagerPolicy=Static"),
    ("pod,,container", "expected NAME=VALUE or a policy, found ''", "write NAME=VALUE"),
    (",", "expected NAME=VALUE or a policy, found ''", "write NAME=VALUE"),
    ("=1", '"" is not one of', "write NAME=VALUE"),
    ("maxPods=many", 'maxPods=many: strconv.ParseInt: parsing "many": invalid syntax', "write NAME=VALUE"),
    ("maxPods.x=1", "maxPods has no members, found maxPods.x", "write maxPods=1"),
    (
        "kubeReserved=1",
        "kubeReserved is a mapping: specify a member",
        "write kubeReserved.MEMBER=VALUE",
    ),
    ("memorySwap=x", "memorySwap is a mapping: specify a member", "write memorySwap.MEMBER=VALUE"),
    ("memorySwap.swapBehaviour=x", "not one of the members of memorySwap", "did you mean swapBehavior?"),
    (
        "cpuManagerPolicyOptions.full-pcpu-only=true",
        "not one of the members of cpuManagerPolicyOptions",
        "did you mean full-pcpus-only?",
    ),
    ("featureGates.PodLevelResource=true", "the known feature gates", "did you mean PodLevelResources?"),
    ("featureGates=true", "the known feature gates", "write NAME=VALUE"),
    ("featureGates.PodLevelResources=yes", 'strconv.ParseBool: parsing "yes"', "write NAME=VALUE"),
    ("kubeletVersion=1.99", "kubelet 1.99 is not supported", ""),
    ("1.99", "kubelet 1.99 is not supported", ""),
    ("kubeletVersion=latest", "is not a kubelet version", ""),
    ("registerWithTaints=a", "registerWithTaints cannot be set here", "--kubelet-config"),
    ("cpuManagerReconcilePeriod=soon", "cpuManagerReconcilePeriod=soon", "write NAME=VALUE"),
    ("reservedMemory=0:memory", "the reserved limit has incorrect value", "write NAME=VALUE"),
]


@pytest.mark.parametrize(("text", "message", "hint"), REFUSALS, ids=[case[0] for case in REFUSALS])
def test_settings_that_no_kubelet_knows_are_rejected(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_setting_overrides(text, "--here")
    assert caught.value.where == "--here"
    assert message in caught.value.message
    assert hint in caught.value.hint
