"""What is missing from a recording is unknown: no command treats it as absent or as 0."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl
from tests.cli.test_odd_machines import recorded
from tests.cli.test_schemas import check
from tests.machine.sysfs_writer import small_machine

WHOLE = small_machine("2s2n4c2t,mem=8Gi,hugepages-2Mi=8,hugepages-1Gi=1")
MISSING = {
    "memory": r"meminfo",
    "memory of the machine": r"^proc/meminfo",
    "NUMA node memory": r"/node\d+/meminfo",
    "memory of one NUMA node": r"/node1/meminfo",
    "memory and all else of nodes": r"devices/system/node",
    "huge pages": r"hugepages",
    "huge pages of one NUMA node": r"/node1/hugepages",
    "huge pages and all else of nodes": r"devices/system/node",
    "caches": r"/cache/",
    "levels of caches": r"/cache/.*/level",
    "sharers of caches": r"/cache/.*/shared",
    "NUMA nodes": r"devices/system/node",
    "sockets": r"physical_package_id|core_siblings",
    "topology of CPUs": r"/topology/",
}
STATIC = (
    "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=best-effort "
    "--memory-manager-policy=Static --kube-reserved=memory=1Gi --reserved-memory=0:memory=1Gi"
)
MACHINE_ONLY = ("topology show", "topology map", "topology distances")
WITH_KUBELET = (
    "topology show --numa-memory",
    "config show",
    "config check",
    "config versions --to 1.37",
    "config reserve --cpu-count 2 --spread even",
    "plan -T a=2/2,1Gi",
    "plan -f pages.json",
    "explain a -T a=2/2,1Gi",
    "explain pages -f pages.json",
    "pods show -T a=2/2,1Gi",
    "resize -T a=2/2,1Gi --set a:cpu=3",
)
PAGES: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pages"},
    "spec": {
        "containers": [
            {"name": "c", "resources": {"limits": {"cpu": "2", "memory": "1Gi", "hugepages-1Gi": "1Gi"}}}
        ]
    },
}

FALSE_WORDS = {
    "memory": (
        r"\bno memory\b", r"has 0\b", r"capacity: 0\b", r"\bmemory +0\b", r"together: 0\b", r"1677721\dTi",
        r"more .* than it has", r"\(0 of memory\)",
    ),
    "huge pages": (
        r"no such huge pages", r"hugepages-\S+, requested: \d+, used: 0, capacity: 0\b", r"now 0\b",
        r"\b0 of 0\b", r"hugepages-\S+ +0\b",
    ),
    "caches": (
        r"L3 cache: +(0|16)\b", r"L3 cache: +none", r"\b0 L3 caches", r"no level-3 cache is recorded",
        r"kernel 0,", r"share L3", r"not every CPU",
    ),
    "NUMA nodes": (r"NUMA nodes: +0", r"NUMA nodes: kernel 0,", r"[^1]0 NUMA nodes", r":\d+s0n"),
    "sockets": (r"Sockets: +0\b", r"\b0 sockets", r"sockets: kernel 0,"),
    "topology": (
        r"would not start", r"\b0 cores", r"Cores: +\d", r"cores: kernel \d+",
        r"does not see such", r"equal core IDs", r"could not detect", r"\bcpu +0\b",
    ),
}  # fmt: skip
"""Texts that are wrong in an answer if the fact is unknown."""


def fact_of(kind: str) -> str:
    return next(fact for fact in FALSE_WORDS if fact in kind)


def zeros(document: Any, kind: str, path: str = "") -> Iterator[str]:
    """Yield the members of an answer that report 0 for a fact."""
    keys = {
        "memory": ("memoryBytes", "podsMemoryLimit", "capacity.memory"),
        "huge pages": ("hugePages",),
        "caches": ("l3Caches", "uncoreCaches", "alignment.uncoreCache"),
        "NUMA nodes": ("summary.numaNodes",),
        "sockets": ("summary.sockets",),
        "topology": ("summary.cores", "summary.sockets", "kubelet.cores", "kubelet.cpus"),
    }[fact_of(kind)]
    if isinstance(document, Mapping):
        for key, value in document.items():
            here = f"{path}.{key}"
            if (
                value == 0
                and value is not False
                and here.endswith(keys)
                and document.get("resource", "memory") == "memory"
            ):
                yield here
            yield from zeros(value, kind, here)
    elif isinstance(document, list):
        for each in document:
            yield from zeros(each, kind, path)


@pytest.fixture(scope="module")
def missing(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return a function that writes, once, the recording without a kind of fact."""

    @cache
    def directory(kind: str) -> str:
        files = {path: text for path, text in WHOLE.items() if not re.search(MISSING[kind], path)}
        return recorded(tmp_path_factory.mktemp("node"), files)

    return directory


@pytest.mark.parametrize("kind", MISSING)
@pytest.mark.parametrize("words", [*MACHINE_ONLY, *WITH_KUBELET])
def test_a_fact_that_was_not_recorded_is_unknown(
    cpuctl: Cpuctl, tmp_path: Path, missing: Callable[[str], str], kind: str, words: str
) -> None:
    """Remove one kind of fact at a time from a recording, and run every command."""
    machine = missing(kind)
    (tmp_path / "pages.json").write_text(json.dumps(PAGES))
    named = [str(tmp_path / word) if word == "pages.json" else word for word in words.split()]
    kubelet = ("--kubelet-args", STATIC) if words in WITH_KUBELET else ()
    result = cpuctl(*named, "-m", machine, *kubelet, columns=400)
    assert result.code in (0, 3), result
    for false in FALSE_WORDS[fact_of(kind)]:
        assert not re.search(false, result.out + result.err), (false, result.out, result.err)
    document = json.loads(cpuctl(*named, "-m", machine, *kubelet, "-o", "json").out)
    check(document)
    assert list(zeros(document, kind)) == []


@pytest.mark.parametrize("words", [*MACHINE_ONLY, *WITH_KUBELET])
def test_with_the_whole_recording_nothing_is_unknown(cpuctl: Cpuctl, tmp_path: Path, words: str) -> None:
    (tmp_path / "pages.json").write_text(json.dumps(PAGES))
    named = [str(tmp_path / word) if word == "pages.json" else word for word in words.split()]
    kubelet = ("--kubelet-args", STATIC) if words in WITH_KUBELET else ()
    result = cpuctl(*named, "-m", recorded(tmp_path / "node", WHOLE), *kubelet, columns=400)
    assert result.code in (0, 3), result
    assert "recorded" not in result.out
    assert "unknown" not in result.out
    assert "ndetermined" not in result.out


@pytest.mark.parametrize("kind", ["memory", "NUMA node memory", "memory of one NUMA node"])
def test_memory_that_was_not_recorded_can_be_specified(cpuctl: Cpuctl, tmp_path: Path, kind: str) -> None:
    files = {path: text for path, text in WHOLE.items() if not re.search(MISSING[kind], path)}
    machine = recorded(tmp_path, files)
    words = ("plan", "-q", "-m", machine, "--kubelet-args", STATIC, "-T", "a=2/2,1Gi", "-o", "json")
    open_ = json.loads(cpuctl(*words).out)
    assert open_["start"]["outcome"] == "Undetermined"
    stated = "set --memory QUANTITY (plan, advise, explain, resize, config, checkpoint)"
    assert stated in open_["start"]["why"]
    reported = json.loads(cpuctl(*words, "--memory", "16Gi").out)
    whole = recorded(tmp_path / "whole", WHOLE)
    wanted = json.loads(cpuctl(*(whole if word == machine else word for word in words)).out)
    assert reported["pods"] == wanted["pods"]
    assert reported["after"]["memory"] == wanted["after"]["memory"]


@pytest.mark.parametrize(
    "words",
    [
        "checkpoint new -T a=2/2,1Gi",
        "checkpoint verify state",
        "checkpoint repair state",
        "checkpoint migrate state --to 1.36",
    ],
)
def test_memory_can_be_specified_for_state_files_too(cpuctl: Cpuctl, tmp_path: Path, words: str) -> None:
    """With the memory specified, the answer is that for the same machine with recorded memory."""
    release = () if "migrate" in words else ("--kubelet-version", "1.36")
    bare = {path: text for path, text in WHOLE.items() if not re.search(MISSING["memory"], path)}
    reported = ("-m", recorded(tmp_path / "node", bare), "--kubelet-args", STATIC, *release, "-o", "json")
    whole = ("-m", recorded(tmp_path / "whole", WHOLE), *reported[2:])
    planned = ("-T", "a=2/2,1Gi", "--write-state", str(tmp_path / "state"))
    assert cpuctl("plan", *whole[:4], "--kubelet-version", "1.36", *planned).code == 0
    unsaid = cpuctl(*words.split(), *reported[:-2], cwd=tmp_path, columns=400)
    assert (unsaid.code, "unknown" in unsaid.out) == (3, True), unsaid
    stated = cpuctl(*words.split(), *reported, "--memory", "16Gi", cwd=tmp_path)
    wanted = cpuctl(*words.split(), *whole, cwd=tmp_path)
    assert (stated.code, wanted.code) == (0, 0), stated
    found, right = (json.loads(each.out) for each in (stated, wanted))
    assert [found.get(key) for key in ("start", "files")] == [right.get(key) for key in ("start", "files")]


def test_a_proposed_repair_includes_the_specified_memory(cpuctl: Cpuctl, tmp_path: Path) -> None:
    bare = {path: text for path, text in WHOLE.items() if not re.search(MISSING["memory"], path)}
    machine = recorded(tmp_path / "node", bare)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "cpu_manager_state").write_text(
        '{"policyName":"static","defaultCpuSet":"0-15","checksum":1}'
    )
    reported = ("-m", machine, "--kubelet-args", STATIC, "--kubelet-version", "1.36", "--memory", "16Gi")
    out = cpuctl("checkpoint", "verify", "state", *reported, cwd=tmp_path, columns=900).out
    (proposed,) = re.findall(r"cpuctl (checkpoint repair .*? --memory 16Gi)", out)
    result = cpuctl(*shlex.split(proposed), cwd=tmp_path, columns=400)
    assert (result.code, "unknown" in result.out) == (0, False), result


UNSAID = "whether the kubelet would start is unknown: the machine information"
NOT_KNOWN = (
    (
        "checkpoint new -T a=2/2,1Gi",
        f"not created: {UNSAID}",
    ),
    ("checkpoint repair state", f"not changed: {UNSAID}"),
    ("config reserve --cpu-count 2", "Nothing to propose: the machine information"),
)


@pytest.mark.parametrize(("words", "stated"), NOT_KNOWN)
def test_an_unknown_start_is_not_reported_as_failed(
    words: str, stated: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    machine = recorded(
        tmp_path, {path: text for path, text in WHOLE.items() if not re.search(MISSING["memory"], path)}
    )
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "cpu_manager_state").write_text(
        '{"policyName":"static","defaultCpuSet":"0-15","checksum":1}'
    )
    reported = ("-m", machine, "--kubelet-args", STATIC, "--kubelet-version", "1.36")
    result = cpuctl(*words.split(), *reported, cwd=tmp_path, columns=400)
    assert result.code == 3
    assert stated in result.out
    assert "would not start" not in result.out
    assert "for another reason" not in result.out


@pytest.mark.parametrize(
    "words", ["plan -T a=2/2,1Gi", "explain a -T a=2/2,1Gi", "resize -T a=2/2,1Gi --set a:cpu=3"]
)
def test_cpus_chosen_by_unknown_caches_have_a_warning(words: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    machine = recorded(
        tmp_path, {path: text for path, text in WHOLE.items() if not re.search(MISSING["caches"], path)}
    )
    option = "--cpu-manager-policy-options=prefer-align-cpus-by-uncorecache=true"
    reported = ("-m", machine, "--kubelet-version", "1.36", "--kubelet-args")
    uncertain = "warning: L3 caches are not recorded: prefer-align-cpus-by-uncorecache uses sockets"
    assert uncertain in cpuctl(*words.split(), *reported, f"{STATIC} {option}", columns=400).err
    assert uncertain not in cpuctl(*words.split(), *reported, STATIC, columns=400).err


@pytest.mark.parametrize("kind", ["caches", "levels of caches", "sharers of caches"])
def test_the_kubelets_label_of_an_unknown_cache_is_unknown_too(
    tmp_path: Path, cpuctl: Cpuctl, kind: str
) -> None:
    """The label that a kubelet would use instead is its socket's, which is not an L3 cache."""
    files = {path: text for path, text in WHOLE.items() if not re.search(MISSING[kind], path)}
    words = ("topology", "-m", recorded(tmp_path, files))
    labels = json.loads(cpuctl(*words, "-o", "json").out)["kubelet"]["labels"]
    assert {label["uncoreCache"] for label in labels.values()} == {None}
    shown = cpuctl(*words, "--columns", "KUBELET-SOCKET,KUBELET-L3").out
    assert {tuple(line.split()) for line in shown.splitlines()[1:]} == {("0", "-"), ("1", "-")}


def test_an_option_for_unknown_caches_is_not_reported_as_idle(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A machine with one socket has one group of CPUs in place of caches, which is not an L3 cache."""
    files = small_machine("1s1n4c2t,mem=8Gi")
    machine = recorded(
        tmp_path, {path: text for path, text in files.items() if not re.search(MISSING["caches"], path)}
    )
    options = "prefer-align-cpus-by-uncorecache=true"
    reported = f"--cpu-manager-policy=static --reserved-cpus=0 --cpu-manager-policy-options={options}"
    words = ("config", "check", "-m", machine, "--kubelet-version", "1.36", "--kubelet-args", reported)
    found = {
        each["code"]: each["severity"] for each in json.loads(cpuctl(*words, "-o", "json").out)["findings"]
    }
    assert found.get("caches-not-recorded") == "warning"
    assert "option-idle" not in found


def test_what_cadvisor_does_not_report_is_unknown(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """If the kernel gives caches no ids, the machine information lists none."""
    cores = [{"core_id": core, "thread_ids": [core], "socket_id": 0} for core in range(4)]
    node = {"node_id": 0, "memory": 8 << 30, "hugepages": [], "cores": cores}
    info = {"num_cores": 4, "num_sockets": 1, "memory_capacity": 8 << 30, "topology": [node]}
    machine = tmp_path / "machine.json"
    machine.write_text(json.dumps(info))
    shown = cpuctl("topology", "-m", str(machine)).out
    assert "L3 cache:          not recorded" in shown
    assert "L3 cache: 0 for the kernel" not in shown
    document = json.loads(cpuctl("topology", "-m", str(machine), "-o", "json").out)
    assert document["summary"]["l3Caches"] is None
    picture = cpuctl("topology", "-m", str(machine), "--svg", "-").out
    assert "0 L3 caches" not in picture
    del node["memory"], node["hugepages"], info["memory_capacity"]
    machine.write_text(json.dumps(info))
    words = ("-m", str(machine), "--kubelet-args", STATIC)
    assert "unknown" in cpuctl("plan", *words, "-T", "a=2/2,1Gi").out
    (tmp_path / "pages.json").write_text(json.dumps(PAGES))
    pages = cpuctl("plan", "-m", str(machine), "-f", str(tmp_path / "pages.json")).out
    assert "undetermined: requests hugepages-1Gi, but the node" in pages


def test_a_memory_state_is_not_compared_with_unrecorded_huge_pages(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """The file names huge pages that the recording does not have: as far as is known, nothing has changed."""
    whole, kubelet = (
        recorded(tmp_path / "whole", WHOLE),
        ("--kubelet-args", STATIC, "--kubelet-version", "1.36"),
    )
    state, pod = tmp_path / "state", ("-T", "a=2/2,1Gi")
    assert cpuctl("plan", "-m", whole, *kubelet, *pod, "--write-state", str(state)).code == 0
    assert "would start" in cpuctl("checkpoint", "verify", str(state), "-m", whole, *kubelet).out
    files = {path: text for path, text in WHOLE.items() if "hugepages" not in path}
    words = ("-m", recorded(tmp_path / "node", files), *kubelet)
    verified = cpuctl("checkpoint", "verify", str(state), *words)
    assert "unknown" in verified.out
    assert "changed" not in verified.out
    assert "unknown" in cpuctl("plan", *words, "--state", str(state), *pod).out
    repaired = cpuctl("checkpoint", "repair", str(state), *words)
    assert (repaired.code, "Nothing was written." in repaired.out) == (3, True)
    check(json.loads(cpuctl("checkpoint", "verify", str(state), *words, "-o", "json").out))
    check(json.loads(cpuctl("checkpoint", "repair", str(state), *words, "-o", "json").out))


def test_a_kernel_without_huge_pages_differs_from_a_recording_without(cpuctl: Cpuctl, tmp_path: Path) -> None:
    files = {path: text for path, text in WHOLE.items() if "hugepages" not in path}
    files["sys/kernel/mm/transparent_hugepage/enabled"] = "always [madvise] never\n"
    shown = cpuctl("topology", "-m", recorded(tmp_path, files)).out
    assert "huge pages are not recorded" not in shown


@pytest.mark.parametrize("kind", ["caches", "levels of caches", "sharers of caches"])
def test_whether_cpus_share_an_unrecorded_cache_is_unknown(cpuctl: Cpuctl, tmp_path: Path, kind: str) -> None:
    """A kubelet that sees no caches uses sockets, but what the CPUs share remains unknown."""
    files = {path: text for path, text in WHOLE.items() if not re.search(MISSING[kind], path)}
    words = ("-q", "-m", recorded(tmp_path, files), "--kubelet-args", STATIC, "-T", "a=2/2,1Gi")
    shown = cpuctl("plan", *words, "--capacity").out
    heads, row = (
        next(line for line in shown.splitlines() if line.startswith(name)) for name in ("POD", "defa")
    )
    assert dict(zip(heads.split(), row.split(), strict=False))["L3"] == "-"
    assert "uncore cache" not in shown
    document = json.loads(cpuctl("plan", *words, "--capacity", "-o", "json").out)
    check(document)
    (container,) = document["pods"][0]["containers"]
    assert container["alignment"]["uncoreCache"] is container["aligned"]["uncoreCaches"] is None
    assert document["node"]["uncoreCaches"] is document["capacity"]["fragmentation"]["uncoreCache"] is None
    assert document["capacity"]["uncoreCaches"] == []
    compared = cpuctl("plan", *words, "--compare", ".", "restricted", "-o", "json")
    totals = json.loads(compared.out)["a"]["totals"]
    check(json.loads(compared.out))
    assert totals["aligned"] == {"core": 1, "uncoreCache": None, "numaNode": 1, "socket": 1}


def test_memory_of_numa_nodes_is_shown_without_that_of_the_machine(
    cpuctl: Cpuctl, missing: Callable[[str], str]
) -> None:
    def reported(kind: str) -> str:
        lines = cpuctl("topology", "show", "-m", missing(kind)).out.splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("Memory:"))

    assert reported("memory of the machine") == "16Gi on NUMA nodes; total of the machine not recorded"
    assert reported("memory") == "not recorded"


CORES_UNKNOWN = (
    "the core and package of the CPUs are not recorded (cpu*/topology), but the kubelet needs both"
)


def test_an_unrecorded_cpu_topology_is_reported_by_every_command(
    cpuctl: Cpuctl, missing: Callable[[str], str]
) -> None:
    machine = missing("topology of CPUs")

    def stated(*words: str) -> str:
        result = cpuctl(*words, "-m", machine, columns=400)
        return result.out + result.err

    listed = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
    assert f"Reserved resources are unknown: {CORES_UNKNOWN}\n" in stated("config", "show", *listed)
    assert f"Nothing to propose: {CORES_UNKNOWN}\n" in stated("config", "reserve", "--reserved-cpus=2")
    kept = f"the resources reserved on the node are unknown: {CORES_UNKNOWN}\n"
    assert kept in stated("pods", "show", "-T", "a=2/2,1Gi", *listed)
    # CPUs are reserved whatever their number is: only what is left is unknown.
    lines = stated("config", "show", "--kubelet-args=--kube-reserved=cpu=500m").splitlines()
    assert next(line.split() for line in lines if line.startswith("cpu ")) == ["cpu", "?", "500m", *"00??"]
    (planned,) = (line for line in stated("plan", "-T", "a=2/2,1Gi").splitlines() if "config check" in line)
    assert planned.startswith("Next, to see what is known: cpuctl config check -m ")


def test_a_fleet_does_not_count_what_is_not_recorded(cpuctl: Cpuctl, missing: Callable[[str], str]) -> None:
    answer = json.loads(cpuctl("fleet", "list", missing("topology of CPUs"), "-o", "json").out)
    (node,) = answer["nodes"]
    assert node["start"]["outcome"] == "Undetermined"
    assert node["start"]["why"] == CORES_UNKNOWN
    assert node["machine"].pop("memory") > 0
    assert set(node["machine"].values()) == {None}
