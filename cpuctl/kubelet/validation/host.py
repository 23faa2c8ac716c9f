"""Rules that hold for Linux hosts; the kubelet stops at the first of them that is broken.

Rule: ``pkg/kubelet/apis/config/validation/validation_linux.go``, 1.31 to 1.36.
"""

from __future__ import annotations

from functools import partial

from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.validation.rule import PREFIX, Breaks, Broken, Rule, Subject, when

_UNIT, _MOST = 65536, (1 << 32) - 1
_IDS = "userNamespaces.idsPerPod"
_rule = partial(Rule, each=lambda _: (None,), ends=True)
_V1 = "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is"


def _refuses_v1(subject: Subject) -> Broken:
    refuses = subject.config.fail_cgroup_v1
    if refuses is None:
        refuses = behaviours(subject.minor).refuses_cgroup_v1_by_default
    return when(subject.cgroup_version == 1 and refuses)


def _spares_groups(subject: Subject) -> Broken:
    return when(subject.cgroup_version == 1 and subject.config.single_process_oom_kill is False)


def _ids(wrong: str) -> Breaks:
    """Break where the number of IDs is set, and is wrong in one way."""

    def breaks(subject: Subject) -> Broken:
        value = subject.member("userNamespaces", "idsPerPod")
        number = _UNIT if value is None else int(value)
        ways = {"few": number < _UNIT, "odd": bool(number % _UNIT), "many": number > _MOST}
        return when(ways[wrong])

    return breaks


HOST = (
    _rule("failCgroupV1", f"{_V1} in maintenance mode", _refuses_v1, since=31, until=35),
    _rule(
        "failCgroupV1", f"{_V1} unsupported and will be removed in a future release", _refuses_v1, since=35
    ),
    _rule(
        "singleProcessOOMKill",
        f"{PREFIX}singleProcessOOMKill must not be explicitly set to false when using cgroup v1",
        _spares_groups,
        since=32,
    ),
    _rule(_IDS, f"{PREFIX}{_IDS} must not be less than {_UNIT}", _ids("few"), since=33),
    _rule(_IDS, f"{PREFIX}{_IDS} must be a multiple of {_UNIT}", _ids("odd"), since=33),
    _rule(_IDS, f"{PREFIX}{_IDS} must not be more than {_MOST}", _ids("many"), since=33),
)
