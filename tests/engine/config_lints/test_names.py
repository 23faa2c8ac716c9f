"""Names and values that no kubelet accepts, or not this one."""

from __future__ import annotations

import pytest

from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lints import lint_configuration
from cpuctl.golang.text import quoted
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from tests.support.config_lints import CPU, Case, Reported, aligned, static

RESIZING = {"CPUManagerPolicyAlphaOptions": True, "InPlacePodVerticalScalingExclusiveCPUs": True}
REMOVE = "remove cpuManagerPolicyOptions.align-by-socket"
GATED = "set featureGates: {CPUManagerPolicyAlphaOptions: true}"
NOT_STARTED = "even with this gate, the kubelet would not start"
MORE_SOCKETS = (
    "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
)
ALIGNED = "every socket is one NUMA node"
INCOMPATIBLE = (
    "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
)
CASES = [
    Case(
        "policy-name-case",
        Severity.ERROR,
        "cpuManagerPolicy",
        Reported(config={"cpu_manager_policy": "Static"}),
        'unknown value "Static" (case-sensitive)',
        expected="static",
        detected="Static",
        fix="set cpuManagerPolicy: static",
    ),
    Case(
        "policy-name-case",
        Severity.ERROR,
        "memoryManagerPolicy",
        Reported(config={"memory_manager_policy": "static"}),
        'unknown value "static" (case-sensitive)',
        expected="Static",
        detected="static",
        fix="set memoryManagerPolicy: Static",
    ),
    Case(
        "policy-name",
        Severity.ERROR,
        "topologyManagerPolicy",
        Reported(config={"topology_manager_policy": "single-numa"}),
        'unknown value "single-numa"',
        expected="single-numa-node",
        detected="single-numa",
        fix="set topologyManagerPolicy: single-numa-node",
    ),
    Case(
        "policy-name",
        Severity.ERROR,
        "topologyManagerScope",
        Reported(config={"topology_manager_scope": "xyz"}),
        'unknown value "xyz"',
        expected="container or pod",
        detected="xyz",
        fix="set topologyManagerScope to container or pod",
    ),
    Case(
        "cgroup-driver",
        Severity.WARNING,
        "cgroupDriver",
        Reported(config={"cgroup_driver": "Systemd"}),
        'cgroupDriver "Systemd" is unknown: the kubelet treats it as cgroupfs, unless the'
        " container runtime reports its own",
        expected="systemd",
        detected="Systemd",
        fix="set cgroupDriver: systemd",
    ),
    Case(  # close to no name, not even in another case
        "policy-name",
        Severity.ERROR,
        "cpuManagerPolicy",
        Reported(config={"cpu_manager_policy": ""}),
        'unknown value ""',
        expected="none or static",
        fix="set cpuManagerPolicy to none or static",
    ),
    Case(
        "option-unknown",
        Severity.ERROR,
        "cpuManagerPolicyOptions.xyz",
        Reported(config=static({"xyz": "true"})),
        'no kubelet version has an option "xyz"',
        detected="xyz",
        fix="remove cpuManagerPolicyOptions.xyz",
    ),
    Case(
        "option-unknown",
        Severity.ERROR,
        "cpuManagerPolicyOptions.full-pcpu-only",
        Reported(config=static({"full-pcpu-only": "true"})),
        'no kubelet version has an option "full-pcpu-only"',
        expected="full-pcpus-only",
        detected="full-pcpu-only",
        fix="use full-pcpus-only",
    ),
    Case(
        "option-too-new",
        Severity.ERROR,
        "cpuManagerPolicyOptions.strict-cpu-reservation",
        Reported(config=static({"strict-cpu-reservation": "true"}), minor=31),
        "option strict-cpu-reservation was added in kubelet 1.32: kubelet 1.31 does not know it",
        fix="remove cpuManagerPolicyOptions.strict-cpu-reservation",
    ),
    Case(
        "option-without-gate",
        Severity.ERROR,
        "cpuManagerPolicyOptions.distribute-cpus-across-cores",
        Reported(config=static({"distribute-cpus-across-cores": "true"}, feature_gates={})),
        "option distribute-cpus-across-cores is alpha in this release and needs the feature gate"
        " CPUManagerPolicyAlphaOptions",
        expected="CPUManagerPolicyAlphaOptions=true",
        detected="CPUManagerPolicyAlphaOptions=false",
        fix="set featureGates: {CPUManagerPolicyAlphaOptions: true}",
    ),
    *(
        Case(
            "option-without-gate",
            Severity.ERROR,
            "cpuManagerPolicyOptions.align-by-socket",
            Reported(
                config={
                    **static({"align-by-socket": value}, feature_gates={}, reserved_system_cpus="0"),
                    "topology_manager_policy": policy,
                },
                machine=f"synthetic:{machine}",
            ),
            "option align-by-socket is alpha in this release and needs the feature gate"
            " CPUManagerPolicyAlphaOptions",
            expected="CPUManagerPolicyAlphaOptions=true",
            detected="CPUManagerPolicyAlphaOptions=false",
            fix=fix,
        )
        for policy, machine, value, fix in (
            ("restricted", "2s4n8c2t", "true", GATED),
            ("restricted", "2s2n8c2t", "true", f"{REMOVE}: it has no effect on this machine: {ALIGNED}"),
            ("single-numa-node", "2s4n8c2t", "true", f"{REMOVE}: {NOT_STARTED}: {INCOMPATIBLE}"),
            ("restricted", "4s2n8c2t", "true", f"{REMOVE}: {NOT_STARTED}: {MORE_SOCKETS}"),
            ("restricted", "2s4n8c2t", "false", f"{REMOVE}: false is the same as leaving it out"),
            ("restricted", "2s4n8c2t", "yes", f'{GATED}, and set align-by-socket: "true"'),
            ("restricted", "2s4n8c2t", "so", f'{GATED}, and set align-by-socket: "true" or "false"'),
            ("restricted", "2s4n8c2t", "off", f"{REMOVE}: false is the same as leaving it out"),
            ("restricted", "4s2n8c2t", "yes", f"{REMOVE}: {NOT_STARTED}: {MORE_SOCKETS}"),
        )
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "topologyManagerPolicyOptions.max-allowable-numa-nodes",
        Reported(config=aligned({"max-allowable-numa-nodes": "true"})),
        'option max-allowable-numa-nodes expects a number of at least 8, not "true", although'
        " the documentation said so until 2026",
        expected="a number of at least 8",
        detected="true",
        fix="remove topologyManagerPolicyOptions.max-allowable-numa-nodes: the default is 8",
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "topologyManagerPolicyOptions.max-allowable-numa-nodes",
        Reported(config=aligned({"max-allowable-numa-nodes": "7"})),
        'option max-allowable-numa-nodes must be at least 8, found "7"',
        expected="a number of at least 8",
        detected="7",
        fix="remove topologyManagerPolicyOptions.max-allowable-numa-nodes: the default is 8",
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "topologyManagerPolicyOptions.max-allowable-numa-nodes",
        Reported(config=aligned({"max-allowable-numa-nodes": "7"}), machine="synthetic:2s12n24c2t"),
        'option max-allowable-numa-nodes must be at least 8, found "7"',
        expected="a number of at least 8",
        detected="7",
        fix='set max-allowable-numa-nodes: "12"',
    ),
    Case(
        "option-announced",
        Severity.NOTE,
        "cpuManagerPolicyOptions.scale-delay-time",
        Reported(config=static({"scale-delay-time": "0s"}, feature_gates=RESIZING), minor=37),
        "option scale-delay-time is announced (KEP-6122) but not verified",
        detected="0s",
    ),
    Case(
        "option-node-wide",
        Severity.WARNING,
        "cpuManagerPolicyOptions.scale-delay-time",
        Reported(config=static({"scale-delay-time": "5s"}, feature_gates=RESIZING), minor=37),
        "option scale-delay-time is announced (KEP-6122) but not verified; it delays every pod with exclusive"
        " CPUs on this node, whether intended or not",
        detected="5s",
        fix="leave it out, or taint the node so that only pods that tolerate the delay run there",
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "cpuManagerPolicyOptions.scale-delay-time",
        Reported(config=static({"scale-delay-time": "5s"}), minor=37),
        'bad value for option "scale-delay-time": it must be 0 without'
        " InPlacePodVerticalScalingExclusiveCPUs",
        expected="a duration from 0s to 10s",
        detected="5s",
        fix="set featureGates: {InPlacePodVerticalScalingExclusiveCPUs: true}",
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "cpuManagerPolicyOptions.scale-delay-time",
        Reported(config=static({"scale-delay-time": "11s"}, feature_gates=RESIZING), minor=37),
        'bad value for option "scale-delay-time": 11s is not between 0s and 10s',
        expected="a duration from 0s to 10s",
        detected="11s",
        fix='set scale-delay-time: "500ms"',
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "cpuManagerPolicyOptions.full-pcpus-only",
        Reported(config=static({"full-pcpus-only": "yes"})),
        'option full-pcpus-only is a boolean, not "yes"',
        expected="true or false",
        detected="yes",
        fix='set full-pcpus-only: "true"',
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "cpuManagerPolicyOptions.full-pcpus-only",
        Reported(config=static({"full-pcpus-only": "false,align-by-socket=true"})),
        'option full-pcpus-only is a boolean, not "false,align-by-socket=true"; set each option separately',
        expected="true or false",
        detected="false,align-by-socket=true",
        fix='set full-pcpus-only: "false", align-by-socket: "true"',
    ),
    Case(
        "option-off",
        Severity.NOTE,
        "cpuManagerPolicyOptions.full-pcpus-only",
        Reported(config=static({"full-pcpus-only": "false"})),
        "option full-pcpus-only is set to false, which is the same as leaving it out",
    ),
    Case(
        "gate-unknown",
        Severity.ERROR,
        "featureGates.MemoryQOS",
        Reported(config={"feature_gates": {"MemoryQOS": True}}),
        'kubelet 1.36 has no feature gate "MemoryQOS"',
        expected="MemoryQoS",
        detected="MemoryQOS",
        fix="use MemoryQoS",
    ),
    Case(
        "gate-unknown",
        Severity.ERROR,
        "featureGates.CPUManager",
        Reported(config={"feature_gates": {"CPUManager": True}}),
        'kubelet 1.36 has no feature gate "CPUManager"; it exists in 1.27 to 1.32',
        detected="CPUManager",
        fix="remove it",
    ),
    Case(  # similar to others, but a misspelling of none
        "gate-unknown",
        Severity.ERROR,
        "featureGates.PodLevelLimits",
        Reported(config={"feature_gates": {"PodLevelLimits": True}}),
        'kubelet 1.36 has no feature gate "PodLevelLimits"',
        detected="PodLevelLimits",
        fix="remove it",
    ),
    Case(
        "gate-unknown",
        Severity.ERROR,
        "featureGates.MixedCPUsAllocation",
        Reported(config={"feature_gates": {"MixedCPUsAllocation": True}}),
        'kubelet 1.36 has no feature gate "MixedCPUsAllocation": it is a gate of OpenShift, whose'
        " kubelet only warns about it",
        detected="MixedCPUsAllocation",
        fix="remove it, or if the node runs OpenShift, use --ignore-unknown-gates",
    ),
    Case(  # a group is not a gate, but the others are still checked
        "gate-unknown",
        Severity.ERROR,
        "featureGates.MemoryQOS",
        Reported(config={"feature_gates": {"AllAlpha": False, "AllBeta": True, "MemoryQOS": True}}),
        'kubelet 1.36 has no feature gate "MemoryQOS"',
        expected="MemoryQoS",
        detected="MemoryQOS",
        fix="use MemoryQoS",
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "cpuManagerPolicyOptions.scale-delay-time",
        Reported(config=static({"scale-delay-time": "5x"}), minor=37),
        'bad value for option "scale-delay-time": time: unknown unit "x" in duration "5x"',
        expected="a duration from 0s to 10s",
        detected="5x",
        fix="set featureGates: {InPlacePodVerticalScalingExclusiveCPUs: true}, and "
        'set scale-delay-time: "500ms"',
    ),
    Case(
        "gate-unverified",
        Severity.NOTE,
        "featureGates.MemoryQoS",
        Reported(config={"feature_gates": {"MemoryQoS": True}}, minor=37),
        "the stage of gate MemoryQoS in kubelet 1.37 is announced but not verified",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_exactly_one_mistake_is_found(case: Case) -> None:
    assert case.reported.lints() == [case.wanted]


@pytest.mark.parametrize("unknown", [True, False])
def test_a_locked_gate_is_reported_unless_the_error_of_the_kubelet_names_it(*, unknown: bool) -> None:
    """The error ends with the first unknown gate, in alphabetical order."""
    gates = {"CPUManagerPolicyOptions": False, **({"Bar": True} if unknown else {})}
    found = [each for each in Reported(config={"feature_gates": gates}).lints() if each.code == "gate-locked"]
    wanted = ("featureGates", "CPUManagerPolicyOptions")
    assert [each.place for each in found] == [wanted] * unknown
    refusal = "cannot set feature gate CPUManagerPolicyOptions to false, feature is locked to true"
    assert [(each.message, each.fix) for each in found] == [(refusal, "remove it")] * unknown


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("yes, align-by-socket = true", 'set full-pcpus-only: "true", align-by-socket: "true"'),
        ("true,full-pcpus-only=false", 'set full-pcpus-only: "true"'),
        ("true,strict-cpu-reservation=true", 'set full-pcpus-only: "true"'),
        ("true,align-by-socket=true,align-by-socket=true", 'set full-pcpus-only: "true"'),
        ("true,align-by-socket=true,distribute-cpus-across-numa=maybe", 'set full-pcpus-only: "true"'),
        ("true,=x", 'set full-pcpus-only: "true"'),
        ("true,xyz=true", 'set full-pcpus-only: "true"'),
        ("yes,align-by-socket=b=c", 'set full-pcpus-only: "true"'),
        ("sometimes,align-by-socket=true", 'set full-pcpus-only: "true" or "false"'),
    ],
)
def test_only_options_that_could_be_set_are_listed(value: str, fix: str) -> None:
    reported = Reported(config=static({"full-pcpus-only": value, "strict-cpu-reservation": "true"}))
    (found,) = reported.lints()
    assert found.message.endswith(f"is a boolean, not {quoted(value)}; set each option separately")
    assert found.fix == fix


def test_a_list_may_not_have_options_of_another_release() -> None:
    value = {"full-pcpus-only": "true,strict-cpu-reservation=true"}
    fixes = {minor: Reported(config=static(value), minor=minor).lints()[0].fix for minor in (31, 36)}
    assert fixes == {
        31: 'set full-pcpus-only: "true"',
        36: 'set full-pcpus-only: "true", strict-cpu-reservation: "true"',
    }


def test_a_list_of_topology_options_has_those_of_its_field() -> None:
    value = {"prefer-closest-numa-nodes": "true,max-allowable-numa-nodes=9"}
    (found,) = Reported(config=aligned(value)).lints()
    assert found.fix == 'set prefer-closest-numa-nodes: "true", max-allowable-numa-nodes: "9"'
    value = {"prefer-closest-numa-nodes": "true,full-pcpus-only=true"}
    (found,) = Reported(config=aligned(value)).lints()
    assert found.fix == 'set prefer-closest-numa-nodes: "true"'


def test_the_number_of_findings_on_unknown_gates_is_limited() -> None:
    gates = {f"Gate{number}": True for number in range(1000)}
    assert len(Reported(config={"feature_gates": gates}).lints()) == 100


def test_the_fix_of_a_topology_option_is_about_that_option() -> None:
    """The same name among the options of the CPU Manager is another mistake."""
    option = {"prefer-closest-numa-nodes": "true"}
    gates = {"TopologyManagerPolicyBetaOptions": False}
    reported = Reported(config={**static(option, feature_gates=gates), **aligned(option)}, minor=31)
    fixes = {lint.place: lint.fix for lint in reported.lints()}
    assert fixes["topologyManagerPolicyOptions", "prefer-closest-numa-nodes"] == (
        "set featureGates: {TopologyManagerPolicyBetaOptions: true}"
    )


@pytest.mark.parametrize("gate", ["Foo", "CPUManagerPolicyOptions"])
def test_other_wrong_gates_do_not_hide_an_option_without_its_gate(gate: str) -> None:
    """A gate that the release lacks or has locked keeps the kubelet from starting, but not the check."""
    gates = {gate: False}
    config = static({"align-by-socket": "true"}, feature_gates=gates)
    subject = Reported(config=static()).subject()
    subject = subject._replace(config=KubeletConfiguration(**config), gates=FeatureGates(36, gates))
    (found,) = [lint for lint in lint_configuration(subject) if lint.code == "option-without-gate"]
    assert found.fix == GATED


def test_options_without_a_policy_are_only_rejected_as_a_whole() -> None:
    """Neither a gate nor another value would help: the policy none takes no options."""
    config = {CPU: {"align-by-socket": "true", "full-pcpus-only": "yes", "xyz": "true"}}
    assert [lint.code for lint in Reported(config=config).lints()] == []
