from __future__ import annotations

import subprocess
from dataclasses import dataclass

import pytest

from cpuctl.documents.document import Value
from cpuctl.errors import UsageError
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.schema import FIELD_TYPES
from cpuctl.kubelet.configuration.settings import plain
from cpuctl.kubelet.flags.command_line import arguments_of_file, read_flags, split_arguments
from cpuctl.kubelet.flags.kubelet_flags import KubeletFlags
from cpuctl.kubelet.flags.table import FLAGS, flag_of


def read(text: str, minor: int = 36) -> KubeletFlags:
    return read_flags(split_arguments(text), minor=minor)


def refused(text: str, minor: int = 36) -> ConfigRefusedError:
    with pytest.raises(ConfigRefusedError) as caught:
        read(text, minor)
    return caught.value


def fields(text: str) -> dict[str, Value]:
    return {name: plain(setting) for name, setting in read(text).settings.items()}


@dataclass(frozen=True)
class Case:
    """A command line, and the one field it sets."""

    arguments: str
    field: str
    want: Value


CASES = [
    Case("--max-pods=200", "maxPods", 200),
    Case("--max-pods 0xC8", "maxPods", 200),
    Case("--max-pods=1_000", "maxPods", 1000),
    Case("-v 4 -v5 -v=6 -h=false --max-pods=200", "maxPods", 200),
    Case("--max_pods=200", "maxPods", 200),
    Case("--max-pods=1 --max-pods=2", "maxPods", 2),
    Case("--pods-per-core=-1", "podsPerCore", -1),
    Case("--pod-max-pids=9223372036854775807", "podPidsLimit", 2**63 - 1),
    Case("--cgroups-per-qos", "cgroupsPerQOS", True),
    Case("--cgroups-per-qos=f", "cgroupsPerQOS", False),
    Case("--fail-swap-on=false --fail-swap-on", "failSwapOn", True),
    Case("--cpu-cfs-quota-period=0.1s", "cpuCFSQuotaPeriod", "100ms"),
    Case("--cpu-manager-reconcile-period 60s", "cpuManagerReconcilePeriod", "1m0s"),
    Case("--cpu-manager-policy ''", "cpuManagerPolicy", ""),
    Case("--reserved-cpus=0,16", "reservedSystemCPUs", "0,16"),
    Case("--kube-reserved cpu=500m", "kubeReserved", {"cpu": "500m"}),
    Case("/usr/bin/kubelet --system_reserved memory=2Gi", "systemReserved", {"memory": "2Gi"}),
    Case("--cgroup-driver '--strange'", "cgroupDriver", "--strange"),
    Case(
        "--enforce-node-allocatable=pods,kube-reserved", "enforceNodeAllocatable", ["pods", "kube-reserved"]
    ),
    Case(
        "--enforce-node-allocatable=pods --enforce-node-allocatable=none",
        "enforceNodeAllocatable",
        ["pods", "none"],
    ),
    Case("--enforce-node-allocatable=", "enforceNodeAllocatable", []),
    Case("--kube-reserved=cpu=1,memory=2Gi", "kubeReserved", {"cpu": "1", "memory": "2Gi"}),
    Case("--kube-reserved=' cpu = 1 ,,'", "kubeReserved", {"cpu": "1"}),
    Case("--kube-reserved=", "kubeReserved", {}),
    Case("--kube-reserved=cpu=1 --kube-reserved=cpu=2,pid=9", "kubeReserved", {"cpu": "2", "pid": "9"}),
    Case("--qos-reserved=memory=50%", "qosReserved", {"memory": "50%"}),
    Case(
        "--eviction-hard='memory.available<1Gi,nodefs.available<10%'",
        "evictionHard",
        {"memory.available": "1Gi", "nodefs.available": "10%"},
    ),
    Case(
        "--eviction-soft-grace-period=memory.available=90s",
        "evictionSoftGracePeriod",
        {"memory.available": "90s"},
    ),
    Case(
        "--cpu-manager-policy-options=full-pcpus-only=true --cpu-manager-policy-options=align-by-socket=true",
        "cpuManagerPolicyOptions",
        {"full-pcpus-only": "true", "align-by-socket": "true"},
    ),
    # Commas do not separate options: the second becomes part of the first one's value.
    Case("--cpu-manager-policy-options=a=true,b=true", "cpuManagerPolicyOptions", {"a": "true,b=true"}),
    Case(
        "--reserved-memory '0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=2.5Gi'",
        "reservedMemory",
        [
            {"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-1Gi": "2Gi"}},
            {"numaNode": 1, "limits": {"memory": "2.5Gi"}},
        ],
    ),
    Case(
        "--reserved-memory=0:memory=1Gi --reserved-memory=1:memory=1Gi",
        "reservedMemory",
        [{"numaNode": 0, "limits": {"memory": "1Gi"}}, {"numaNode": 1, "limits": {"memory": "1Gi"}}],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.arguments)
def test_flags_set_fields(case: Case) -> None:
    assert fields(case.arguments) == {case.field: case.want}


def test_the_origin_of_a_setting_is_its_flag() -> None:
    found = read("--kube-reserved=cpu=1").settings["kubeReserved"]
    assert found.members is not None
    assert [found.origin.place, found.members["cpu"].origin.place] == ["--kube-reserved"] * 2


def test_gates_add_up_and_are_not_a_field() -> None:
    flags = read("--feature-gates=A=true,B=false --feature-gates=' B = 1 '")
    assert (flags.gates, flags.settings) == ({"A": True, "B": True}, {})


def test_flags_outside_the_configuration() -> None:
    flags = read(
        "/usr/bin/kubelet --config=/etc/k.yaml --config-dir /etc/k.d --root-dir=/data/kubelet"
        " --experimental-allocatable-ignore-eviction"
    )
    assert (flags.config, flags.config_dir, flags.root_dir) == ("/etc/k.yaml", "/etc/k.d", "/data/kubelet")
    assert flags.ignores_eviction_thresholds
    assert not flags.settings
    assert not read("--experimental-allocatable-ignore-eviction=false").ignores_eviction_thresholds


IRRELEVANT = [
    "--v=4",
    "-v4",
    "-v 4",
    "--hostname-override node7 --node-ip=10.0.0.7",
    "--node-labels=a=b,c=d --register-node",
    "--kubeconfig /etc/kubernetes/kubelet.conf --bootstrap-kubeconfig=/etc/kubernetes/bootstrap.conf",
]


@pytest.mark.parametrize("arguments", IRRELEVANT)
def test_flags_that_no_manager_uses_are_accepted_with_their_values(arguments: str) -> None:
    assert read(f"{arguments} --max-pods=3").settings == read("--max-pods=3").settings


@dataclass(frozen=True)
class Unknown:
    """A flag that a release does not have: the kubelet's words, ours, and what to do."""

    arguments: str
    minor: int
    error: str
    message: str
    hint: str


UNKNOWN = [
    Unknown(
        "--bogus", 36, "--bogus", "unknown flag: --bogus", "remove --bogus: no kubelet since 1.27 has it"
    ),
    Unknown("--max-pod=3", 36, "--max-pod", "unknown flag: --max-pod", "did you mean --max-pods?"),
    # The flags of klog were removed in 1.26, those of dockershim in 1.24.
    Unknown(
        "--logtostderr",
        27,
        "--logtostderr",
        "unknown flag: --logtostderr: --logtostderr was removed in 1.26",
        "remove --logtostderr",
    ),
    Unknown(
        "--container-runtime=remote",
        27,
        "--container-runtime",
        "unknown flag: --container-runtime: --container-runtime was removed in 1.27",
        "remove --container-runtime",
    ),
    Unknown(
        "--pod-infra-container-image=registry.k8s.io/pause:3.9",
        35,
        "--pod-infra-container-image",
        "unknown flag: --pod-infra-container-image: --pod-infra-container-image was removed in 1.35",
        "remove --pod-infra-container-image",
    ),
    Unknown(
        "--config_dir=/etc/k.d",
        27,
        "--config_dir",
        "unknown flag: --config_dir: kubelet 1.27 has no flag --config-dir, which was added in 1.28",
        "remove --config-dir",
    ),
]


@pytest.mark.parametrize("case", UNKNOWN, ids=lambda case: case.arguments)
def test_a_kubelet_exits_on_an_unknown_flag(case: Unknown) -> None:
    error = refused(f"--max-pods=3 {case.arguments} --max-pods=many", case.minor)
    assert error.refusal.logged == f"failed to parse kubelet flag: unknown flag: {case.error}"
    assert (error.message, error.hint) == (case.message, case.hint)


LIMITED = {
    "azure-container-registry-config": (27, 29),
    "cloud-config": (27, 33),
    "config-dir": (28, 38),
    "fail-cgroupv1": (31, 38),
    "iptables-drop-bit": (27, 30),
    "iptables-masquerade-bit": (27, 30),
    "keep-terminated-pod-volumes": (27, 30),
    "log-text-info-buffer-size": (30, 38),
    "log-text-split-stream": (30, 38),
    "pod-infra-container-image": (27, 34),
    "register-schedulable": (27, 33),
}
COUNTS = [153, 154, 154, 155, 153, 153, 153, 151, 150, 150, 150, 150]


def test_the_flags_of_every_release() -> None:
    found = {name: [minor for minor in range(27, 39) if flag_of(name, minor)] for name in FLAGS}
    limited = {name: (minors[0], minors[-1]) for name, minors in found.items() if len(minors) < len(COUNTS)}
    assert limited == LIMITED
    assert [sum(minor in minors for minors in found.values()) for minor in range(27, 39)] == COUNTS


def test_without_a_release_flags_of_any_release_are_accepted() -> None:
    flags = read_flags(["--pod-infra-container-image=p", "--bogus", "value", "--max-pods=3"])
    assert {name: plain(setting) for name, setting in flags.settings.items()} == {"maxPods": 3}
    assert flags.names == ("pod-infra-container-image", "max-pods")


def test_topology_options_are_split_at_commas_since_1_31() -> None:
    line = "--topology-manager-policy-options=a=true,b=true"
    found = [plain(read(line, minor).settings["topologyManagerPolicyOptions"]) for minor in (30, 31)]
    assert found == [{"a": "true,b=true"}, {"a": "true", "b": "true"}]


@pytest.mark.parametrize(("line", "ends"), [("--help", "help"), ("-h", "help"), ("--version=raw", "version")])
def test_a_kubelet_that_prints_help_or_its_version_does_not_start(line: str, ends: str) -> None:
    assert f"prints its {ends} and exits" in refused(line).message


def test_words_that_are_not_flags_are_rejected_after_all_flags_are_read() -> None:
    assert fields("--max-pods=3 --") == {"maxPods": 3}
    for line in ("pods", "--max-pods=3 -", "-- pods", "--max-pods=3 -- --max-pods=4"):
        with pytest.raises(ConfigRefusedError) as caught:
            read(line)
        stray = line.split()[-1]
        assert caught.value.refusal.error == caught.value.refusal.logged == f"unknown command {stray}"
    with pytest.raises(ConfigRefusedError, match="invalid argument"):
        read("pods --max-pods=many")


@dataclass(frozen=True)
class Refusal:
    """Arguments that a kubelet rejects, and its words."""

    arguments: str
    want: str


MALFORMED = "malformed pair, expect"
REFUSALS = [
    Refusal("--max-pods", "flag needs an argument: --max-pods"),
    Refusal("-max-pods=200", "unknown shorthand flag: 'm' in -max-pods=200"),
    Refusal("-hx", "unknown shorthand flag: 'x' in -x"),
    Refusal("-v", "flag needs an argument: 'v' in -v"),
    Refusal("-v=", 'invalid argument "=" for "-v, --v" flag: strconv.ParseUint: parsing "=": invalid syntax'),
    Refusal(
        "--v=x", 'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax'
    ),
    Refusal(
        "--housekeeping-interval=10", 'invalid argument "10" for "--housekeeping-interval" flag: parse error'
    ),
    Refusal(
        "--application-metrics-count-limit=99999999999999999999",
        'invalid argument "99999999999999999999" for "--application-metrics-count-limit" flag:'
        " value out of range",
    ),
    Refusal(
        "--address=10.0.0",
        'invalid argument "10.0.0" for "--address" flag: "10.0.0" is not a valid IP address',
    ),
    Refusal(
        "--manifest-url-header=a",
        f'invalid argument "a" for "--manifest-url-header" flag: {MALFORMED} string:string',
    ),
    Refusal(
        "--register-with-taints=a=b",
        'invalid argument "a=b" for "--register-with-taints" flag: invalid taint spec: a=b, name part must'
        " consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
        " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
        " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ),
    Refusal(
        "--register-with-taints=a:Sometimes",
        'invalid argument "a:Sometimes" for "--register-with-taints" flag: invalid taint effect: Sometimes,'
        " unsupported taint effect",
    ),
    Refusal(
        "--register-with-taints=a:NoSchedule,b",
        'invalid argument "a:NoSchedule,b" for "--register-with-taints" flag: invalid taint spec: b',
    ),
    Refusal(
        "--register-with-taints=a=-:NoSchedule",
        'invalid argument "a=-:NoSchedule" for "--register-with-taints" flag: invalid taint spec:'
        " a=-:NoSchedule, a valid label must be an empty string or consist of alphanumeric characters, '-',"
        " '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', "
        " or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ),
    Refusal(
        "--vmodule=a=b",
        'invalid argument "a=b" for "--vmodule" flag: parsing verbosity in "a=b": strconv.ParseUint:'
        ' parsing "b": invalid syntax',
    ),
    Refusal("--v", "flag needs an argument: --v"),
    Refusal(
        '--enforce-node-allocatable=po\\"ds',
        'invalid argument "po\\"ds" for "--enforce-node-allocatable" flag: parse error on line 1, column 3:'
        ' bare " in non-quoted-field',
    ),
    Refusal("---max-pods=200", "bad flag syntax: ---max-pods=200"),
    Refusal("--=200", "bad flag syntax: --=200"),
    Refusal(
        "--max-pods=1__0",
        'invalid argument "1__0" for "--max-pods" flag: strconv.ParseInt: parsing "1__0": invalid syntax',
    ),
    Refusal(
        "--max-pods=many",
        'invalid argument "many" for "--max-pods" flag: strconv.ParseInt: parsing "many": invalid syntax',
    ),
    Refusal(
        "--cgroups-per-qos=yes",
        'invalid argument "yes" for "--cgroups-per-qos" flag: strconv.ParseBool: parsing "yes":'
        " invalid syntax",
    ),
    Refusal(
        "--cpu-cfs-quota-period=5",
        'invalid argument "5" for "--cpu-cfs-quota-period" flag: time: missing unit in duration "5"',
    ),
    Refusal(
        "--kube-reserved=cpu",
        f'invalid argument "cpu" for "--kube-reserved" flag: {MALFORMED} string=string',
    ),
    Refusal(
        "--eviction-hard=memory.available=1Gi",
        f'invalid argument "memory.available=1Gi" for "--eviction-hard" flag: {MALFORMED} string<string',
    ),
    Refusal(
        "--cpu-manager-policy-options=full-pcpus-only",
        'invalid argument "full-pcpus-only" for "--cpu-manager-policy-options" flag:'
        f" {MALFORMED} string=string",
    ),
    Refusal("--feature-gates=A", f'invalid argument "A" for "--feature-gates" flag: {MALFORMED} string=bool'),
    Refusal(
        "--feature-gates=A=on",
        'invalid argument "A=on" for "--feature-gates" flag: invalid value of A: on, err:'
        ' strconv.ParseBool: parsing "on": invalid syntax',
    ),
    Refusal(
        "--reserved-memory=memory=1Gi",
        'invalid argument "memory=1Gi" for "--reserved-memory" flag: the reserved memory has incorrect'
        " format, expected numaNodeID:type=quantity[,type=quantity...], got memory=1Gi",
    ),
    Refusal(
        "--reserved-memory=x:memory=1Gi",
        'invalid argument "x:memory=1Gi" for "--reserved-memory" flag: failed to convert the NUMA node ID,'
        " expected integer, got x",
    ),
    Refusal(
        "--reserved-memory=0:memory",
        'invalid argument "0:memory" for "--reserved-memory" flag: the reserved limit has incorrect value,'
        " expected type=quantity, got memory",
    ),
    Refusal(
        "--reserved-memory=0:cpu=1",
        'invalid argument "0:cpu=1" for "--reserved-memory" flag: memory type conversion error, unknown type:'
        ' "cpu"',
    ),
    Refusal(
        "--reserved-memory=0:memory=much",
        'invalid argument "0:memory=much" for "--reserved-memory" flag: failed to parse the quantity: much',
    ),
]


MISSPELT = [
    ("x:memory=1Gi", "failed to convert the NUMA node ID, exptected integer, got x"),
    ("0:memory", "the reserved limit has incorrect value, expected type=quantatity, got memory"),
    ("0:memory=much", "failed to parse the quantatity, expected quantatity, got much"),
]


@pytest.mark.parametrize(("value", "text"), MISSPELT)
def test_texts_about_reserved_memory_were_misspelt_before_1_35(value: str, text: str) -> None:
    error = refused(f"--reserved-memory={value}", 34).refusal.error
    assert error == f'invalid argument "{value}" for "--reserved-memory" flag: {text}'


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.arguments)
def test_errors_are_in_the_kubelets_words(case: Refusal) -> None:
    with pytest.raises(ConfigRefusedError) as caught:
        read(case.arguments)
    refusal = caught.value.refusal
    assert (refusal.stage, refusal.error, refusal.crash) == ("flags", case.want, False)
    assert refusal.logged == f"failed to parse kubelet flag: {case.want}"
    assert caught.value.where == "--kubelet-args"


def test_words_are_split_as_by_a_shell() -> None:
    line = """--a='b c' --d="e 'f'" g\\ h"""
    shell = subprocess.run(["sh", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True)
    assert split_arguments(line) == shell.stdout.splitlines()


def test_the_name_of_the_program_is_not_an_argument() -> None:
    assert split_arguments("/usr/bin/kubelet --v=2") == split_arguments("kubelet --v=2") == ["--v=2"]
    assert split_arguments("") == []
    assert split_arguments("--root-dir=/data/kubelet --v=2") == ["--root-dir=/data/kubelet", "--v=2"]


def test_an_open_quote_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"cannot be split into words: no closing quotation"):
        split_arguments("--a='b")


def test_every_field_is_known_and_set_by_one_flag() -> None:
    fields = [forms[-1].field for forms in FLAGS.values() if forms[-1].field]
    assert set(fields) <= FIELD_TYPES.keys()
    assert len(set(fields)) == len(fields)


LINES = [
    ('KUBELET_EXTRA_ARGS="--max-pods=50 --v=2"', ["--max-pods=50", "--v=2"]),
    ("KUBELET_EXTRA_ARGS=--max-pods=50 --v=2", ["--max-pods=50", "--v=2"]),
    ('KUBELET_KUBEADM_ARGS="--a=1" KUBELET_EXTRA_ARGS=\'--b="x y"\'', ["--a=1", "--b=x y"]),
    ("A=--a A=--b", ["--b"]),
    ("A=", []),
]


@pytest.mark.parametrize(("line", "words"), LINES)
def test_lines_for_systemd_are_accepted(line: str, words: list[str]) -> None:
    assert split_arguments(line) == words


def test_a_file_of_arguments_has_lines_and_comments() -> None:
    text = """# made by kubeadm
KUBELET_KUBEADM_ARGS="--node-ip=10.0.0.7 \\
  --max-pods=50"
; and here
KUBELET_EXTRA_ARGS=
"""
    assert arguments_of_file(text) == ["--node-ip=10.0.0.7", "--max-pods=50"]
    assert arguments_of_file("/usr/bin/kubelet --a\n--b\n") == ["--a", "--b"]


@pytest.mark.parametrize("program", ["k3s agent", "/usr/local/bin/k3s server", "rke2 agent"])
def test_the_kubelets_flags_are_taken_from_a_program_that_embeds_it(program: str) -> None:
    line = f"{program} --server https://one:6443 --kubelet-arg=max-pods=50 --kubelet-arg v=2 --node-name a"
    assert split_arguments(line) == ["--max-pods=50", "--v=2"]
    assert read_flags(split_arguments(line), minor=36).settings["maxPods"].value == 50


def test_a_flag_of_another_program_is_reported_as_such() -> None:
    with pytest.raises(ConfigRefusedError) as refused:
        read_flags(["--kubelet-arg=max-pods=50"], minor=36)
    assert "k3s agent --kubelet-arg=..." in refused.value.hint
