"""What changes for a configuration when its kubelet is upgraded or downgraded to another minor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.flags.table import FLAGS, flag_of
from cpuctl.kubelet.gates.feature_gates import FeatureGates, GateStage
from cpuctl.kubelet.gates.manager_gates import MANAGER_GATES
from cpuctl.kubelet.policy_options import CPU_POLICY_OPTIONS, TOPOLOGY_OPTIONS, OptionHistory
from cpuctl.kubelet.releases.concerns import FeatureUse, difference_concerns, gate_concerns
from cpuctl.kubelet.releases.difference import Difference
from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.validation.rule import Rule
from cpuctl.kubelet.version import KubeletVersion

RESIZE_GATE = "InPlacePodVerticalScaling"


class GateChange(NamedTuple):
    """A gate that differs in the other release; a stage is None if the gate does not exist.

    ``on_before`` and ``on_after`` are whether the feature is on, given the configuration. ``problem`` is the
    kubelet's error if the other release refuses how the gate is set.
    """

    gate: str
    before: GateStage | None
    after: GateStage | None
    on_before: bool
    on_after: bool
    setting: bool | None
    problem: str
    concerns: bool


class OptionChange(NamedTuple):
    """A policy option that changes its stage, which is empty if the release does not know the option."""

    field: str
    option: str
    before: str
    after: str
    concerns: bool


class BehaviourChange(NamedTuple):
    """A difference that takes effect (``begins``), or ceases to apply in a downgrade."""

    name: str
    difference: Difference
    begins: bool
    concerns: bool


class FieldChange(NamedTuple):
    """A field of the configuration that one of the two releases does not know."""

    field: str
    since: int
    concerns: bool


class FlagChange(NamedTuple):
    """A flag that one of the two releases does not know: a kubelet that is given it exits at once.

    ``since`` is the first release that has it (``known``) or no longer has it.
    """

    flag: str
    since: int
    known: bool
    concerns: bool


class RuleChange(NamedTuple):
    """A rule of the configuration's validation, or of the later start, that only one of the two has.

    ``since`` is the first release that has it (``known``) or no longer has it.
    """

    rule: Rule
    since: int
    known: bool
    concerns: bool


class VersionChanges(NamedTuple):
    """Everything that differs between two releases; ``concerns`` marks what the configuration depends on."""

    gates: tuple[GateChange, ...]
    options: tuple[OptionChange, ...]
    behaviours: tuple[BehaviourChange, ...]
    fields: tuple[FieldChange, ...]
    flags: tuple[FlagChange, ...] = ()
    rules: tuple[RuleChange, ...] = ()


class ChangeSubject(NamedTuple):
    """A configuration, the gates it sets in files and flags, the set fields, the flags, and the node.

    ``may_have_books``: its architecture is s390x or unknown. ``cpu_state_v1``: its cpu_manager_state has
    format 1.
    """

    config: KubeletConfiguration
    gates: Mapping[str, bool] = {}
    set_fields: frozenset[str] = frozenset()
    uses_drop_ins: bool = False
    flags: frozenset[str] = frozenset()
    may_have_books: bool = True
    cgroup_version: int | None = None
    cpu_state_v1: bool = False

    @property
    def use(self) -> FeatureUse:
        """What the configuration uses."""
        return FeatureUse.of(
            self.config,
            self.set_fields,
            drop_ins=self.uses_drop_ins,
            gates=self.gates,
            books=self.may_have_books,
            cpu_state_v1=self.cpu_state_v1,
        )


def version_changes(
    subject: ChangeSubject, before: KubeletVersion, after: KubeletVersion, fields: Mapping[str, int]
) -> VersionChanges:
    """Compare two releases; *fields* are the fields added after 1.27, with their minors."""
    return VersionChanges(
        gates=tuple(_gates(subject, before.minor, after.minor)),
        options=tuple(_options(subject.config, before.minor, after.minor)),
        behaviours=tuple(_behaviours(subject, before, after)),
        fields=tuple(
            FieldChange(field=name, since=since, concerns=name in subject.set_fields)
            for name, since in fields.items()
            if _between(since, before.minor, after.minor)
        ),
        flags=tuple(_flags(subject, before.minor, after.minor)),
        rules=tuple(_rules(subject, before.minor, after.minor)),
    )


def _rules(subject: ChangeSubject, before: int, after: int) -> Iterator[RuleChange]:
    from cpuctl.kubelet.validation.later import LATER
    from cpuctl.kubelet.validation.rules import RULES

    for rule in (*RULES, *LATER):
        if rule.holds_in(before) != rule.holds_in(after):
            came = _between(rule.since, before, after)
            concerns = rule.path[0] in subject.set_fields and _can_be_broken(rule, subject)
            yield RuleChange(rule, rule.since if came else rule.until, known=came, concerns=concerns)


def _can_be_broken(rule: Rule, subject: ChangeSubject) -> bool:
    """Return whether nodes with this cgroup version, if known, can break a rule about it."""
    accepts_v1 = rule.field == "failCgroupV1" and subject.config.fail_cgroup_v1 is False
    return not rule.on_cgroup_v1 or (subject.cgroup_version != 2 and not accepts_v1)


def _flags(subject: ChangeSubject, before: int, after: int) -> Iterator[FlagChange]:
    for name in sorted(FLAGS):
        known = flag_of(name, after) is not None
        if known != (flag_of(name, before) is not None):
            first, last = FLAGS[name][0].first, FLAGS[name][-1].last
            came = _between(first, before, after)
            yield FlagChange(
                flag=name, since=first if came else last + 1, known=came, concerns=name in subject.flags
            )


def _between(since: int, before: int, after: int) -> bool:
    return min(before, after) < since <= max(before, after)


def switched_gates(before: FeatureGates, after: FeatureGates) -> dict[str, tuple[bool, bool]]:
    """Return the resource managers' gates that are on in one of two releases only: before, and after."""
    states = {name: (is_on(before, name), is_on(after, name)) for name in _manager_gates()}
    return {name: each for name, each in states.items() if each[0] != each[1]}


def switched_since(gate: str, before: FeatureGates, after: FeatureGates) -> int:
    """Return the release (1.*N*) since which a gate is as in the newer of two, which have equal settings."""
    older, newer = sorted((before, after), key=lambda gates: gates.minor)
    since = newer.minor
    while since - 1 > older.minor:
        earlier = FeatureGates(since - 1, newer.settings)
        if is_on(earlier, gate) != is_on(newer, gate):
            break
        since -= 1
    return since


def _manager_gates() -> list[str]:
    return [line.split()[0] for line in MANAGER_GATES.split("\n") if line]


def _gates(subject: ChangeSubject, before: int, after: int) -> Iterator[GateChange]:
    old, new = FeatureGates(before, subject.gates), FeatureGates(after, subject.gates)
    for name in sorted({*_manager_gates(), *subject.gates} - {"AllAlpha", "AllBeta"}):
        stages = old.stage(name), new.stage(name)
        before_it, after_it = (stage and stage.effect for stage in stages)
        if before_it == after_it:
            continue
        on_before, on_after = is_on(old, name), is_on(new, name)
        concerned = name in subject.gates or (on_before != on_after and gate_concerns(name, subject.use))
        yield GateChange(
            gate=name,
            before=stages[0],
            after=stages[1],
            on_before=on_before,
            on_after=on_after,
            setting=subject.gates.get(name),
            problem=new.refusal(name),
            concerns=concerned,
        )


def is_on(gates: FeatureGates, name: str) -> bool:
    """Return whether a feature is on; setting a missing or locked gate has no effect."""
    stage = gates.stage(name)
    if stage is None or stage.locked:
        return FeatureGates(gates.minor).enabled(name)
    return gates.enabled(name)


def _options(config: KubeletConfiguration, before: int, after: int) -> Iterator[OptionChange]:
    tables: tuple[tuple[str, Mapping[str, OptionHistory], Mapping[str, str]], ...] = (
        ("cpuManagerPolicyOptions", CPU_POLICY_OPTIONS, config.cpu_manager_policy_options),
        ("topologyManagerPolicyOptions", TOPOLOGY_OPTIONS, config.topology_manager_policy_options),
    )
    for field_name, histories, used in tables:
        for name, history in histories.items():
            old, new = history.stage(before), history.stage(after)
            if old != new:
                yield OptionChange(
                    field=field_name, option=name, before=old, after=new, concerns=name in used
                )


def _behaviours(
    subject: ChangeSubject, before: KubeletVersion, after: KubeletVersion
) -> Iterator[BehaviourChange]:
    resizes = any(is_on(FeatureGates(side.minor, subject.gates), RESIZE_GATE) for side in (before, after))
    for name, difference in DIFFERENCES.items():
        if difference.holds(*before) != difference.holds(*after):
            begins = difference.holds(*after)
            newer = FeatureGates((after if begins else before).minor, subject.gates)
            switched_on = not difference.gate or newer.enabled(difference.gate)
            possible = resizes or difference.area != "in-place resize"
            yield BehaviourChange(
                name=name,
                difference=difference,
                begins=begins,
                concerns=switched_on and possible and difference_concerns(name, difference, subject.use),
            )
