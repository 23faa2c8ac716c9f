"""Every proposed change is made as its text says, and then has the promised result."""

from __future__ import annotations

import ast
import copy
import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cli.command_table import COMMANDS
from tests.cli.conftest import Cpuctl
from tests.cli.test_explain import BEST_EFFORT, MEMORY, NODE, RESTRICTED, SINGLE, STATIC, arguments
from tests.support.proposals import ROOT

Pod = dict[str, Any]


def pod(name: str, **containers: dict[str, Any]) -> Pod:
    """Write a pod with its containers' limits, or with all of their resources."""
    listed = [
        {"name": each, "resources": found if "requests" in found else {"limits": found}}
        for each, found in containers.items()
    ]
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": listed}}


def whole(cpus: int, memory: str = "1Gi") -> dict[str, Any]:
    return {"cpu": str(cpus), "memory": memory}


EXPLAINED: dict[str, tuple[tuple[str, ...], list[Pod]]] = {
    "more than a NUMA node has left": (
        arguments(STATIC, RESTRICTED),
        [pod("a", app=whole(10)), pod("b", app=whole(10)), pod("c", app=whole(8))],
    ),
    "wider than a NUMA node": (arguments(STATIC, SINGLE), [pod("c", app=whole(18))]),
    "more memory than a NUMA node has": (arguments(MEMORY, RESTRICTED), [pod("c", app=whole(2, "20Gi"))]),
    "memory in groups": (
        arguments(MEMORY, RESTRICTED),
        [pod("a", app=whole(1, "256Mi")), pod("c", app=whole(8, "18Gi"))],
    ),
    "several containers": (
        arguments(STATIC, SINGLE, "--topology-manager-scope=pod"),
        [pod("a", app=whole(4)), pod("c", app=whole(12), side=whole(5))],
    ),
    "not aligned": (
        arguments(STATIC, BEST_EFFORT),
        [pod("a", app=whole(9)), pod("b", app=whole(9)), pod("c", app=whole(8))],
    ),
    "no whole cores": (
        arguments(STATIC, "--cpu-manager-policy-options=full-pcpus-only=true"),
        [pod("a", app=whole(6)), pod("c", app=whole(5))],
    ),
    "no CPUs left": (
        arguments(STATIC),
        [pod("a", app=whole(12)), pod("b", app=whole(12)), pod("c", app=whole(10))],
    ),
}
"""The options of a node, and its pods in the order of their creation; the outcome for c is explained."""


class Node:
    """Asks about the pods in a file, and changes them as suggested."""

    def __init__(self, name: str, directory: Path, cpuctl: Cpuctl) -> None:
        self.words, self.pods = EXPLAINED[name]
        self.file, self.cpuctl = directory / "its pods.json", cpuctl

    def ask(self, pods: list[Pod]) -> Any:
        self.file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
        return self.answer("explain", "c", *NODE, *self.words, "-f", str(self.file))

    def answer(self, *words: str) -> Any:
        result = self.cpuctl(*words, "-q", "-o", "json")
        assert result.out, result
        return json.loads(result.out)

    def done(self, suggestion: Any) -> Any:
        """Make a suggested change, and ask again."""
        pods, change = copy.deepcopy(self.pods), suggestion["change"]
        names = [each["metadata"]["name"] for each in pods]
        match suggestion["kind"]:
            case "setting":
                self.ask(pods)
                return self.answer(*shlex.split(suggestion["command"])[1:])
            case "request":
                for amount in change["amounts"]:
                    (found,) = (
                        each["resources"]
                        for each in pods[names.index("c")]["spec"]["containers"]
                        if each["name"] == amount["container"]
                    )
                    found["limits"][amount["resource"]] = amount["after"]
            case "removal":
                gone = [name.removeprefix("shop/") for name in change["remove"]]
                assert suggestion["command"] is None  # they are not running
                return self.without(pods, gone)
            case "order":
                first = min(names.index(name.removeprefix("shop/")) for name in change["before"])
                pods.insert(first, pods.pop(names.index("c")))
            case kind:
                raise AssertionError(kind)
        return self.ask(pods)

    def without(self, pods: list[Pod], gone: list[str]) -> Any:
        """Let all but c run, delete some of them, and add c: the others stay where they are."""
        others = [each for each in pods if each["metadata"]["name"] != "c"]
        state, running = str(self.file.parent / "state"), self.file.parent / "running.json"
        reported = (*NODE, *self.words)

        def write(file: Path, items: list[Pod]) -> str:
            file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
            return str(file)

        self.cpuctl("plan", *reported, "-f", write(self.file, others), "--write-state", state, "--force")
        left = [each for each in others if each["metadata"]["name"] not in gone]
        node = (*reported, "--state", state, *(("--pods", write(running, left)) if left else ()))
        new = [each for each in pods if each["metadata"]["name"] == "c"]
        return self.answer("explain", "c", *node, "-f", write(self.file, new))


@pytest.mark.parametrize("name", EXPLAINED)
def test_changes_proposed_by_explain_work(name: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """The pod gets what RESULT promises."""
    node = Node(name, tmp_path, cpuctl)
    suggestions = node.ask(node.pods)["suggestions"]
    assert suggestions
    for suggestion in suggestions:
        again = node.done(suggestion)["pod"]
        assert again["outcome"] == "Admitted", suggestion["text"]
        assert again["containers"] == suggestion["containers"], suggestion["text"]


def test_every_kind_of_change_is_tested(tmp_path: Path, cpuctl: Cpuctl) -> None:
    nodes = (Node(name, tmp_path, cpuctl) for name in EXPLAINED)
    reported = {each["kind"] for node in nodes for each in node.ask(node.pods)["suggestions"]}
    assert reported == {"setting", "request", "removal", "order"}


SHARED: dict[str, Pod] = {
    "Burstable because of CPUs": pod("p", app={"requests": {"cpu": "1500m"}, "limits": whole(2)}),
    "without memory": pod("p", app={"cpu": "2"}),
    "a fraction of a CPU": pod("p", app={"cpu": "2500m", "memory": "1Gi"}),
    "other containers without resources": pod("p", app=whole(2), side={}, log={}),
    "another container that is Burstable": pod(
        "p", app=whole(2), side={"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    ),
    "no resources": pod("p", app={}),
    "pod-level resources": {
        **(found := pod("p", app=whole(2), side={"cpu": "100m", "memory": "64Mi"})),
        "spec": {**found["spec"], "resources": {"limits": {"cpu": "4", "memory": "4Gi"}}},
    },
}


def edit(manifest: Pod, change: Any) -> None:
    """Set an amount at its path, or remove it."""
    *above, last = re.findall(r"[\w/-]+", change["path"].partition("(")[0])
    if "hugepages" in change["path"]:
        raise AssertionError(change)
    place: Any = manifest
    for step in above:
        place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
    if change["after"] is None:
        del place[last]
    else:
        place[last] = change["after"]


@pytest.mark.parametrize("name", SHARED)
def test_changes_proposed_by_pods_show_lead_to_exclusive_cpus(
    name: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """Each container's smallest change is applied to the manifest."""

    def shown(manifest: Pod) -> list[Any]:
        (tmp_path / "pod.json").write_text(json.dumps(manifest))
        result = cpuctl(
            "pods",
            "show",
            "-q",
            "-f",
            str(tmp_path / "pod.json"),
            *NODE[1:],
            *arguments(STATIC),
            "-o",
            "json",
        )
        assert result.out, result
        return [each["exclusiveCPUs"] for each in json.loads(result.out)["pods"][0]["containers"]]

    begun = shown(SHARED[name])
    assert any(each["changes"] for each in begun)
    for place, reported in enumerate(begun):
        if not reported["changes"]:
            continue
        changed = copy.deepcopy(SHARED[name])
        for change in reported["changes"]:
            edit(changed, change)
        after = shown(changed)[place]
        assert (after["assigned"], after["count"], after["changes"]) == (True, reported["countAfter"], [])


@pytest.mark.parametrize("command", ["plan", "explain c", "checkpoint new", "resize --set c:cpu=3"])
def test_an_option_is_proposed_if_there_is_one(command: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """Pods that have ended can be included, except by commands about running pods."""
    items = [{**pod("ended", app=whole(2)), "status": {"phase": "Succeeded"}}, pod("c", app=whole(2))]
    (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    reported = (*NODE[1:], *arguments(STATIC), "--kubelet-version", "1.36", "-f", str(tmp_path / "pods.json"))
    words = (*command.split(), *reported)
    (stated,) = [line for line in cpuctl(*words).err.splitlines() if "ended" in line]
    assert stated.startswith("warning: 1 pod that has ended is not planned: shop/ended")
    if option := stated.partition("(")[2].rstrip(")"):
        result = cpuctl(*words, option)
        assert (result.code, "has ended" in result.err) == (0, False), result
    assert bool(option) == (command in ("plan", "explain c"))


PROSE = {"accepts", "cannot", "computes", "is", "reads", "that"}
"""What follows the name in sentences about the program."""


def texts(file: Path) -> Iterator[str]:
    """Yield a module's strings that name a command, including f-strings with gaps, but not docstrings."""
    source = file.read_text()
    if "cpuctl " not in source:
        return
    nodes = list(ast.walk(ast.parse(source)))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        match node:
            case ast.JoinedStr(values=parts):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
            case ast.Constant(value=str(text)) if id(node) not in docs | inner:
                yield text


@cache
def named_commands() -> set[tuple[str, ...]]:
    """Collect what follows ``cpuctl`` in strings: words up to the first option, and the options."""
    found: set[tuple[str, ...]] = set()
    for file in (ROOT / "cpuctl").rglob("*.py"):
        for text in texts(file):
            for words in re.findall(r"(?<![\w./@-])(?<!-c )cpuctl ((?:[a-z-]+\b ?)+(?:[^\n|;&()#']*))", text):
                found.add(tuple(words.split()))
    return found


def test_every_command_named_in_a_text_exists(cpuctl: Cpuctl) -> None:
    """Its options exist too: a proposal that does not parse is useless."""
    wrong = []

    @cache
    def help_of(*words: str) -> str:
        return cpuctl(*words, "--help").out

    for words in sorted(named_commands()):
        plain = [word.strip(".,:") for word in words]
        if plain[0] in PROSE:
            continue
        if plain[0] not in COMMANDS:
            wrong.append(words)
            continue
        reported = help_of(plain[0])
        # A group without a verb means its first one.
        verb = next(
            (each for each in (*plain[1:2], "show") if re.search(rf"^  {each}  +", reported, re.MULTILINE)),
            "",
        )
        reported += help_of(plain[0], verb) if verb else ""
        options = [word.partition("=")[0] for word in plain if re.match("--?[a-zA-Z]", word)]
        if [each for each in options if not re.search(rf"(?<![\w-]){each}(?![\w-])", reported)]:
            wrong.append(words)
    assert wrong == []
    assert {words[0].strip(",") for words in named_commands()} >= PROSE
