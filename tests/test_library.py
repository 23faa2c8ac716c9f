"""The public names are those of docs/library.md, typed, and loaded only when they are used."""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import cpuctl
from tests.dra.claims import claim, cpus, pod

ROOT = Path(__file__).parents[1]
MACHINE = "fixtures/machines/2s-2numa-32cpu.tar.xz"
STATIC = "fixtures/kubelet/static.yaml"
PUBLIC: list[str] = vars(cpuctl)["__all__"]

NAMES = {
    "LIBRARY_VERSION": "'1.2'",
    "CPU": "core kind numa_node number socket uncore_cache",
    "CPUSet": "(mask: 'int' = 0) -> 'None'",
    "Configuration": "version warnings",
    "ContainerView": "cpus kind name",
    "CpuctlError": "(message: 'str', *, where: 'str' = '', hint: 'str' = '') -> 'None'",
    "Decision": "admitted answer cpus message outcome pod reason",
    "Explanation": "answer pod rule suggestions why",
    "Holder": "container cpus uid",
    "InputError": "(message: 'str', *, where: 'str' = '', hint: 'str' = '') -> 'None'",
    "Machine": "cpus name numa_nodes",
    "Node": "admit copy explain free pods remove resize restart shared_pool warnings",
    "NodeAccessError": "(message: 'str', *, where: 'str' = '', hint: 'str' = '') -> 'None'",
    "NotStartedError": "start",
    "Pod": "containers name uid with_resources",
    "PodView": "containers cpus name namespace priority qos uid",
    "Policy": "alignment allocate choices deallocate filter post_filter pre_score score select sort source",
    "PolicyError": "(message: 'str', *, where: 'str' = '', hint: 'str' = '') -> 'None'",
    "Rejection": "",
    "ResizeDecision": "answer cpus message outcome pod reason",
    "Topology": "cores cpus cpus_per_core cpus_per_socket cpus_per_uncore_cache distances numa_first "
    "numa_nodes sockets uncore_caches",
    "Usage": "allocatable assigned",
    "UsageError": "(message: 'str', *, where: 'str' = '', hint: 'str' = '') -> 'None'",
    "View": "container free holders kubelet need nodes release reserved running settings shared topology "
    "usage",
    "make_node": "(machine: 'Machine', configuration: 'Configuration', *, state: 'Name' = '', "
    "running: 'Name' = '', devices: 'Name' = '', driver_arguments: 'str' = '', "
    "policy: 'str | Policy | type[Policy]' = '') -> 'Node'",
    "read_configuration": "(name: 'Name | None' = None, machine: 'Machine | None' = None, *, "
    "arguments: 'str | None' = None, feature_gates: 'str' = '', version: 'str' = '') -> 'Configuration'",
    "read_machine": "(name: 'Name' = 'live', *, memory: 'str' = '') -> 'Machine'",
    "read_pods": "(*names: 'Name', templates: 'Iterable[str]' = ()) -> 'tuple[Pod, ...]'",
}
"""Together with ``LIBRARY_VERSION``: a change here changes an interface that other programs use."""
METHODS = {
    "Pod.with_resources": "(self, container: 'str', *, cpu: 'str' = '', memory: 'str' = '') -> 'Pod'",
    "Policy.sort": "(self, pods: 'tuple[PodView, ...]', view: 'View') -> 'Iterable[PodView]'",
    "Policy.filter": "(self, pod: 'PodView', cpu: 'CPU', view: 'View') -> 'bool'",
    "Policy.post_filter": "(self, pod: 'PodView', view: 'View') -> 'Iterable[str]'",
    "Policy.pre_score": "(self, container: 'ContainerView | None', cpu: 'CPU', view: 'View') -> 'float'",
    "Policy.select": "(self, scores: 'Mapping[int, float]', view: 'View') -> 'Iterable[Iterable[int]]'",
    "Policy.score": "(self, cpus: 'CPUSet', view: 'View') -> 'float'",
    "Policy.allocate": "(self, cpus: 'CPUSet', view: 'View') -> 'None'",
    "Policy.deallocate": "(self, cpus: 'CPUSet', view: 'View') -> 'None'",
    "Node.admit": "(self, pod: 'Pod') -> 'Decision'",
    "Node.copy": "(self) -> 'Node'",
    "Node.explain": "(self, pod: 'Pod') -> 'Explanation'",
    "Node.remove": "(self, name: 'str') -> 'None'",
    "Node.resize": "(self, pod: 'Pod') -> 'ResizeDecision'",
    "Node.restart": "(self, configuration: 'Configuration | None' = None) -> 'tuple[Decision, ...]'",
}


def members(kind: type) -> set[str]:
    """Return public attributes: properties, methods, fields, and those that ``__init__`` sets."""
    own = {name for name in vars(kind) if not name.startswith("_") and name not in ("_fields", "exit_code")}
    set_at_start = inspect.getsource(kind.__init__) if "__init__" in vars(kind) else ""  # type: ignore[misc]
    lines = (line.strip() for line in set_at_start.splitlines())
    own |= {line[5:].partition(" ")[0] for line in lines if line.startswith("self.") and line[5] != "_"}
    return own


def test_the_public_names_are_these() -> None:
    assert sorted(NAMES) == sorted(PUBLIC)
    for name, reported in NAMES.items():
        found = getattr(cpuctl, name)
        if reported.startswith("("):
            assert str(inspect.signature(found)) == reported, name
        elif isinstance(found, type):
            assert sorted(members(found)) == reported.split(), name
        else:
            assert repr(found) == reported, name


def test_the_methods_have_the_documented_signatures() -> None:
    for name, reported in METHODS.items():
        kind, method = name.split(".")
        assert str(inspect.signature(getattr(getattr(cpuctl, kind), method))) == reported, name


def test_every_name_has_its_type_in_the_stub() -> None:
    stub = (ROOT / "cpuctl" / "__init__.pyi").read_text()
    assert {line.rpartition(" ")[2] for line in stub.splitlines() if " as " in line} == set(PUBLIC)


def test_names_are_loaded_on_first_use() -> None:
    script = (
        "import sys, cpuctl; cpuctl.__version__;"
        "before = [m for m in sys.modules if m.startswith('cpuctl.')];"
        "cpuctl.read_machine; print(before, 'cpuctl.api' in sys.modules, 'yaml' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[] True False\n"


def test_other_names_do_not_exist() -> None:
    assert not hasattr(cpuctl, "start_node")
    assert set(PUBLIC) <= set(dir(cpuctl))


def test_the_examples_of_the_page_are_correct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(ROOT / "docs" / "library.md"), module_relative=False)
    assert not failed
    assert tried > 15


def test_everything_that_a_policy_sees_is_documented() -> None:
    page = (ROOT / "docs" / "policies.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for kind in (cpuctl.CPU, cpuctl.PodView, cpuctl.ContainerView, cpuctl.Holder, cpuctl.Usage):
        [row] = [line for line in rows if line.startswith(f"| `{kind.__name__}`")]
        assert [name for name in kind._fields if f"`{name}`" not in row] == []
    assert [name for name in cpuctl.View._fields if not any(f"`{name}`" in row for row in rows)] == []


def printed(*words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "cpuctl", *words, "-q", "-o", "json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    return json.loads(done.stdout)


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> cpuctl.Node:
    monkeypatch.chdir(ROOT)
    machine = cpuctl.read_machine(MACHINE)
    return cpuctl.make_node(machine, cpuctl.read_configuration(STATIC, machine))


def test_decisions_are_those_of_the_command_line(node: cpuctl.Node) -> None:
    pods = cpuctl.read_pods("fixtures/pods", templates=["big=40/40,2Gi"])
    decisions = [node.admit(pod) for pod in pods]
    words = ("-m", MACHINE, "--kubelet-config", STATIC, "-f", "fixtures/pods", "-T", "big=40/40,2Gi")
    planned = printed("plan", *words)
    assert [decision.answer for decision in decisions] == planned["pods"]
    assert str(node.free) == planned["after"]["freeCPUs"]
    explained = printed("explain", "default/big", *words)
    reported = node.explain(pods[-1])
    assert reported.answer["decision"] == explained["decision"]
    assert reported.answer["suggestions"][0]["change"] == explained["suggestions"][0]["change"]


def test_a_copy_is_independent(node: cpuctl.Node) -> None:
    [web] = cpuctl.read_pods(templates=["web=4/4,2Gi"])
    copied = node.copy()
    assert copied.admit(web).admitted
    assert (node.pods, copied.pods) == ((), ("default/web",))
    assert len(node.free) - len(copied.free) == 4


def test_a_restart_keeps_pods_and_may_change_the_configuration(node: cpuctl.Node) -> None:
    [web, odd] = cpuctl.read_pods(templates=["web=4/4,2Gi", "odd=3/3,1Gi"])
    before = node.admit(web).cpus
    assert not node.admit(odd).admitted
    [again] = node.restart()
    assert again.cpus == before
    loose = cpuctl.read_configuration(STATIC, arguments="--cpu-manager-policy-options=full-pcpus-only=false")
    [again] = node.restart(loose)
    assert again.cpus == before
    assert node.explain(odd).rule == "admitted"
    assert node.admit(odd).admitted


def test_a_failed_restart_leaves_the_node_unchanged(node: cpuctl.Node) -> None:
    [web] = cpuctl.read_pods(templates=["web=4/4,2Gi"])
    node.admit(web)
    free, none = node.free, cpuctl.read_configuration("fixtures/kubelet/none.yaml")
    with pytest.raises(cpuctl.NotStartedError, match="policy"):
        node.restart(none)
    assert (node.free, node.pods) == (free, ("default/web",))


def test_a_resize_may_be_forbidden(node: cpuctl.Node) -> None:
    [web] = cpuctl.read_pods(templates=["web=1500m/2,1Gi"])
    assert node.admit(web).admitted
    resized = node.resize(web.with_resources("web", cpu="2", memory="2Gi"))
    assert (resized.outcome, resized.cpus) == ("Forbidden", {})
    with pytest.raises(cpuctl.UsageError, match="no container"):
        web.with_resources("other", cpu="2")
    with pytest.raises(cpuctl.UsageError, match="there is no pod"):
        node.remove("other")


LIMITED = """
apiVersion: v1
kind: LimitRange
metadata: {name: most, namespace: default}
spec: {limits: [{type: Container, max: {cpu: "2"}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: all, namespace: default}
spec: {hard: {pods: "1"}}
"""
POD = """---
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: default}
spec: {containers: [{name: app, image: a, resources: {limits: {cpu: "CPUS", memory: 1Gi}}}]}
"""


def test_limits_of_a_namespace_apply(node: cpuctl.Node, tmp_path: Path) -> None:
    wanted = (("first", "2"), ("large", "4"), ("second", "2"))
    pods = "".join(POD.replace("NAME", name).replace("CPUS", cpus) for name, cpus in wanted)
    path = tmp_path / "pods.yaml"
    path.write_text(LIMITED + pods)
    first, large, second = cpuctl.read_pods(path)
    assert node.admit(first).admitted
    assert "maximum cpu usage per Container is 2" in node.admit(large).message
    refused = node.admit(second)
    assert (refused.outcome, "exceeded quota: all" in refused.message) == ("Forbidden", True)
    assert node.explain(second).rule == "apiServer"
    node.remove("first")
    assert node.admit(second).admitted


def test_limits_of_a_namespace_apply_after_a_restart_and_to_resizes(
    node: cpuctl.Node, tmp_path: Path
) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text(LIMITED + POD.replace("NAME", "first").replace("CPUS", "1500m"))
    [first] = cpuctl.read_pods(path)
    [second] = cpuctl.read_pods(templates=["second=1/1,1Gi"])
    assert node.admit(first).admitted
    node.restart()
    refused = node.admit(second)
    assert (refused.outcome, "exceeded quota: all" in refused.message) == ("Forbidden", True)
    assert node.explain(second).rule == "apiServer"
    assert "maximum cpu usage" in node.resize(first.with_resources("app", cpu="2500m")).message


def test_claims_are_read_with_pods(tmp_path: Path) -> None:
    node = cpuctl.make_node(
        cpuctl.read_machine("synthetic:2n16c2t"),
        cpuctl.read_configuration(),
        driver_arguments="--reserved-cpus=0,16",
    )
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(claim("four", cpus(4)) + pod("web", "four"))
    other.write_text(
        claim("most", cpus(26)) + claim("two", cpus(2)) + pod("large", "most") + pod("db", "two")
    )
    [web], [large, db] = cpuctl.read_pods(one), cpuctl.read_pods(other)
    assert [each["cpus"] for each in node.admit(web).answer["claims"]] == ["1-2,17-18"]
    assert node.admit(large).outcome == "Pending"
    assert [each["cpus"] for each in node.admit(db).answer["claims"]] == ["3,19"]
    node.restart()
    assert "have enough capacity left" in node.admit(large).message
    assert node.explain(large).rule == "resourceClaims"
    node.remove("web")
    copied = node.copy()
    [again] = cpuctl.read_pods(one)
    assert [each["cpus"] for each in copied.admit(again).answer["claims"]] == ["1-2,17-18"]
    [unknown] = cpuctl.read_pods(written(tmp_path, pod("lost", "nothing")))
    assert node.admit(unknown).outcome == "Undetermined"


def written(directory: Path, text: str) -> Path:
    file = directory / "pods.yaml"
    file.write_text(text)
    return file


def test_notes_about_inputs_are_reported(node: cpuctl.Node, tmp_path: Path) -> None:
    text = POD.replace("NAME", "web").replace("CPUS", "1") + "---\napiVersion: v1\nkind: Service\n"
    [web] = cpuctl.read_pods(written(tmp_path, text.replace("image: a", "image: a, command: [b]")))
    node.admit(web)
    assert node.explain(web).answer["sources"]["skippedObjects"]["value"] == "1 Service"


def test_the_library_uses_the_same_functions_as_commands() -> None:
    """At run time it calls the same functions as commands, and nothing below them."""
    tree = ast.parse((ROOT / "cpuctl" / "api.py").read_text())
    typed = {line for each in ast.walk(tree) if isinstance(each, ast.If) for line in lines_of(each)}
    requested = {
        each.module or ""
        for each in ast.walk(tree)
        if isinstance(each, ast.ImportFrom) and each.lineno not in typed
    }
    assert {name for name in requested if not name.startswith(COMMON)} == {
        "__future__",
        "cpuctl.cpuset",
        "cpuctl.errors",
        "cpuctl.exports.outcomes",
        "cpuctl.kubelet.configuration.refusal",
        "cpuctl.records",
        "typing",
    }


COMMON = ("cpuctl.answering.", "cpuctl.inputs.", "cpuctl.operations.")


def lines_of(branch: ast.If) -> range:
    known = isinstance(branch.test, ast.Name) and branch.test.id == "TYPE_CHECKING"
    return range(branch.lineno, (branch.end_lineno or 0) + 1) if known else range(0)


class Highest(cpuctl.Policy):
    """Take the CPUs with the highest numbers, unless a pod is called trouble."""

    def __init__(self, below: int = 9999) -> None:
        self.below = below

    def filter(self, pod: cpuctl.PodView, cpu: cpuctl.CPU, view: cpuctl.View) -> bool:  # noqa: ARG002
        if pod.name == "trouble":
            raise ValueError("no such thing")
        return True

    def select(self, scores: Mapping[int, float], view: cpuctl.View) -> Iterator[cpuctl.CPUSet]:
        yield cpuctl.CPUSet.of([cpu for cpu in sorted(scores) if cpu < self.below][-view.need :])


def test_a_policy_is_a_class_an_instance_or_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    machine = cpuctl.read_machine(MACHINE)
    configuration = cpuctl.read_configuration(STATIC, machine)
    [web] = cpuctl.read_pods(templates=["web=4/4,2Gi"])
    none: dict[str, str] = {}
    default, lower = (Highest, "28-31", {"below": "9999"}), (Highest(20), "14-15,18-19", none)
    for policy, taken, options in (default, lower, ("static", "2-5", none)):
        node = cpuctl.make_node(machine, configuration, policy=policy)
        assert str(node.admit(web).cpus["web"]) == taken
        named = node.explain(web).answer["kubelet"]["policy"]
        assert (named["status"], named["options"]) == ("what-if", options)


def test_a_rejected_resize_leaves_the_node_unchanged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    machine, gate = cpuctl.read_machine(MACHINE), "InPlacePodVerticalScalingExclusiveCPUs=true"
    configuration = cpuctl.read_configuration(STATIC, machine, feature_gates=gate, version="1.38")
    node = cpuctl.make_node(machine, configuration, policy=Highest)
    web, other = cpuctl.read_pods(templates=["web=4/4,2Gi", "other=2/2,2Gi"])
    assert node.admit(web).admitted
    assert node.admit(other).admitted
    before = node.explain(web)
    with pytest.raises(cpuctl.UsageError, match="policies cannot decide on resizes"):
        node.resize(web.with_resources("web", cpu="6"))
    assert node.explain(web) == before


def test_a_failing_policy_leaves_the_node_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    machine = cpuctl.read_machine(MACHINE)
    node = cpuctl.make_node(machine, cpuctl.read_configuration(STATIC, machine), policy=Highest)
    web, trouble, other = cpuctl.read_pods(templates=["web=4/4,2Gi", "trouble=2/2,2Gi", "other=2/2,2Gi"])
    node.admit(web)
    free = node.free
    with pytest.raises(cpuctl.PolicyError, match="policy Highest: filter raised ValueError: no such thing"):
        node.admit(trouble)
    assert (node.free, node.pods) == (free, ("default/web",))
    assert node.admit(other).admitted


class Backwards(cpuctl.Policy):
    """Admit pods in reverse order."""

    def sort(self, pods: tuple[cpuctl.PodView, ...], view: cpuctl.View) -> Iterator[cpuctl.PodView]:  # noqa: ARG002
        return reversed(pods)


def test_a_policy_does_not_order_pods_admitted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    machine = cpuctl.read_machine(MACHINE)
    node = cpuctl.make_node(machine, cpuctl.read_configuration(STATIC, machine), policy=Backwards)
    for each in cpuctl.read_pods(templates=["first=2/2,1Gi", "second=4/4,1Gi"]):
        decided = node.admit(each)
        assert node.explain(each).answer["pod"]["containers"] == decided.answer["containers"]
