"""Policies on the command line: built in, from a file, new, compared, and named in every answer."""

from __future__ import annotations

import json
import re
import sys
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cpuctl.schemas import schema_text
from tests.cli.conftest import Cpuctl

NODE = ("-q", "-m", "synthetic:2s2n8c2t,mem=64Gi", "--kubelet-config", "fixtures/kubelet/static.yaml")
WEB = ("-T", "web=4/4,2Gi")
MINE = """
from cpuctl import Policy, CPUSet

class Mine(Policy):
    \"\"\"Take the highest numbers.\"\"\"

    def __init__(self, lowest: bool = False) -> None:
        self.lowest = lowest

    def filter(self, pod, cpu, view):
        return cpu.number != 31

    def pre_score(self, container, cpu, view):
        return -cpu.number if self.lowest else cpu.number

    def select(self, scores, view):
        best = sorted(scores, key=lambda cpu: -scores[cpu])
        yield CPUSet.of(best[: view.need])

class Endless(Policy):
    def score(self, cpus, view):
        while True:
            pass

class Evicting(Policy):
    def post_filter(self, pod, view):
        return [each.uid for each in view.running]

class Reversed(Policy):
    def sort(self, pods, view):
        return pods[::-1]

class ByName(Policy):
    def filter(self, pod, cpu, view):
        return pod.name == "small-0" or len(view.topology.numa_nodes) > 9

class Mistaken(Policy):
    def select(self, scores, view):
        yield CPUSet.of(["x"])
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(MINE)
    return str(tmp_path / "mine.py")


def planned(cpuctl: Cpuctl, *words: str, code: int = 0) -> Any:
    done = cpuctl("plan", *NODE, *words, "-o", "json")
    assert done.code == code, done
    document = json.loads(done.out)
    kind = str(document["kind"]).lower()
    jsonschema.validate(document, json.loads(schema_text(kind)))
    return document


def test_the_answer_says_that_no_kubelet_does_this(cpuctl: Cpuctl) -> None:
    document = planned(cpuctl, *WEB, "--policy", "katalyst,strategy=packing")
    reported = document["kubelet"]["policy"]
    assert (reported["name"], reported["origin"], reported["status"]) == ("katalyst", "shipped", "what-if")
    assert reported["options"]["strategy"] == "packing"
    shown = cpuctl("plan", *NODE, *WEB, "--policy", "katalyst")
    assert "What if: policy katalyst,strategy=spreading" in shown.out
    assert "no kubelet does this" in shown.out


def test_without_a_policy_the_answer_does_not_mention_policies(cpuctl: Cpuctl) -> None:
    document = planned(cpuctl, *WEB)
    assert "policy" not in document["kubelet"]
    assert "scoring" not in json.dumps(document)


def test_a_policy_in_a_file_shows_filters_scores_and_the_chosen_set(cpuctl: Cpuctl, mine: str) -> None:
    document = planned(cpuctl, *WEB, "--policy", f"{mine}:Mine")
    [container] = document["pods"][0]["containers"]
    assert container["cpus"] == "27-30"
    [weighing] = container["scoring"]
    assert weighing["removed"] == "31"
    assert weighing["scores"][0] == {"cpus": "30", "score": 30}
    assert weighing["sets"] == [{"cpus": "27-30", "score": 0}]
    lowest = planned(cpuctl, *WEB, "--policy", f"{mine}:Mine,lowest=true")
    assert lowest["pods"][0]["containers"][0]["cpus"] == "2-5"
    reported = cpuctl("explain", "web", *NODE, *WEB, "--policy", f"{mine}:Mine")
    assert reported.code == 0
    assert "filtered out" in reported.out
    assert "set, chosen" in reported.out
    assert "no kubelet does this" in reported.out


def test_a_policy_is_compared_with_the_kubelet(cpuctl: Cpuctl, mine: str) -> None:
    document = planned(cpuctl, *WEB, "--compare", ".", f"{mine}:Mine")
    assert document["b"]["settings"] == f"policy={mine}:Mine"
    [pod] = document["pods"]
    assert (pod["containers"][0]["onlyA"], pod["containers"][0]["onlyB"]) == ("2-3,18-19", "27-30")
    for words in ((".", "koordinator,bind=spread"), ("policy=static", "katalyst")):
        assert planned(cpuctl, *WEB, "--compare", *words)["summary"]["changed"] == 1
    plain = planned(cpuctl, *WEB, "--compare", ".", "policy=static")
    assert plain["summary"]["changed"] == 0


def test_a_policy_can_sort_new_pods_and_evict_running_ones(cpuctl: Cpuctl, mine: str) -> None:
    two = ("-T", "a=4/4,1Gi", "-T", "b=4/4,1Gi")
    document = planned(cpuctl, *two, "--policy", f"{mine}:Reversed")
    assert [pod["name"] for pod in document["pods"]] == ["b", "a"]
    policy = ("--policy", f"{mine}:Reversed", "-o", "json")
    places = {pod["name"]: pod["containers"][0]["cpus"] for pod in document["pods"]}
    for name in "ab":
        explained = json.loads(cpuctl("explain", name, *NODE, *two, *policy).out)
        assert explained["pod"]["containers"][0]["cpus"] == places[name]
    resized = cpuctl("resize", *NODE, *two, "--set", "a:cpu=6", *policy).out
    assert json.loads(resized)["pods"][0]["containers"][0]["cpus"]["before"] == places["a"]
    tight = ("-T", "a=16/16,1Gi", "-T", "b=26/26,1Gi")
    explained = json.loads(cpuctl("explain", *NODE, *tight, *policy).out)
    assert explained["pod"]["name"] == "a"
    assert "order" not in [each["change"] for each in explained["suggestions"]]
    large = ("-T", "a=16/16,1Gi", "-T", "b=16/16,1Gi")
    document = planned(cpuctl, *large, "--policy", f"{mine}:Evicting")
    assert [pod.get("evicted") for pod in document["pods"]] == [None, ["default/a"]]
    assert (
        "the policy evicts default/a for it"
        in cpuctl("plan", *NODE, *large, "--policy", f"{mine}:Evicting").out
    )
    assert planned(cpuctl, "-T", "c=40/40", "-T", "a=4/4,1Gi", "--policy", f"{mine}:Evicting", code=3)


@pytest.mark.parametrize(
    ("policy", "code", "reported"),
    [
        ("nothing", 2, "unknown policy 'nothing'"),
        ("kataylst", 2, "did you mean katalyst?"),
        ("katalyst,pack", 2, "expected OPTION=VALUE, found 'pack'"),
        ("katalyst,pack=1", 2, "unknown option pack: it has strategy, threshold, caches"),
        ("katalyst,threshold=a", 2, "threshold: expected a number, found 'a'"),
        ("katalyst,caches=1", 2, "caches: expected true or false, found '1'"),
        ("min-shared,cpus=x", 2, "cpus: expected a whole number, found 'x'"),
        ("katalyst,budget=0", 2, "budget: expected seconds"),
        ("katalyst -o prom", 2, "-o prom: cannot be used with --policy"),
        ("katalyst -o nrt", 2, "-o nrt: cannot be used with --policy"),
        ("katalyst --write-state state", 2, "--write-state: cannot be used with --policy"),
        ("mine.py", 2, "the name of a class is missing"),
        (
            "MINE:Missing",
            2,
            "class Missing not found: it has Mine, Endless, Evicting, ",
        ),
        ("nowhere.py:Mine", 4, "nowhere.py: cannot be read: no such file or directory"),
        ("MINE:CPUSet", 4, "error: policy MINE:CPUSet: loading it raised TypeError"),
        ("MINE:Mistaken", 4, "error: MINE:39: policy MINE:Mistaken: select raised"),
        ("MINE:Endless,budget=0.3", 4, "score took longer than 0.3 s"),
    ],
)
def test_invalid_policies_are_rejected(
    cpuctl: Cpuctl, mine: str, policy: str, code: int, reported: str
) -> None:
    done = cpuctl("plan", *NODE, *WEB, "--policy", *policy.replace("MINE", mine).split(" "))
    assert (done.code, done.out) == (code, "")
    assert reported.replace("MINE", mine) in done.err


def test_a_policy_is_not_used_without_the_static_policy(cpuctl: Cpuctl) -> None:
    done = cpuctl("plan", "-m", "synthetic:1s1n4c1t,mem=4Gi", "-T", "web=1/1,1Gi", "--policy", "katalyst")
    assert "--policy is not used" in done.err


def test_all_policies_are_listed_with_their_sources(cpuctl: Cpuctl) -> None:
    listed = json.loads(cpuctl("policies", "list", "-o", "json").out)
    jsonschema.validate(listed, json.loads(schema_text("policies")))
    assert {each["name"] for each in listed["policies"]} >= {"static", "numa-allocation", "koordinator"}
    assert all(each["summary"] and each["source"] and not each["error"] for each in listed["policies"])
    assert "no kubelet does what these policies do" in cpuctl("policies", "list").out


def test_a_policy_is_shown_with_its_text(cpuctl: Cpuctl, mine: str) -> None:
    shown = json.loads(cpuctl("policies", "show", f"{mine}:Mine", "-o", "json").out)
    jsonschema.validate(shown, json.loads(schema_text("policydescription")))
    assert shown["text"] == MINE
    assert shown["policy"]["steps"] == ["filter", "pre_score", "select"]
    assert shown["policy"]["options"] == [{"name": "lowest", "default": "false"}]
    assert "class Koordinator(Policy)" in cpuctl("policies", "show", "koordinator").out


@pytest.mark.parametrize("name", ["katalyst", "koordinator", "numa-allocation", "static"])
def test_a_description_fits_a_narrow_terminal(name: str, cpuctl: Cpuctl) -> None:
    described, _, code = cpuctl("policies", "show", name, columns=80).out.partition('\n"""')
    assert code
    assert [line for line in described.splitlines() if len(line) > 80] == []


def test_the_paragraphs_and_lists_of_a_description_remain(cpuctl: Cpuctl, tmp_path: Path) -> None:
    long = " ".join(["word"] * 20)
    doc = f"Summary.\n\n    {long}\n\n    - an item {long}\n    "
    text = MINE.replace("Take the highest numbers.", doc)
    (tmp_path / "own.py").write_text(text)
    shown = cpuctl("policies", "show", f"{tmp_path}/own.py:Mine", columns=80).out
    wrapped = f"{' '.join(['word'] * 16)}\n{' '.join(['word'] * 4)}"
    assert f"\nSummary.\n\n{wrapped}\n\n- an item {long}\n" in shown


def test_a_new_policy_chooses_as_the_kubelet_does(cpuctl: Cpuctl, tmp_path: Path) -> None:
    done = cpuctl("policies", "new", "mine.py", cwd=tmp_path)
    assert (done.code, done.out) == (0, "mine.py: try it with cpuctl plan -f PODS --policy mine.py:Mine\n")
    path = str(tmp_path / "mine.py")
    document = planned(cpuctl, *WEB, "--compare", ".", f"{path}:Mine")
    assert document["summary"]["changed"] == 0
    assert cpuctl("policies", "new", path).code == 2
    assert cpuctl("policies", "new", path, "--force").code == 0
    assert cpuctl("policies", "new", str(tmp_path / "mine")).code == 2


def test_an_installed_package_can_provide_policies(
    cpuctl: Cpuctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_policies.py").write_text(MINE)
    package(tmp_path, "mine = my_policies:Mine", "broken = my_policies:Gone")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    invalidate_caches()
    document = planned(cpuctl, *WEB, "--policy", "mine")
    assert document["pods"][0]["containers"][0]["cpus"] == "27-30"
    assert document["kubelet"]["policy"]["where"] == "my_policies:Mine (my-policies 1.2)"
    listed = {
        each["name"]: each for each in json.loads(cpuctl("policies", "list", "-o", "json").out)["policies"]
    }
    assert listed["mine"]["origin"] == "installed"
    assert "AttributeError" in listed["broken"]["error"]


def test_pictures_also_say_that_no_kubelet_does_this(cpuctl: Cpuctl, tmp_path: Path) -> None:
    files = {word: tmp_path / f"cpus.{word}" for word in ("svg", "html")}
    options = [each for word, path in files.items() for each in (f"--{word}", str(path))]
    assert cpuctl("plan", *NODE, *WEB, "--policy", "katalyst", *options).code == 0
    assert all("no kubelet does this" in path.read_text() for path in files.values())


def test_explain_says_whether_kubelet_or_policy_rejects(cpuctl: Cpuctl) -> None:
    """The kubelet's own reasons would be wrong if it admits the pod."""
    for cpus, rule in (("26", "policyInPlace"), ("40", "freeCores")):
        words = ("web", *NODE, "-T", f"web={cpus}/{cpus},2Gi", "--policy", "min-shared,cpus=4", "-o", "json")
        explained = json.loads(cpuctl("explain", *words).out)
        jsonschema.validate(explained, json.loads(schema_text("explanation")))
        assert explained["decision"]["rule"] == rule
    requested = ("web", *NODE, "-T", "web=26/26,2Gi", "--policy", "min-shared,cpus=4")
    reported = "but the policy used instead does not: it leaves the pod 0 of 28 free CPUs"
    assert reported in " ".join(cpuctl("explain", *requested, columns=400).out.split())


@pytest.mark.parametrize("installed", [False, True])
def test_the_documentation_is_enough_to_write_a_policy(
    cpuctl: Cpuctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, installed: bool
) -> None:
    """The example in docs/policies.md is written unchanged to a file, or into a package."""
    page = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
    text, entry = (re.findall(f"```{kind}\n(.*?)```", page, re.DOTALL)[0] for kind in ("python", "toml"))
    name, where = re.findall(r'^([a-z-]+) = "([a-z_]+):', entry, re.MULTILINE)[0]
    (tmp_path / f"{where}.py").write_text(text)
    policy = f"{tmp_path / where}.py:HighNumbers"
    if installed:
        package(tmp_path, f"{name} = {where}:HighNumbers")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        invalidate_caches()
        policy = name
    document = planned(cpuctl, *WEB, "--policy", policy)
    assert document["pods"][0]["containers"][0]["cpus"] == "28-31"


def package(folder: Path, *entries: str) -> None:
    info = folder / "my_policies-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-policies\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("\n".join(("[cpuctl.policies]", *entries, "")))


def test_commands_suggested_by_explain_name_the_policy(cpuctl: Cpuctl) -> None:
    words = ("web", *NODE, "-T", "web=40/40,2Gi", "--policy", "katalyst", "-o", "json")
    explained = json.loads(cpuctl("explain", *words).out)
    assert explained["pod"]["outcome"] == "Rejected"
    assert explained["kubelet"]["policy"]["name"] == "katalyst"
    assert all("--policy katalyst" in (each["command"] or "") for each in explained["suggestions"][1:])


TIMELINE = """
apiVersion: cpuctl/v1alpha1
kind: Timeline
machine: synthetic:1s1n10c2t
kubelet:
  version: "1.37"
  config: {cpuManagerPolicy: static, reservedSystemCPUs: "0,10", featureGates: {GATES}}
pods: ["web=2,1Gi"]
events:
- {at: 0s, admit: web}
- {at: 1s, kubelet: stop}
- {at: 2s, kubelet: start}
- {at: 3s, resize: {pod: web, cpu: 4}}
"""


def test_a_replay_uses_the_policy_in_place_of_every_kubelet(
    cpuctl: Cpuctl, mine: str, tmp_path: Path
) -> None:
    file = tmp_path / "timeline.yaml"
    file.write_text(TIMELINE.replace("{GATES}", "{}"))
    words = ("replay", str(file), "--policy", f"{mine}:Mine")
    document = json.loads(cpuctl(*words, "-o", "json").out)
    jsonschema.validate(document, json.loads(schema_text("replay")))
    assert document["policy"]["name"] == f"{mine}:Mine"
    [held] = document["final"]["containers"].values()
    assert held["cpus"] == "18-19"
    assert "policy" not in json.loads(cpuctl("replay", str(file), "-o", "json").out)
    assert "no kubelet does this" in cpuctl(*words).out
    assert "no kubelet does this" in cpuctl(*words, "-o", "jsonl").err
    refused = cpuctl("replay", str(file), "--policy", f"{mine}:Evicting")
    assert (refused.code, "it may evict pods (post_filter)" in refused.err) == (2, True)
    file.write_text(TIMELINE.replace("{GATES}", "{InPlacePodVerticalScalingExclusiveCPUs: true}"))
    refused = cpuctl(*words)
    assert (refused.code, "policies cannot decide on resizes" in refused.err) == (2, True)
    file.write_text(TIMELINE.replace("static", "none").replace("{GATES}", "{}"))
    assert "--policy is not used" in cpuctl(*words).err


def test_a_fleet_uses_the_policy_on_every_node_with_any_number_of_jobs(cpuctl: Cpuctl, mine: str) -> None:
    nodes = ("synthetic:1s1n4c2t,mem=16Gi", "synthetic:2s2n8c2t,mem=64Gi")
    reported = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
    words = ("fleet", "plan", *nodes, *reported, "-T", "small=2/2,1Gi x2", "-T", "large=40/40,1Gi")
    named = (*words, "--policy", f"{mine}:ByName")
    document = json.loads(cpuctl(*named, "-o", "json").out)
    jsonschema.validate(document, json.loads(schema_text("fleetplan")))
    assert document["policy"]["status"] == "what-if"
    outcomes = {pod["name"]: pod["outcome"] for pod in document["pods"]}
    assert outcomes == {"small-0": "Admitted", "small-1": "Rejected", "large": "Pending"}
    assert json.loads(cpuctl(*named, "--jobs", "2", "-o", "json").out) == document
    assert "policy" not in json.loads(cpuctl(*words, "-o", "json").out)
    assert "no kubelet does this" in cpuctl(*named).out
    assert "no kubelet does this" in cpuctl(*named, "-o", "jsonl").err
    assert cpuctl(*words, "--policy", f"{mine}:Evicting").code == 2
    assert "--policy is not used" in cpuctl("fleet", "plan", *nodes, "-T", "a=1", "--policy", "static").err
    assert cpuctl(*words, "--policy", f"{mine}:Endless,budget=0.2").code == 4


@pytest.mark.parametrize(
    "policy", ["koordinator,bind=x", "katalyst,strategy=x", "numa-allocation,strategy=x"]
)
def test_an_unknown_choice_is_a_usage_error(cpuctl: Cpuctl, policy: str) -> None:
    node = ("-m", "synthetic:1s1n8c", "--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
    done = cpuctl("plan", *node, "-T", "a=2/2,1Gi", "--policy", policy)
    assert (done.code, done.out) == (2, "")
    name, option = policy.partition(",")[0], policy.partition(",")[2].partition("=")[0]
    assert done.err.startswith(f"error: --policy {name}: {option}: expected one of ")


def test_a_policy_of_the_topology_manager_leads_to_its_flag(cpuctl: Cpuctl) -> None:
    done = cpuctl("plan", "-m", "synthetic:4c", "-T", "a=1/1", "--policy", "restricted")
    assert "set topologyManagerPolicy: restricted for the kubelet\n" in done.err


def test_errors_name_the_argument(cpuctl: Cpuctl) -> None:
    assert cpuctl("policies", "show", "nope").err.startswith("error: POLICY: unknown policy 'nope'\n")


def test_a_policy_may_use_the_name_choices_for_something_else(cpuctl: Cpuctl, tmp_path: Path) -> None:
    text = "import cpuctl\n\nclass Own(cpuctl.Policy):\n    choices = ['a']\n\n"
    text += "    def __init__(self, mode: str = 'x') -> None:\n        self.mode = mode\n"
    (tmp_path / "own.py").write_text(text)
    assert cpuctl("policies", "show", "own.py:Own,mode=b", cwd=tmp_path).code == 0
