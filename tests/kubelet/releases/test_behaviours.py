"""The list of differences between releases, and what is derived from it."""

from __future__ import annotations

import re

import pytest

from cpuctl.engine.cpu.picking.packed import PickerRules, picker_rules
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.releases.behaviours import Behaviours, behaviours
from cpuctl.kubelet.releases.difference import Difference
from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.releases.differences.node_and_admission import NODE_AND_ADMISSION
from cpuctl.kubelet.releases.differences.resources import RESOURCES
from cpuctl.kubelet.version import NEWEST, OLDEST
from tests.support.kubelet_config import read_kubelet_config

MINORS = range(OLDEST, NEWEST + 1)
SOURCE = re.compile(r"[1-9][0-9]{5}|KEP-[1-9][0-9]{2,3}|\w+\.go, 1\.[0-9]{2}")


def test_a_difference_is_in_the_module_of_its_release_alone() -> None:
    """One with the same name as another would replace it."""
    earlier = [*NODE_AND_ADMISSION.items(), *RESOURCES.items()]
    assert [*DIFFERENCES.items()][: len(earlier)] == earlier
    since = [difference.since for difference in DIFFERENCES.values()]
    assert max(since[: len(earlier)]) < 37 <= min(since[len(earlier) :])


def test_every_field_is_a_difference_in_order() -> None:
    names = Behaviours._fields
    assert list(names) == sorted(DIFFERENCES.keys() & set(names))


def test_a_release_has_all_behaviours_that_began_up_to_it() -> None:
    begun = {minor: sum(vars(behaviours(minor)).values()) for minor in MINORS}
    assert begun[27] == 0
    assert begun[38] == len(Behaviours._fields)
    assert begun[36] == sum(DIFFERENCES[name].since <= 36 for name in Behaviours._fields)


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences_are_described_in_full(name: str) -> None:
    difference = DIFFERENCES[name]
    assert OLDEST < difference.since <= NEWEST
    assert SOURCE.fullmatch(difference.source)
    assert difference.before != difference.after


def by_gate() -> dict[str, Difference]:
    return {name: difference for name, difference in DIFFERENCES.items() if difference.gate}


@pytest.mark.parametrize("name", by_gate())
def test_differences_by_gate_begin_where_the_gate_turns_on(name: str) -> None:
    """A gate that a difference depends on is on by default exactly from its release on, or it is alpha."""
    difference = DIFFERENCES[name]
    before, after = (FeatureGates(minor) for minor in (difference.since - 1, difference.since))
    stage = after.stage(difference.gate)
    assert stage is not None
    assert not before.enabled(difference.gate)
    assert after.enabled(difference.gate) == (stage.stage != "a")


def test_what_is_announced_is_not_called_verified() -> None:
    assert {name for name, difference in DIFFERENCES.items() if difference.evidence == "preview"} == {
        "resizes_exclusive_cpus",
        "delays_scale_down",
    }


def test_picker_rules_follow_from_the_release() -> None:
    assert all(
        picker_rules(behaviours(minor), align_by_socket=True) == PickerRules() for minor in range(34, 37)
    )
    assert picker_rules(behaviours(33, 6)) == PickerRules(odd_requests_fit_caches=False)
    assert picker_rules(behaviours(33)) == PickerRules()
    assert picker_rules(behaviours(28)) == PickerRules(odd_requests_fit_caches=False, reports_figures=False)
    assert picker_rules(behaviours(37), align_by_socket=True) == PickerRules(
        align_by_socket=True, limits_share=True
    )
    assert picker_rules(behaviours(37)) == PickerRules(limits_share=True)
    assert picker_rules(behaviours(38)) == PickerRules(
        limits_share=True,
        hint_floor=True,
        spreads_over_cores=True,
        counts_whole_groups=True,
        copies_combinations=True,
    )


def test_defaults_of_the_configuration_follow_from_the_release() -> None:
    text = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    for minor in MINORS:
        config, release = read_kubelet_config(text, "main.yaml", minor).config, behaviours(minor)
        assert ("imagefs.inodesFree" in config.eviction_hard) == release.default_inode_threshold_of_images
        assert (config.memory_throttling_factor is None) == release.memory_throttling_is_opt_in
        if config.fail_cgroup_v1 is not None:
            assert config.fail_cgroup_v1 == release.rejects_cgroup_v1_by_default


def test_a_backport_applies_from_its_patch_on() -> None:
    backported = DIFFERENCES["drop_ins"]._replace(since=35, patches={33: 5, 34: 1})
    assert [backported.holds(*version) for version in [(33, 4), (33, 5), (33, None), (34, 0), (34, 1)]] == [
        *(False, True, True),
        *(False, True),
    ]
    assert backported.holds(35, 0)
    assert not backported.holds(32, 99)
