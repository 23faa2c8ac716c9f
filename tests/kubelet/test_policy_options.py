from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.policy_options import (
    CPU_POLICY_OPTIONS,
    TOPOLOGY_OPTIONS,
    CPUPolicyOptions,
    TopologyOptions,
    check_align_by_socket,
    check_sockets_for_alignment,
    parse_cpu_policy_options,
    refuse_gated_options,
    refuse_options_of_none_policy,
)

ALPHA = {"CPUManagerPolicyAlphaOptions": True}
NUMA, CORES = "distribute-cpus-across-numa", "distribute-cpus-across-cores"


def parse(
    options: dict[str, str], *, minor: int = 36, gates: dict[str, bool] | None = None
) -> CPUPolicyOptions:
    return parse_cpu_policy_options(options, FeatureGates.for_minor(minor).with_overrides(gates or {}))


def test_every_option_sets_its_field() -> None:
    assert parse({}) == CPUPolicyOptions()
    assert parse({"full-pcpus-only": "True", "strict-cpu-reservation": "1"}) == CPUPolicyOptions(
        full_pcpus_only=True, strict_cpu_reservation=True
    )
    assert parse({NUMA: "t"}) == CPUPolicyOptions(distribute_cpus_across_numa=True)
    assert parse({CORES: "true"}, gates=ALPHA) == CPUPolicyOptions(distribute_cpus_across_cores=True)
    assert parse({"align-by-socket": "true"}, gates=ALPHA) == CPUPolicyOptions(align_by_socket=True)
    assert parse({"prefer-align-cpus-by-uncorecache": "true"}).prefer_align_cpus_by_uncorecache


DELAY = "scale-delay-time"
RESIZING = {**ALPHA, "InPlacePodVerticalScalingExclusiveCPUs": True}


@pytest.mark.parametrize(
    ("text", "want"),
    [("0s", 0), ("0", 0), ("100us", 100_000), ("1.5ms", 1_500_000), ("500ms", 500_000_000), ("10s", 10**10)],
)
def test_the_delay_of_scaling_down_is_a_duration(text: str, want: int) -> None:
    assert parse({DELAY: text}, minor=37, gates=RESIZING).scale_delay_time == want


def test_without_resizing_there_is_nothing_to_delay() -> None:
    assert parse({DELAY: "0s"}, minor=37, gates=ALPHA) == CPUPolicyOptions()


@dataclass(frozen=True)
class Refusal:
    """Options that a kubelet rejects, and its words."""

    options: dict[str, str]
    want: str
    minor: int = 36
    gates: dict[str, bool] = field(default_factory=dict)


def clash(one: str, other: str) -> str:
    return f"static policy options {one} and {other} can not be used at the same time"


REFUSALS = [
    Refusal({"bogus": "true"}, 'unknown CPU Manager Policy option: "bogus"'),
    Refusal(
        {"strict-cpu-reservation": "true"},
        'unknown CPU Manager Policy option: "strict-cpu-reservation"',
        minor=31,
        gates=ALPHA,
    ),
    Refusal(
        {"align-by-socket": "false"},
        'CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided',
    ),
    Refusal(
        {NUMA: "true"},
        f'CPU Manager Policy Beta-level Options not enabled, but option "{NUMA}" provided',
        gates={"CPUManagerPolicyBetaOptions": False},
    ),
    Refusal(
        {"prefer-align-cpus-by-uncorecache": "true"},
        "CPU Manager Policy Alpha-level Options not enabled,"
        ' but option "prefer-align-cpus-by-uncorecache" provided',
        minor=33,
    ),
    Refusal(
        {"full-pcpus-only": "yes"},
        'bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax',
    ),
    Refusal({DELAY: "5s"}, f'unknown CPU Manager Policy option: "{DELAY}"', gates=RESIZING),
    Refusal(
        {DELAY: "5s"},
        f'CPU Manager Policy Alpha-level Options not enabled, but option "{DELAY}" provided',
        minor=37,
    ),
    Refusal(
        {DELAY: "5s"},
        f'bad value for option "{DELAY}": it must be 0 without InPlacePodVerticalScalingExclusiveCPUs',
        minor=37,
        gates=ALPHA,
    ),
    Refusal(
        {DELAY: "11s"},
        f'bad value for option "{DELAY}": 11s is not between 0s and 10s',
        minor=37,
        gates=RESIZING,
    ),
    Refusal(
        {DELAY: "5"},
        f'bad value for option "{DELAY}": time: missing unit in duration "5"',
        minor=37,
        gates=RESIZING,
    ),
    Refusal({"full-pcpus-only": "true", CORES: "true"}, clash("full-pcpus-only", CORES), gates=ALPHA),
    Refusal({NUMA: "true", CORES: "true"}, clash(NUMA, CORES), gates=ALPHA),
    Refusal(
        {"prefer-align-cpus-by-uncorecache": "true", CORES: "true"},
        clash("prefer-align-cpus-by-uncorecache", CORES),
        gates=ALPHA,
    ),
    Refusal(
        {"prefer-align-cpus-by-uncorecache": "true", NUMA: "true"},
        clash("prefer-align-cpus-by-uncorecache", NUMA),
    ),
    Refusal(
        {"full-pcpus-only": "true", NUMA: "true", CORES: "true", "prefer-align-cpus-by-uncorecache": "true"},
        clash("full-pcpus-only", CORES),
        gates=ALPHA,
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: f"{case.options} 1.{case.minor}")
def test_errors_are_in_the_kubelets_words(case: Refusal) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        parse(case.options, minor=case.minor, gates=case.gates)
    assert str(caught.value) == case.want


def test_options_that_are_off_do_not_clash() -> None:
    assert parse({"full-pcpus-only": "true", CORES: "false"}, gates=ALPHA).full_pcpus_only


def test_options_graduate() -> None:
    assert parse({"prefer-align-cpus-by-uncorecache": "true"}, minor=34).prefer_align_cpus_by_uncorecache
    stable = parse({"strict-cpu-reservation": "true"}, minor=35, gates={"CPUManagerPolicyBetaOptions": False})
    assert stable.strict_cpu_reservation


ALIGNED, PLAIN = CPUPolicyOptions(align_by_socket=True), CPUPolicyOptions()
GATED = FeatureGates.for_minor(32).with_overrides({"CPUManagerPolicyOptions": False})


@dataclass(frozen=True)
class Check:
    """A check outside the parser of options, and its error."""

    name: str
    run: Callable[[], None]
    want: str


CHECKS = [
    Check(
        "single-numa-node",
        lambda: check_align_by_socket(ALIGNED, "single-numa-node"),
        "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket"
        " policy option",
    ),
    Check(
        "more sockets than NUMA nodes",
        lambda: check_sockets_for_alignment(ALIGNED, sockets=2, numa_nodes=1),
        "Align by socket is not compatible with hardware where number of sockets are more than"
        " number of NUMA",
    ),
    Check(
        "policy none",
        lambda: refuse_options_of_none_policy({"b": "1", "a": "2"}),
        "None policy: received unsupported options=map[a:2 b:1]",
    ),
    Check(
        "gate of all options",
        lambda: refuse_gated_options({"full-pcpus-only": "true"}, GATED),
        "CPU Manager policy options map[full-pcpus-only:true] require feature gates"
        ' "CPUManager", "CPUManagerPolicyOptions" enabled',
    ),
]


@pytest.mark.parametrize("case", CHECKS, ids=lambda case: case.name)
def test_checks_outside_the_parser(case: Check) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        case.run()
    assert str(caught.value) == case.want


def test_checks_pass_if_nothing_is_wrong() -> None:
    check_align_by_socket(ALIGNED, "restricted")
    check_align_by_socket(PLAIN, "single-numa-node")
    check_sockets_for_alignment(ALIGNED, sockets=2, numa_nodes=2)
    check_sockets_for_alignment(PLAIN, sockets=2, numa_nodes=1)
    refuse_options_of_none_policy({})
    refuse_gated_options({}, GATED)
    refuse_gated_options({"full-pcpus-only": "true"}, FeatureGates.for_minor(32))


def test_every_option_has_a_field_of_its_name() -> None:
    """A new option needs a field of the same name."""

    def named(options: Iterable[str]) -> set[str]:
        return {name.replace("-", "_") for name in options}

    assert named(CPU_POLICY_OPTIONS) == set(CPUPolicyOptions._fields)
    assert named(TOPOLOGY_OPTIONS) == set(TopologyOptions._fields)
