"""Every failed start is an error with a ``fix:`` in the table; once it is applied, the kubelet starts.

``test_refusal_fixes.py`` has what validation rejects; this file, what is rejected later or does not load.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuctl.kubelet.validation.later import LATER
from cpuctl.kubelet.validation.rule import Rule
from tests.cli.conftest import Cpuctl, Result

Config = dict[str, Any]
HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
_STEP = re.compile(r'\["([^"]+)"\]|([^.\[]+)')
MACHINE = "synthetic:2s2n8c2t,mem=64Gi"
MANY_NODES = "synthetic:2s12n24c2t,mem=64Gi"
STATIC: Config = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}
MEMORY: Config = {"memoryManagerPolicy": "Static", "systemReserved": {"memory": "1Gi"}}
ALPHA: Config = {"featureGates": {"CPUManagerPolicyAlphaOptions": True}}


def memory_of(node: int, **limits: str) -> list[Config]:
    named = {name.replace("_", "-"): amount for name, amount in limits.items()}
    return [{"numaNode": node, "limits": named}]


LATER_CASES: list[Config] = [
    *(
        {field: {"memory.available": amount}} | ({} if field == "evictionHard" else GRACE)
        for GRACE in ({"evictionSoftGracePeriod": {"memory.available": "1m"}},)
        for field in ("evictionHard", "evictionSoft")
        for amount in ("-5%", "500%", "0", "some")
    ),
    {"evictionHard": {"memory.free": "1Gi"}},
    {"evictionSoft": {"memory.free": "1Gi"}},
    {"evictionSoft": {"memory.available": "1Gi"}},
    {"evictionSoft": {"memory.avail": "1Gi"}, "evictionSoftGracePeriod": {"memory.avail": "1m"}},
    {"evictionSoft": {"memory.available": "1Gb"}, "evictionSoftGracePeriod": {"memory.available": "1m"}},
    {"evictionMinimumReclaim": {"memory.avail": "1Gi"}},
    {"evictionSoftGracePeriod": {"memory.free": "1m"}},
    {"evictionSoftGracePeriod": {"memory.available": "1x"}},
    {"evictionSoftGracePeriod": {"memory.available": "-1m"}},
    {"evictionMinimumReclaim": {"memory.free": "1"}},
    {"evictionMinimumReclaim": {"memory.available": "x"}},
    {"evictionMinimumReclaim": {"memory.available": "0%"}},
    {"evictionMinimumReclaim": {"memory.available": "-1"}},
    {"syncFrequency": "-1s"},
    {"tlsMinVersion": "TLS13"},
    {"authorization": {"mode": "RBAC"}},
    {"memorySwap": {"swapBehavior": "LimitedSwap"}, "failCgroupV1": False},
    {"configMapAndSecretChangeDetectionStrategy": "Poll"},
    {"containerLogMaxFiles": 1},
    {"containerLogMaxSize": "some"},
    {"systemCgroups": "/", "cgroupRoot": "/"},
]
CASES: list[Config] = [
    *LATER_CASES,
    {"reservedSystemCPUs": "99"},
    {"kubeReserved": {"cpu": "some"}},
    {"maxPods": "200"},
    {"failSwapOn": "no"},
    {"reservedSystemCPUs": [0, 1]},
    {"kubeReserved": "cpu=1,memory=1Gi"},
    {"kubeReserved": {"cpu": "1 core", "memory": "100MB"}},
    {"evictionHard": {"memory.available": "100MB"}},
    {"evictionHard": {"memory.available": "some"}},
    {"evictionHard": {"memory.avail": "100Mi"}},
    {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1, 3;2,"},
    {"reservedSystemCPUs": "1-0"},
    STATIC | {"reservedSystemCPUs": "all"},
    STATIC | {"systemReservedCgroup": "/system.slice"},
    STATIC
    | {
        "kubeReserved": {"cpu": "1"},
        "kubeReservedCgroup": "/kube.slice",
        "enforceNodeAllocatable": ["pods", "kube-reserved"],
    },
    STATIC | {"systemReservedCgroup": "/s", "kubeReservedCgroup": "", "containerLogMaxFiles": 1},
    STATIC
    | {
        "kubeReserved": {"cpu": "1"},
        "kubeReservedCgroup": "/kube.slice",
        "enforceNodeAllocatable": ["pods", "kube-reserved-compressible"],
    },
    {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "100"}},
    STATIC | MEMORY | {"reservedMemory": [*memory_of(0, memory="1124Mi"), *memory_of(0, memory="0")]},
    {"systemReserved": {"memory": "1G", "cpus": "1"}},
    {"reservedSystemCPUs": "1,"},
    {"kubeReserved": {"memory": "1000B"}},
    {"kubeReserved": {"memory": "5%"}},
    {"kubeReserved": {"pid": "some"}},
    {"evictionHard": {"memory.available": "100Mi", "memory.avail": "5%"}},
    {"enforceNodeAllocatable": ["pod"]},
    {"evictionSoft": {"memory.available": "5%"}},
    {"kubeReserved": {"memory": "-1"}},
    {"systemReserved": {"nvidia.com/gpu": "1"}},
    {"qosReserved": {"memory": "50"}},
    {"qosReserved": {"cpu": "50%"}},
    {"cpuManagerPolicy": "static"},
    {"cpuManagerPolicy": "static", "systemReservedCgroup": "/system.slice"},
    {"cpuManagerPolicy": "Static", "reservedSystemCPUs": "0"},
    {"cpuManagerPolicy": "dynamic"},
    {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}},
    STATIC | {"cpuManagerPolicyOptions": {"full-cores": "true"}},
    STATIC | {"cpuManagerPolicyOptions": {"align-by-socket": "true"}},
    STATIC | {"cpuManagerPolicyOptions": {"full-pcpus-only": "yes"}},
    STATIC
    | ALPHA
    | {
        "cpuManagerPolicyOptions": {
            "distribute-cpus-across-numa": "true",
            "prefer-align-cpus-by-uncorecache": "true",
        }
    },
    {"topologyManagerPolicy": "restricted", "topologyManagerPolicyOptions": {"closest": "true"}},
    {
        "topologyManagerPolicy": "restricted",
        "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "maybe"},
    },
    {
        "topologyManagerPolicy": "restricted",
        "topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "true"},
    },
    {"memoryManagerPolicy": "static"},
    {"memoryManagerPolicy": "Dynamic"},
    {"memoryManagerPolicy": "Static"},
    MEMORY,
    MEMORY | {"reservedMemory": memory_of(0, memory="1Gi")},
    MEMORY | {"reservedMemory": memory_of(9, memory="1124Mi")},
    MEMORY | {"reservedMemory": memory_of(0, memory="1124Mi", hugepages_2Mi="2Mi")},
    {"kubeReserved": {"memory": "1000Gi"}},
    {"kubeReserved": {"cpu": "100"}},
    {"featureGates": {"Nope": True}},
    {"featureGates": {"NodeSwap": False}},
    {"maxPods": "many"},
    {"featureGates": {"AllBeta": "some"}},
    {"evictionHard": ["memory.available"]},
]


def named(config: Config) -> str:
    return json.dumps(config)


Check = Callable[..., Result]


@pytest.fixture
def check(tmp_path: Path, cpuctl: Cpuctl) -> Check:
    """Return a function that writes a configuration and checks it, or runs another *command* with it."""

    def call(config: Config, *words: str, command: str = "check", machine: str = MACHINE) -> Result:
        (tmp_path / "config.json").write_text(json.dumps(HEAD | config))
        reported = ("-q", "-m", machine, "--kubelet-config", "config.json")
        return cpuctl("config", command, *reported, *words, columns=2000, cwd=tmp_path)

    return call


def done(config: Config, fix: str, check: Check, machine: str) -> Config:
    """Apply a fix to a configuration."""
    changed: Config = json.loads(json.dumps(config))
    if command := re.search(r"cpuctl config reserve((?: --[\w-]+ \d+)?)", fix):
        proposed = check(config, *command[1].split(), "-o", "json", command="reserve", machine=machine)
        assert proposed.code == 0, proposed
        changed |= json.loads(proposed.out)["proposal"]["settings"]
        return changed
    for pattern, change in CHANGES.items():
        if found := re.match(pattern, fix):
            change(changed, *found.groups())
            return changed
    raise AssertionError(fix)


def _without_gate(config: Config, gate: str = "") -> None:
    del config["featureGates"][gate or next(iter(config["featureGates"]))]


def _without_each(config: Config, names: str) -> None:
    for name in names.split(", "):
        _leave_out(config, name)


def _with_policy(config: Config, name: str, policy: str) -> None:
    config[name] = policy


def _with_option(config: Config, option: str, value: str) -> None:
    (field,) = (name for name in config if option in (config[name] or {}))
    config[field][option] = value


def _without_pages(config: Config, kind: str) -> None:
    for node in config["reservedMemory"]:
        node["limits"].pop(kind, None)


def _without_reservations(config: Config) -> None:
    config.pop("kubeReserved")


def _write(config: Config, name: str, value: str) -> None:
    path = [quoted or plain for quoted, plain in _STEP.findall(name)]
    for step in path[:-1]:
        config = config[step]
    config[path[-1]] = value


def _rename(config: Config, meant: str, name: str) -> None:
    *_, above, last = (quoted or plain for quoted, plain in _STEP.findall(name))
    _write(config, meant, config[above].pop(last))


def rename_in_all(config: Config, meant: str, name: str, fields: str) -> None:
    """Rename a member of settings, or an entry of lists."""
    for field in fields.split(" and "):
        if isinstance(config[field], list):
            config[field] = [meant if each == name else each for each in config[field]]
        else:
            config[field][meant] = config[field].pop(name)


def _write_whole(config: Config, value: str) -> None:
    """Write the only setting anew; a mapping is in YAML's short form."""
    (name,) = config
    config[name] = yaml.safe_load(value)


def _enforce_less(config: Config, names: str, enforced: str) -> None:
    _without_each(config, names)
    config["enforceNodeAllocatable"].remove(enforced)


def _unquote(config: Config) -> None:
    (name,) = config
    config[name] = int(config[name])


def _move_out(config: Config, name: str, parent: str) -> None:
    config[name] = config[parent].pop(name)


CHANGES: dict[str, Callable[..., None]] = {
    r"move (\w+) out of (\w+): ": _move_out,
    r"write one string: (.+)$": _write_whole,
    r"write (true|false|\{.+\})$": _write_whole,
    r"remove the quotes$": _unquote,
    r"set (evictionSoftGracePeriod): \{(\S+): (\S+)\}": lambda config, name, signal, time: config.update(
        {name: {signal: time}}
    ),
    r"set (featureGates): \{(\w+): true\}$": lambda config, gates, gate: config.setdefault(gates, {}).update(
        {gate: True}
    ),
    r"set (\w+Policy)(?::| to) (\w+)": _with_policy,
    r'set ([a-z]+-[a-z-]+): "(\w+)"(?: or "\w+")?$': _with_option,
    r'set (\S+): "(\S+)"$': _write,
    r"set (\S+): (\S+)$": _write,
    r"set (\S+): (\S+); set": _write,
    r"set (\S+) to a quantity, such as (\S+) or": _write,
    r"use (\S+) instead of (\S+)$": _rename,
    r"use (\S+) instead of (\S+) in (.+)$": rename_in_all,
    r"set (\S+) to a list, such as (\S+)$": _write,
    r"remove (\w+); remove (\S+) from enforceNodeAllocatable$": _enforce_less,
    r"remove (\w+) from featureGates$": _without_gate,
    r"remove it$": _without_gate,
    r"remove (hugepages-\w+)$": _without_pages,
    r"reserve less: ": _without_reservations,
    r"reserve CPUs: set (kubeReserved): \{(cpu): \"(1)\"\}": lambda config, field, name, count: config.update(
        {field: {name: count}}
    ),
    r"list the reserved CPUs in (\w+): ": lambda config, name: config.update({name: "0"}),
    r"remove ([^:]+)(?:: .*)?$": _without_each,
}


def _leave_out(config: Config, name: str) -> None:
    path = _STEP.findall(name)
    *above, last = (quoted or plain for quoted, plain in path)
    for step in above:
        config = config[step]
    config.pop(last, None)


def errors_until_started(config: Config, check: Check, *words: str, machine: str = MACHINE) -> list[str]:
    """Apply the first fix until the kubelet starts; return the errors on the way."""
    reported: list[str] = []
    for _ in range(4):
        result = check(config, *words, machine=machine)
        # A command after words is on the next line.
        answer = re.sub(r"(\n  fix: .*)\n    ", r"\1 ", result.out).splitlines()
        if " would start." in answer[0]:
            assert result.code == 0 or "0 errors" not in result.out
            return reported
        assert result.code == 3
        (counted,) = (line for line in answer if re.match(r"\d+ errors?, ", line))
        assert not counted.startswith("0"), result.out
        reported.append(answer[0])
        fixes = [line.removeprefix("  fix: ") for line in answer if line.startswith("  fix: ")]
        assert fixes, result.out
        config = done(config, fixes[0], check, machine)
    raise AssertionError(reported)


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        ("--max-pods=many", "correct the value, or remove --max-pods"),
        ("--max-pods", "add a value, or remove --max-pods"),
        ("many", "remove many"),
        ("max-pods=5", "use --max-pods=5"),
        ("---max-pods=5", "remove ---max-pods=5"),
        ("-x", "remove -x"),
        ("-v", "remove -v"),
    ],
)
def test_flags_that_cannot_be_read(wrong: str, fix: str, check: Check) -> None:
    refused = check({}, "--kubelet-args", wrong)
    assert refused.code == 3
    assert f"  fix: {fix}" in refused.out.splitlines()


@pytest.mark.parametrize("version", ["1.31", "1.36"])
def test_cgroup_v1_is_rejected_by_choice_and_by_default(version: str, check: Check) -> None:
    refused = check({"failCgroupV1": True}, "--cgroup-version", "1", "--kubelet-version", version)
    assert "  fix: set failCgroupV1: false, or boot with cgroup v2" in refused.out
    taken = check({"failCgroupV1": False}, "--cgroup-version", "1", "--kubelet-version", version)
    assert " would start." in taken.out


@pytest.mark.parametrize("config", CASES, ids=named)
def test_a_rejected_configuration_starts_once_its_fix_is_applied(config: Config, check: Check) -> None:
    swap = ("--cgroup-version", "1") if "memorySwap" in config else ()
    # Whether a gate is locked, and to which value, depends on the release.
    release = {"containerLogMaxFiles": "1.32", "featureGates": "1.36"}
    named = (("--kubelet-version", minor) for setting, minor in release.items() if setting in config)
    assert errors_until_started(config, check, *swap, *next(named, ()))


def test_two_errors_about_one_setting_have_both_fixes(check: Check) -> None:
    refused = check(STATIC | {"reservedSystemCPUs": "all", "systemReservedCgroup": "/s"})
    fixes = "remove systemReservedCgroup; set reservedSystemCPUs to a list, such as 0-1"
    assert f"  fix: {fixes}\n" in refused.out


def test_more_numa_nodes_than_the_topology_manager_allows(check: Check) -> None:
    config = {"topologyManagerPolicy": "restricted"}
    assert errors_until_started(config, check, machine=MANY_NODES)
    more = config | {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "12"}}
    fix = 'set topologyManagerPolicyOptions: {max-allowable-numa-nodes: "12"}'
    assert fix in check(config, machine=MANY_NODES).out
    assert " would start." in check(more, machine=MANY_NODES).out


@pytest.mark.parametrize(
    "way",
    [{"reservedSystemCPUs": "0"}, {"kubeReserved": {"cpu": "1"}}, {"systemReserved": {"cpu": "1"}}],
    ids=named,
)
def test_each_way_to_reserve_cpus(way: Config, check: Check) -> None:
    refused = check({"cpuManagerPolicy": "static"})
    assert json.dumps(next(iter(way)))[1:-1] in refused.out
    assert check({"cpuManagerPolicy": "static"} | way).code == 0


@pytest.mark.parametrize("rule", LATER, ids=lambda rule: f"{rule.field} {rule.text[:40]}")
def test_every_later_rule_is_violated_by_a_case(rule: Rule, check: Check) -> None:
    words = re.escape("would not start: ") + ".+".join(map(re.escape, rule.text.split("{}"))).replace(
        r"\{\{", r"\{"
    )
    minor = 36 if rule.holds_in(36) else rule.until - 1
    version = ("--kubelet-version", f"1.{minor}")
    about = [config for config in LATER_CASES if rule.path[0] in config]
    swap = ("--cgroup-version", "1") if rule.path[0] == "memorySwap" else ()
    assert any(re.search(words, check(config, *version, *swap).out) for config in about)


def test_a_crash_while_reserved_cpus_are_picked(check: Check, tmp_path: Path) -> None:
    """With fewer CPUs than cores, a kubelet divides by zero; its gates do not matter."""
    cores = [{"core_id": core, "thread_ids": [core], "socket_id": 0} for core in range(4)]
    nodes = [{"node_id": 0, "memory": 1 << 30, "cores": cores}]
    info = {"num_cores": 3, "num_sockets": 1, "memory_capacity": 1 << 30, "topology": nodes}
    (tmp_path / "machine.json").write_text(json.dumps(info))
    config = {
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"prefer-align-cpus-by-uncorecache": "true"},
        "kubeReserved": {"cpu": "1"},
    }
    (reported,) = errors_until_started(config, check, machine="machine.json")
    assert reported.endswith("runtime error: integer divide by zero")
    assert "featureGates" not in check(config, machine="machine.json").out


HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
SOFT = f"{HEADER}evictionSoft: {{memory.available: 5%}}\n"


@pytest.mark.parametrize(
    ("text", "corrected", "fix"),
    [
        ("", HEADER, "start it with the lines apiVersion: kubelet.config.k8s.io/v1beta1 and kind: "),
        (
            'reservedSystemCPUs: "0"\n',
            HEADER + 'reservedSystemCPUs: "0"\n',
            "start it with the lines apiVersion: ",
        ),
        ("# nothing\n", HEADER + "# nothing\n", "start it with the lines apiVersion: "),
        (
            HEADER + "cpuCFSQuota: [\n",
            HEADER + "cpuCFSQuota: true\n",
            "unclosed quotes or brackets",
        ),
        (HEADER + 'cgroupRoot: "/\n', HEADER + 'cgroupRoot: "/"\n', "unclosed quotes or brackets"),
        (HEADER + " maxPods: 9\n", HEADER + "maxPods: 9\n", "wrong indentation"),
        (
            HEADER
            + "evictionSoft: {memory.available: 5%}\nevictionSoftGracePeriod: {memory.available: 90}\n",
            HEADER
            + "evictionSoft: {memory.available: 5%}\nevictionSoftGracePeriod: {memory.available: 1m30s}\n",
            "write a duration such as 10s, 1m30s",
        ),
        (
            HEADER + "reservedSystemCPUs: 0x1\n",
            HEADER + 'reservedSystemCPUs: "0-3"\n',
            'write a CPU list in quotes, such as "0-3,8"',
        ),
        (
            HEADER + "logging:\n\tverbosity: 2\n",
            HEADER + "logging:\n  verbosity: 2\n",
            "indent YAML with spaces",
        ),
    ],
    ids=["empty", "no header", "comment", "bracket", "quote", "blanks", "duration", "hexadecimal", "tab"],
)
def test_a_file_that_is_not_a_configuration(
    text: str, corrected: str, fix: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    path = tmp_path / "kubelet.yaml"
    path.write_text(text)
    words = ("config", "check", "-m", MACHINE, "--kubelet-config", str(path))
    refused = cpuctl(*words)
    assert " would not start: " in refused.out
    (reported,) = [line for line in refused.out.splitlines() if line.startswith("  fix: ")]
    assert fix in reported
    path.write_text(corrected)
    assert " would start." in cpuctl(*words).out


def test_a_node_without_a_configuration_is_asked_for_its_file(cpuctl: Cpuctl) -> None:
    words = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", "--cgroup-version", "1", "-q")
    answer = cpuctl("config", "check", *words, columns=80)
    fix = "cpuctl config check -m fixtures/machines/2s-2numa-32cpu.tar.xz --kubelet-config FILE"
    assert f"\n  fix: {fix}\nFILE: the kubelet's configuration, not found here\n" in answer.out


def test_whole_cores_are_proposed(cpuctl: Cpuctl) -> None:
    static = ("--kubelet-args", "--cpu-manager-policy=static")
    answer = cpuctl("config", "check", "-m", "synthetic:1s1n4c2t", *static, "-q", columns=80)
    assert "\n    cpuctl config reserve --cpu-count 2 -m synthetic:1s1n4c2t " in answer.out
