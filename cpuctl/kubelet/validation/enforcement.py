"""``enforceNodeAllocatable``, which kubelets have validated in three ways over time.

Rule: ``pkg/kubelet/apis/config/validation``, 1.30, 1.31 (kubernetes 124268) and 1.32 (125982).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from cpuctl.golang.text import quoted
from cpuctl.kubelet.validation.rule import PREFIX, Breaks, Broken, Rule, Subject, when

_FIELD = "enforceNodeAllocatable"
_ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"
_SYSTEM, _KUBE, _SUFFIX = "system-reserved", "kube-reserved", "-compressible"
_EACH_SINCE, _COMPRESSIBLE_SINCE = 31, 32


def _entries(subject: Subject) -> Iterable[object]:
    return enumerate(subject.config.enforce_node_allocatable)


_rule = partial(Rule, each=_entries)


def _no_groups(subject: Subject) -> Broken:
    config = subject.config
    return when(not config.cgroups_per_qos and bool(config.enforce_node_allocatable))


def _both(key: str) -> Breaks:
    pair = {key, f"{key}{_SUFFIX}"}
    return lambda subject: when(pair <= set(subject.config.enforce_node_allocatable))


def _repeated(subject: Subject) -> Broken:
    index, entry = subject.item
    return when(entry in subject.config.enforce_node_allocatable[:index], quoted(entry))


def _without_group(key: str, *, compressible: bool) -> Breaks:
    meant = {key, f"{key}{_SUFFIX}"} if compressible else {key}
    field = f"{key.removesuffix('-reserved')}ReservedCgroup"
    return lambda subject: when(subject.item[1] in meant and not subject.text(field))


def _not_alone(subject: Subject) -> Broken:
    return when(subject.item[1] == "none" and len(subject.config.enforce_node_allocatable) > 1)


def _other_than(*known: str) -> Breaks:
    return lambda subject: when(subject.item[1] not in known, quoted(subject.item[1]))


def _needs_groups(subject: Subject) -> Broken:
    entry = subject.item[1]
    return when(entry != "none" and not subject.config.cgroups_per_qos, quoted(entry))


def _both_rule(key: str) -> Rule:
    pair = f'both "{key}" and "{key}{_SUFFIX}"'
    text = f"{PREFIX}{pair} cannot be specified together in {_ENFORCE}"
    return Rule(_FIELD, text, _both(key), since=_COMPRESSIBLE_SINCE)


def _group_rules(key: str) -> tuple[Rule, Rule]:
    short = key.removesuffix("-reserved")
    field, rule = f"{short}ReservedCgroup", _rule
    what = f"{PREFIX}{field} (--{key}-cgroup) must be specified when"
    old = f'{what} "{key}" contained in {_ENFORCE}'
    new = f'{what} "{key}" or "{key}{_SUFFIX}" included in {_ENFORCE}'
    return (
        rule(field, old, _without_group(key, compressible=False), until=_COMPRESSIBLE_SINCE),
        rule(field, new, _without_group(key, compressible=True), since=_COMPRESSIBLE_SINCE),
    )


def _valid_rules() -> tuple[Rule, Rule]:
    rule: Callable[..., Rule] = partial(_rule, _FIELD, ends=True)
    what = f"{PREFIX}option {{}} specified for {_ENFORCE}. Valid options are"
    compressible = (_SYSTEM, f"{_SYSTEM}{_SUFFIX}", _KUBE, f"{_KUBE}{_SUFFIX}")
    groups = ", ".join(map(quoted, compressible))
    return (
        rule(
            f'{what} "pods", "{_SYSTEM}", "{_KUBE}", or "none"',
            _other_than("pods", _SYSTEM, _KUBE, "none"),
            until=_COMPRESSIBLE_SINCE,
        ),
        rule(
            f'{what} "pods", {groups} or "none"',
            _other_than("pods", *compressible, "none"),
            since=_COMPRESSIBLE_SINCE,
        ),
    )


GROUPS_OF_ALL = Rule(
    "cgroupsPerQOS",
    f"{PREFIX}{_ENFORCE} is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true",
    _no_groups,
    until=_EACH_SINCE,
)
"""How releases that do not check individual entries refuse enforcement without cgroups per QoS class."""

ENFORCEMENT = (
    _both_rule(_SYSTEM),
    _both_rule(_KUBE),
    _rule(
        _FIELD, f"{PREFIX}duplicated enforcements {{}} in {_ENFORCE}", _repeated, since=_EACH_SINCE, ends=True
    ),
    *_valid_rules(),
    _rule(
        _FIELD,
        f'{PREFIX}{_ENFORCE} may not contain additional enforcements when "none" is specified',
        _not_alone,
    ),
    *_group_rules(_SYSTEM),
    *_group_rules(_KUBE),
    _rule(
        "cgroupsPerQOS",
        f"{PREFIX}cgroupsPerQOS (--cgroups-per-qos) must be set to true when {{}} contained in {_ENFORCE}",
        _needs_groups,
        since=_EACH_SINCE,
    ),
)
