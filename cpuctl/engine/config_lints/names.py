"""Names and values that a kubelet reads differently than was meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cpuctl.departures import GATES, OPTION_GROUPS
from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lint import Lint, LintSubject
from cpuctl.engine.config_lints.useless_options import why_remove
from cpuctl.golang.conversions import parse_atoi, parse_bool
from cpuctl.golang.durations import MILLISECOND
from cpuctl.golang.text import GoError, quoted
from cpuctl.kubelet.gates.distributions import distribution_of
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.policy_options import (
    ARCHIVED,
    ARCHIVED_WHY,
    CPU_POLICY_OPTIONS,
    CPU_STAGE_GATES,
    CPU_SWITCHES,
    DEFAULT_MAX_NODES,
    MAX_NODES,
    SCALE_DELAY,
    SCALE_DELAY_GATE,
    STRICT_RESERVATION,
    TOPOLOGY_OPTIONS,
    TOPOLOGY_STAGE_GATES,
    OptionHistory,
    parse_scale_delay,
)
from cpuctl.kubelet.validation.rules import TOPOLOGY_POLICIES, TOPOLOGY_SCOPES
from cpuctl.phrases import any_of
from cpuctl.records import replace
from cpuctl.spelling import MOST_LISTED, nearest, nearest_spelling

_DRIVERS = ("systemd", "cgroupfs")
_DRIVER_GATE = "KubeletCgroupDriverFromCRI"
_LEFT_OUT = "remove {}.{}"
_GATE_OF_KEP_2837 = "PodLevelResourcesFixUpdateDefaulting"
CPU_OPTIONS, NUMA_OPTIONS = "cpuManagerPolicyOptions", "topologyManagerPolicyOptions"
_GATES_OF_ALL = {CPU_OPTIONS: "CPUManagerPolicyOptions", NUMA_OPTIONS: "TopologyManagerPolicyOptions"}
"""The gates without which a kubelet takes no option at all."""


def lint_policy_names(subject: LintSubject) -> Iterator[Lint]:
    """Report unknown policy names, with the valid one that differs only by case or a few letters."""
    config = subject.config
    for field, value, names in (
        ("cpuManagerPolicy", config.cpu_manager_policy, ("none", "static")),
        ("memoryManagerPolicy", config.memory_manager_policy, ("None", "Static")),
        ("topologyManagerPolicy", config.topology_manager_policy, TOPOLOGY_POLICIES),
        ("topologyManagerScope", config.topology_manager_scope, TOPOLOGY_SCOPES),
    ):
        if value not in names:
            yield _wrong_name(field, value, names)


def _wrong_name(field: str, value: str, names: tuple[str, ...]) -> Lint:
    meant = nearest(value, names)
    by_case = bool(meant) and meant.casefold() == value.casefold()
    return Lint(
        severity=Severity.ERROR,
        code="policy-name-case" if by_case else "policy-name",
        place=(field,),
        expected=meant or any_of(names),
        detected=value,
        message=f"unknown value {quoted(value)}" + (" (case-sensitive)" if by_case else ""),
        fix=f"set {field}: {meant}" if meant else f"set {field} to {any_of(names)}",
    )


def lint_cgroup_driver(subject: LintSubject) -> Iterator[Lint]:
    """Report a driver that no kubelet knows: anything but ``systemd`` is treated as ``cgroupfs``."""
    value, gates = subject.config.cgroup_driver, subject.gates
    if value in _DRIVERS:
        return
    asks = gates.stage(_DRIVER_GATE) is not None and gates.enabled(_DRIVER_GATE)
    message = f"cgroupDriver {quoted(value)} is unknown: the kubelet treats it as cgroupfs"
    yield Lint(
        severity=Severity.WARNING,
        code="cgroup-driver",
        place=("cgroupDriver",),
        expected=(meant := nearest(value, _DRIVERS)) or any_of(_DRIVERS),
        detected=value,
        message=message + (", unless the container runtime reports its own" if asks else ""),
        fix=f"set cgroupDriver: {meant}" if meant else f"set cgroupDriver to {any_of(_DRIVERS)}",
    )


def lint_options(subject: LintSubject) -> Iterator[Lint]:
    """Report options that this release does not know, that need a gate, or whose value is invalid."""
    config = subject.config
    # Without a policy, the options of the CPU Manager are rejected as a whole, and the others are not read.
    if config.cpu_manager_policy != "none":
        options = config.cpu_manager_policy_options
        yield from _options(CPU_OPTIONS, options, CPU_POLICY_OPTIONS, CPU_STAGE_GATES, subject)
    if config.topology_manager_policy != "none":
        options = config.topology_manager_policy_options
        yield from _options(NUMA_OPTIONS, options, TOPOLOGY_OPTIONS, TOPOLOGY_STAGE_GATES, subject)


def _options(
    field: str,
    options: Mapping[str, str],
    known: Mapping[str, OptionHistory],
    stage_gates: Mapping[str, str],
    subject: LintSubject,
) -> Iterator[Lint]:
    gates = subject.gates
    for name, value in options.items():
        stage = known[name].stage(gates.minor) if name in known else ""
        gate = stage_gates.get(stage)
        if not stage:
            yield _unknown_option(field, name, known, gates.minor)
        elif gate and not gates.enabled(gate):
            yield _gated_option(field, name, stage, gate, _fix_of_gated(field, name, value, gate, subject))
        elif lint := _option_value(field, name, value, subject):
            yield lint


def _unknown_option(field: str, name: str, known: Mapping[str, OptionHistory], minor: int) -> Lint:
    history, meant = known.get(name), nearest(name, known)
    if name == ARCHIVED:
        return _archived(field)
    if history is not None:
        message = f"option {name} was added in kubelet 1.{history.alpha}: kubelet 1.{minor} does not know it"
        return Lint(
            severity=Severity.ERROR,
            code="option-too-new",
            place=(field, name),
            message=message,
            fix=_LEFT_OUT.format(field, name),
        )
    return Lint(
        severity=Severity.ERROR,
        code="option-unknown",
        place=(field, name),
        expected=meant,
        detected=name,
        message=f"no kubelet version has an option {quoted(name)}",
        fix=f"use {meant}" if meant else _LEFT_OUT.format(field, name),
    )


def _archived(field: str) -> Lint:
    return Lint(
        severity=Severity.ERROR,
        code="option-unknown",
        place=(field, ARCHIVED),
        expected=STRICT_RESERVATION,
        detected=ARCHIVED,
        message=f"{ARCHIVED} is {ARCHIVED_WHY}",
        fix="remove it",
    )


def _fix_of_gated(field: str, name: str, value: str, gate: str, subject: LintSubject) -> str:
    """Return what to do about an option without its gate: with the gate, it may still be of no use."""
    lint = _option_value(field, name, value, subject)
    fix = lint.fix if lint is not None and lint.severity is Severity.ERROR else ""
    if (lint is not None and lint.code == _OFF) or fix.endswith(': "false"'):
        return f"remove {field}.{name}: false is the same as leaving it out"
    judged = field == CPU_OPTIONS and name in CPU_SWITCHES
    if useless := why_remove(subject, name) if judged else "":
        return f"remove {field}.{name}: {useless}"
    if fix.startswith("remove "):
        return fix
    of_all = _GATES_OF_ALL[field]
    # Of a locked gate, another finding says that it has to be left out.
    is_off = not subject.gates.enabled(of_all) and not subject.gates.refusal(of_all)
    gates = [of_all, gate] if is_off else [gate]
    if fix.startswith(_SCALE_GATE_ON):
        return f"{_turned_on(*gates, SCALE_DELAY_GATE)}{fix.removeprefix(_SCALE_GATE_ON)}"
    return f"{_turned_on(*gates)}, and {fix}" if fix else _turned_on(*gates)


def _turned_on(*gates: str) -> str:
    return f"set featureGates: {{{', '.join(f'{gate}: true' for gate in gates)}}}"


def _gated_option(field: str, name: str, stage: str, gate: str, fix: str) -> Lint:
    departs = (
        f"; without it the kubelet does not start, although KEP-4540 says that it only ignores the option "
        f"({OPTION_GROUPS})"
        if name == STRICT_RESERVATION
        else ""
    )
    return Lint(
        severity=Severity.ERROR,
        code="option-without-gate",
        place=(field, name),
        expected=f"{gate}=true",
        detected=f"{gate}=false",
        message=f"option {name} is {stage} in this release and needs the feature gate {gate}{departs}",
        fix=fix,
    )


_OFF = "option-off"


def _option_value(field: str, name: str, value: str, subject: LintSubject) -> Lint | None:
    if name == MAX_NODES:
        return _number(field, value, subject)
    if name == SCALE_DELAY:
        return _delay(field, value, subject.gates)
    try:
        wanted = parse_bool(value)
    except GoError:
        return _no_switch(field, name, value, subject)
    if wanted:
        return None
    message = f"option {name} is set to false, which is the same as leaving it out"
    return Lint(severity=Severity.NOTE, code=_OFF, place=(field, name), message=message)


_SCALE_GATE_ON = _turned_on(SCALE_DELAY_GATE)
_SHORT_DELAY = f'set {SCALE_DELAY}: "500ms"'


def _delay(field: str, value: str, gates: FeatureGates) -> Lint:
    """Return what is wrong with ``scale-delay-time``, or what it affects (KEP-6122, "Risks and Mitigations").

    No known release has the option.
    """
    expected = ""
    try:
        nanoseconds = parse_scale_delay(value, gates)
    except GoError as error:
        severity, code, message = Severity.ERROR, "option-value", str(error)
        expected, fix = "a duration from 0s to 10s", _SHORT_DELAY
        if not gates.enabled(SCALE_DELAY_GATE):
            fix = _SCALE_GATE_ON if SCALE_DELAY_GATE in message else f"{_SCALE_GATE_ON}, and {_SHORT_DELAY}"
    else:
        severity, code, fix = Severity.NOTE, "option-announced", ""
        message = f"option {SCALE_DELAY} is announced (KEP-6122) but not verified"
        if nanoseconds % MILLISECOND:
            message += (
                "; the KEP mentions seconds and milliseconds, so a kubelet may reject fractions of those"
            )
        if nanoseconds:
            severity, code = Severity.WARNING, "option-node-wide"
            message += "; it delays every pod with exclusive CPUs on this node, whether intended or not"
            fix = "leave it out, or taint the node so that only pods that tolerate the delay run there"
    return Lint(
        severity=severity,
        code=code,
        place=(field, SCALE_DELAY),
        expected=expected,
        detected=value,
        message=message,
        fix=fix,
    )


def _number(field: str, value: str, subject: LintSubject) -> Lint | None:
    """Report what the kubelet does not accept as a number of NUMA nodes."""
    try:
        if parse_atoi(value) >= DEFAULT_MAX_NODES:
            return None
        message = f"option {MAX_NODES} must be at least {DEFAULT_MAX_NODES}, found {quoted(value)}"
    except GoError:
        message = f"option {MAX_NODES} expects a number of at least {DEFAULT_MAX_NODES}, not {quoted(value)}"
        message += ", although the documentation said so until 2026" if value == "true" else ""
    nodes = subject.topology.num_numa_nodes if subject.topology else 0
    enough = f"remove {field}.{MAX_NODES}: the default is {DEFAULT_MAX_NODES}"
    return Lint(
        severity=Severity.ERROR,
        code="option-value",
        place=(field, MAX_NODES),
        expected=f"a number of at least {DEFAULT_MAX_NODES}",
        detected=value,
        message=message,
        fix=f'set {MAX_NODES}: "{nodes}"' if nodes > DEFAULT_MAX_NODES else enough,
    )


_MEANT = {"true": ("yes", "y", "on", "enabled"), "false": ("no", "n", "off", "disabled")}


def _no_switch(field: str, name: str, value: str, subject: LintSubject) -> Lint:
    first, *others = value.split(",")
    listed = bool(others) and all("=" in each for each in others)  # as other flags take it
    one = first.lower() if listed else value.lower()
    meant = [boolean for boolean, words in _MEANT.items() if one in (boolean, *words)]
    options = [f"{name}: {' or '.join(map(quoted, meant or _MEANT))}"]
    if listed and meant:
        pairs = [_pair(each) for each in others]
        if _could_be_set(field, pairs, subject):
            options += [f"{other}: {quoted(its)}" for other, its in pairs]
    return Lint(
        severity=Severity.ERROR,
        code="option-value",
        place=(field, name),
        expected="true or false",
        detected=value,
        message=f"option {name} is a boolean, not {quoted(value)}" + "; set each option separately" * listed,
        fix="set " + ", ".join(options),
    )


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip()


def _could_be_set(field: str, pairs: Sequence[tuple[str, str]], subject: LintSubject) -> bool:
    """Return whether the release knows these options, with their values, and the field has none of them."""
    known, options = CPU_POLICY_OPTIONS, subject.config.cpu_manager_policy_options
    if field == NUMA_OPTIONS:
        known, options = TOPOLOGY_OPTIONS, subject.config.topology_manager_policy_options
    names = [other for other, _ in pairs]
    if len({*names, *options}) < len(names) + len(options):
        return False
    if not all(other in known and known[other].stage(subject.gates.minor) for other in names):
        return False
    lints = (_option_value(field, other, value, subject) for other, value in pairs)
    return not any(lint.severity is Severity.ERROR for lint in lints if lint)


def lint_gates(subject: LintSubject) -> Iterator[Lint]:
    """Report gates that this release does not have (only the first few), or whose stage is unverified.

    Of gates that are locked to the other value, those that the kubelet's own error names are left out.
    """
    minor, unknown = subject.gates.minor, 0
    gates = replace(subject.gates, settings={**subject.config.feature_gates, **subject.gate_flags})
    named = {*gates.refused()}
    for name in gates.settings:
        if name in ("AllAlpha", "AllBeta"):
            continue
        if subject.gates.stage(name) is None:
            unknown += 1
            if unknown <= MOST_LISTED:
                yield _unknown_gate(name, subject.gates)
        elif name not in named and (refusal := gates.refusal(name)):
            yield Lint(
                severity=Severity.ERROR,
                code="gate-locked",
                place=("featureGates", name),
                message=refusal,
                fix="remove it",
            )
        elif not subject.gates.verified(name):
            message = f"the stage of gate {name} in kubelet 1.{minor} is announced but not verified"
            yield Lint(
                severity=Severity.NOTE,
                code="gate-unverified",
                place=("featureGates", name),
                message=message,
            )


def _unknown_gate(name: str, gates: FeatureGates) -> Lint:
    others, distribution = gates.releases_with(name), distribution_of(name)
    meant = "" if others or distribution else nearest_spelling(name, gates.known())
    ever = f"; it exists in {others}" if others else ""
    departs = (
        f": it is described in KEP-2837 but does not exist in any release ({GATES})"
        if name == _GATE_OF_KEP_2837
        else ""
    )
    remove = "remove it"
    if distribution:
        ever = f": it is a gate of {distribution}, whose kubelet only warns about it"
        remove = f"remove it, or if the node runs {distribution}, use --ignore-unknown-gates"
    return Lint(
        severity=Severity.ERROR,
        code="gate-unknown",
        place=("featureGates", name),
        expected=meant,
        detected=name,
        message=f"kubelet 1.{gates.minor} has no feature gate {quoted(name)}{ever}{departs}",
        fix=f"use {meant}" if meant else remove,
    )
