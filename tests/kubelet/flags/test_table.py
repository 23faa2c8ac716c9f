"""Which flags a release has: those of 1.27, and what came and went since then in the kubelet's sources."""

from __future__ import annotations

import pytest

from cpuctl.kubelet.flags.table import FLAGS, GONE_BEFORE, flag_of
from cpuctl.kubelet.version import NEWEST, OLDEST

IN_1_27 = 153
CAME = {28: {"config-dir"}, 30: {"log-text-info-buffer-size", "log-text-split-stream"}, 31: {"fail-cgroupv1"}}
GONE = {
    30: {"azure-container-registry-config"},
    31: {"iptables-drop-bit", "iptables-masquerade-bit", "keep-terminated-pod-volumes"},
    34: {"cloud-config", "register-schedulable"},
    35: {"pod-infra-container-image"},
}


def flags(minor: int) -> set[str]:
    return {name for name in FLAGS if flag_of(name, minor)}


def test_the_oldest_release_has_as_many_flags_as_its_sources() -> None:
    assert len(flags(OLDEST)) == IN_1_27


@pytest.mark.parametrize("minor", range(OLDEST + 1, NEWEST + 1))
def test_what_comes_and_goes_with_a_release(minor: int) -> None:
    before, after = flags(minor - 1), flags(minor)
    assert (after - before, before - after) == (CAME.get(minor, set()), GONE.get(minor, set()))


def test_a_flag_that_was_gone_before_is_none_of_any_release() -> None:
    assert not GONE_BEFORE.keys() & FLAGS.keys()
    assert GONE_BEFORE["master-service-namespace"] == OLDEST
