from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cpuctl.kubelet.config import SettingError
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.policy_options import (
    TopologyOptions,
    parse_topology_options,
    refuse_gated_topology_options,
)

CLOSEST, LIMIT = "prefer-closest-numa-nodes", "max-allowable-numa-nodes"
FIELD = "topologyManagerPolicyOptions"


def parse(
    options: dict[str, str], *, minor: int = 36, gates: dict[str, bool] | None = None
) -> TopologyOptions:
    return parse_topology_options(options, FeatureGates.for_minor(minor).with_overrides(gates or {}))


def test_every_option_sets_its_field() -> None:
    assert parse({}) == TopologyOptions(prefer_closest_numa_nodes=False, max_allowable_numa_nodes=8)
    assert parse({CLOSEST: "T", LIMIT: "016"}) == TopologyOptions(
        prefer_closest_numa_nodes=True, max_allowable_numa_nodes=16
    )
    assert parse({CLOSEST: "0", LIMIT: "8"}) == TopologyOptions()


@dataclass(frozen=True)
class Refusal:
    """Options that a kubelet rejects, its words, and the option to fix."""

    options: dict[str, str]
    want: str
    option: str
    minor: int = 36
    gates: dict[str, bool] = field(default_factory=dict)


REFUSALS = [
    Refusal({"bogus": "true"}, 'unknown Topology Manager Policy option: "bogus"', "bogus"),
    Refusal({"zz": "1", "aa": "1"}, 'unknown Topology Manager Policy option: "aa"', "aa"),
    Refusal({LIMIT: "16"}, f'unknown Topology Manager Policy option: "{LIMIT}"', LIMIT, minor=30),
    Refusal(
        {CLOSEST: "true"},
        f'Topology Manager Policy Alpha-level Options not enabled, but option "{CLOSEST}" provided',
        CLOSEST,
        minor=27,
    ),
    Refusal(
        {LIMIT: "16"},
        f'topology manager policy beta-level options not enabled, but option "{LIMIT}" provided',
        LIMIT,
        minor=34,
        gates={"TopologyManagerPolicyBetaOptions": False},
    ),
    Refusal(
        {LIMIT: "16"},
        f'Topology Manager Policy Beta-level Options not enabled, but option "{LIMIT}" provided',
        LIMIT,
        minor=32,
        gates={"TopologyManagerPolicyBetaOptions": False},
    ),
    Refusal(
        {CLOSEST: "yes"},
        f'bad value for option "{CLOSEST}": strconv.ParseBool: parsing "yes": invalid syntax',
        CLOSEST,
    ),
    Refusal(
        {LIMIT: "true"},
        f'unable to convert policy option to integer "{LIMIT}": strconv.Atoi: parsing "true": invalid syntax',
        LIMIT,
    ),
    Refusal({LIMIT: "7"}, f'the minimum value of "{LIMIT}" should not be less than 8', LIMIT),
    Refusal({LIMIT: "-16"}, f'the minimum value of "{LIMIT}" should not be less than 8', LIMIT),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: f"{case.options} 1.{case.minor}")
def test_errors_are_in_the_kubelets_words(case: Refusal) -> None:
    with pytest.raises(SettingError) as caught:
        parse(case.options, minor=case.minor, gates=case.gates)
    assert (str(caught.value), caught.value.path) == (case.want, (FIELD, case.option))


def test_options_graduate() -> None:
    beta_off = {"TopologyManagerPolicyBetaOptions": False}
    assert parse({CLOSEST: "true"}, minor=32, gates=beta_off).prefer_closest_numa_nodes
    assert parse({LIMIT: "9"}, minor=35, gates=beta_off).max_allowable_numa_nodes == 9


def test_the_gate_of_all_options() -> None:
    off = FeatureGates.for_minor(31).with_overrides({"TopologyManagerPolicyOptions": False})
    with pytest.raises(SettingError) as caught:
        refuse_gated_topology_options({CLOSEST: "true"}, off)
    assert str(caught.value) == (
        f"topology manager policy options map[{CLOSEST}:true] require feature gates"
        ' "TopologyManagerPolicyOptions" enabled'
    )
    refuse_gated_topology_options({}, off)
    refuse_gated_topology_options({CLOSEST: "true"}, FeatureGates.for_minor(31))
