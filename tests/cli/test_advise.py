"""``cpuctl advise`` as people and programs use it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cpuctl.schemas import schema_text
from tests.cli.conftest import Cpuctl

ROOT = Path(__file__).parents[2]
MACHINE = ("-m", "synthetic:2s2n4c2t,near,mem=32Gi")
PODS = ("-T", "web=5/5,1Gi x2")
CONFIG = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true"}
topologyManagerPolicy: single-numa-node
topologyManagerScope: pod
reservedSystemCPUs: 0-1
kubeReserved: {memory: 1Gi}
"""
FRAGMENTED = (
    *("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", "--kubelet-config", "fixtures/kubelet/static.yaml"),
    *("--kubelet-args", "--topology-manager-policy=single-numa-node", "--state", "fixtures/fragmented"),
    *("--pods", "fixtures/fragmented/pods.json"),
)


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "kubelet.yaml").write_text(CONFIG)
    return str(tmp_path / "kubelet.yaml")


def answer(cpuctl: Cpuctl, *words: str, code: int = 0) -> Any:
    done = cpuctl("advise", "-q", *words, "-o", "json")
    assert done.code == code, done
    document = json.loads(done.out)
    jsonschema.validate(document, json.loads(schema_text(document["kind"].lower())))
    return document


def test_every_row_is_accepted_as_a_drop_in_or_in_place_of_the_file(
    cpuctl: Cpuctl, config: str, tmp_path: Path
) -> None:
    """The kubelet then has the settings that the row shows, and admits as many pods."""
    words = ("-q", *MACHINE, "--kubelet-config", config)
    document = answer(cpuctl, *words, *PODS, "--keep", "reservedSystemCPUs")
    assert document["proposals"]
    drops = tmp_path / "conf.d"
    drops.mkdir()
    for row in document["proposals"]:
        name = f"--snippet={row['number']}"
        reported = cpuctl("advise", *words, *PODS, "--keep", "reservedSystemCPUs", name)
        assert reported.out == row["snippet"]
        given = ["-q", *MACHINE, "--kubelet-config", config]
        if row["dropIn"]:
            (drops / "90.conf").write_text(reported.out)
            given += ["--config-dir", str(drops)]
        else:
            whole = "".join(line for line in CONFIG.splitlines(keepends=True) if "Manager" not in line)
            settings = reported.out.split("\n", 2)[2].replace('reservedSystemCPUs: "0-1"\n', "")
            (tmp_path / "other.yaml").write_text(whole + settings)
            given[-1] = str(tmp_path / "other.yaml")
        checked = cpuctl("config", "check", *given)
        assert checked.code == 0, (row, checked)
        planned = json.loads(cpuctl("plan", *given, *PODS, "-o", "json").out)
        assert planned["kubelet"]["cpuManagerPolicy"] == row["settings"]["cpuManagerPolicy"]
        assert planned["kubelet"]["topologyManagerPolicy"] == row["settings"]["topologyManagerPolicy"]
        assert planned["kubelet"]["memoryManagerPolicy"] == row["settings"]["memoryManagerPolicy"]
        admitted = sum(pod["outcome"] == "Admitted" for pod in planned["pods"])
        assert admitted == row["service"]["admitted"]


def test_the_pods_that_are_not_admitted_are_named(cpuctl: Cpuctl, config: str) -> None:
    kept = ("--keep", "cpuManagerPolicy", "--keep", "full-pcpus-only")
    document = answer(cpuctl, *MACHINE, "--kubelet-config", config, *PODS, *kept, code=3)
    assert document["current"]["service"]["notAdmitted"] == ["default/web-0", "default/web-1"]
    assert document["pods"] == 2


def test_pods_that_run_come_first(cpuctl: Cpuctl) -> None:
    """They are admitted first: the new pod gets what they leave."""
    machine = ("-m", "synthetic:1s1n10c2t,near,mem=8Gi", "--pods", "fixtures/fragmented/pods.json")
    document = answer(cpuctl, *machine, "-T", "new=6/6,256Mi", "--keep", "cpuManagerPolicy")
    assert document["current"]["service"]["notAdmitted"] == ["default/new"]
    assert document["pods"] == 4


def test_policies_that_no_kubelet_has_are_marked(cpuctl: Cpuctl) -> None:
    """Katalyst's policy takes the NUMA node with the most free CPUs: each pod gets its own without hints."""
    flags = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0-1")
    kept = [word for name in ("cpuManagerPolicyOptions", "topologyManagerPolicy", "memoryManagerPolicy",
            "reservedSystemCPUs", "cpuManagerPolicy") for word in ("--keep", name)]  # fmt: skip
    document = answer(cpuctl, *MACHINE, *flags, *PODS, *kept, "--what-if")
    assert document["current"]["service"]["onOneNumaNode"] == 1
    found = [each for each in document["proposals"] if "policy" in each]
    assert found
    assert all(each["policy"]["status"] == "what-if" for each in found)
    assert max(each["service"]["onOneNumaNode"] for each in found) == 2
    reported = cpuctl("advise", "-q", *MACHINE, *flags, *PODS, *kept, "--what-if").out
    assert "Row 1 uses a what-if policy, which no kubelet has." in reported
    plain = answer(cpuctl, *MACHINE, *flags, *PODS, *kept)
    assert plain["proposals"] == []


def test_a_configuration_that_cannot_be_loaded_is_reported(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "kubelet.yaml").write_text(CONFIG + "maxPods: many\n")
    words = (*MACHINE, "--kubelet-config", str(tmp_path / "kubelet.yaml"), *PODS)
    assert answer(cpuctl, *words, code=3)["start"]["outcome"] == "Rejected"
    shown = cpuctl("advise", "-q", *words)
    assert (shown.code, "would not start" in shown.out) == (3, True)
    moved = answer(cpuctl, *words, "--defragment", code=3)
    assert (moved["kind"], moved["start"]["outcome"]) == ("Defragmentation", "Rejected")


def test_what_a_snippet_cannot_change_is_reported(cpuctl: Cpuctl, config: str) -> None:
    """Flags override every file, and 1.28 resets to defaults what a drop-in does not set."""
    flags = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0-1 --kube-reserved=memory=1Gi")
    kept = ("--keep", "reservedSystemCPUs", "--keep", "cpuManagerPolicyOptions")
    rows = answer(cpuctl, *MACHINE, *flags, *PODS, *kept)["proposals"]
    reported = {"cpuManagerPolicy=none" in row["changes"]: (row["flags"], row["dropIn"]) for row in rows}
    assert reported == {True: (["--cpu-manager-policy"], False), False: ([], True)}
    shown = cpuctl("advise", "-q", *MACHINE, *flags, *PODS, *kept).out
    assert "Flags override files; remove or change these: --cpu-manager-policy\n" in shown
    for row in rows:
        printed = cpuctl("advise", "-q", *MACHINE, *flags, *PODS, *kept, "--snippet", str(row["number"])).err
        warnings = (
            ["flags override files; remove or change these: --cpu-manager-policy"] if row["flags"] else []
        )
        assert ("cpu_manager_state" in row["stateFiles"]) is (row["settings"]["cpuManagerPolicy"] == "none")
        assert ("memory_manager_state" in row["stateFiles"]) is (
            row["settings"]["memoryManagerPolicy"] == "Static"
        )
        if files := row["stateFiles"]:
            they = "it does" if len(files) == 1 else "they do"
            warnings.append(
                f"drain the node, and delete {' and '.join(files)} before the kubelet starts: {they} not fit "
                "the new settings"
            )
        assert printed.splitlines() == [f"warning: {each}" for each in warnings]
    Path(config).write_text(f"{CONFIG}syncFrequency: 2m\n")
    words = (*MACHINE, "--kubelet-config", config, "-T", "web=5/5,1Gi", "--budget", "20")
    for release, does in (("1.28", False), ("1.29", True)):
        rows = answer(cpuctl, *words, "--keep", "cpuManagerPolicy", "--kubelet-version", release)["proposals"]
        assert {row["dropIn"] for row in rows} == {does}
        assert not any(row["flags"] for row in rows)
    shown = cpuctl("advise", "-q", *words, "--kubelet-version", "1.28").out
    assert "A drop-in file is not enough for row" in shown
    done = cpuctl("advise", "-q", *words, "--kubelet-version", "1.28", "--snippet", "1")
    assert (done.code, "kind: KubeletConfiguration\n" in done.out) == (0, True)
    assert done.err.startswith("warning: a drop-in file is not enough, because it cannot remove settings")


def test_a_row_that_does_not_exist_prints_nothing(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """In every form: stdout stays empty and the reason is reported."""
    for form in ("table", "json", "yaml"):
        words = ("-q", *MACHINE, *PODS, "--budget", "1", "-o", form)
        done = cpuctl("advise", *words, "--snippet", "9")
        assert (done.code, done.out) == (2, ""), form
        assert "row 9 does not exist" in done.err
    (tmp_path / "kubelet.yaml").write_text(CONFIG + "maxPods: many\n")
    bad = ("--kubelet-config", str(tmp_path / "kubelet.yaml"))
    done = cpuctl("advise", "-q", *MACHINE, *bad, *PODS, "--snippet", "1")
    assert (done.code, done.out) == (3, "")
    assert "maxPods" in done.err


def test_no_row_is_shown_if_nothing_starts(cpuctl: Cpuctl) -> None:
    """If the size of its memory is unknown, so is whether a kubelet that reserves memory starts."""
    words = ("-m", "synthetic:1s1n4c1t,mem=-", "--kubelet-args", "--kube-reserved=memory=1Gi", "-T", "a=1/1")
    document = answer(cpuctl, *words, code=3)
    assert (document["current"]["start"]["outcome"], document["proposals"]) == ("Undetermined", [])
    search = document["search"]
    assert search["undetermined"] > 0
    assert search["wouldNotStart"] + search["undetermined"] == search["possible"] - 1
    assert search["wouldNotStart"] > 0
    shown = cpuctl("advise", "-q", *words)
    assert "starts with none of the settings tried" in shown.out
    assert "SETTINGS" not in shown.out


INTERRUPTED = """
import os, signal, sys
from cpuctl.operations import advice

left, serve = [3], advice.service_of

def interrupted(*words):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGINT)
    return serve(*words)

advice.service_of = interrupted
from cpuctl.__main__ import main
main()
"""


def test_an_interrupted_search_shows_what_it_found() -> None:
    """Ctrl-C ends it between two settings; the exit code is the one that shells expect."""
    words = ("advise", *MACHINE, *PODS, "-q", "-o", "json")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *words], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 130, done
    search = json.loads(done.stdout)["search"]
    assert (search["ended"], search["tried"]) == ("stopped", 3)


def test_moves_are_listed_in_order(cpuctl: Cpuctl) -> None:
    document = answer(cpuctl, "--defragment", *FRAGMENTED, "-T", "big=8/8,256Mi")
    assert (document["moves"], document["minimal"], document["largest"]) == (1, True, None)
    assert document["pod"]["now"]["reason"] == "TopologyAffinityError"
    assert document["steps"] == [
        {"action": "evict", "pod": "shop/web", "cpus": "2-5"},
        {"action": "admit", "pod": "default/big", "cpus": "2-9"},
        {"action": "admit", "pod": "shop/web", "cpus": "18-21"},
    ]


def test_without_a_pod_the_largest_that_fits_is_found(cpuctl: Cpuctl) -> None:
    """With 8 and 4 of one NUMA node's 14 CPUs in use and 4 of the other's, 10 are left for one pod."""
    document = answer(cpuctl, "--defragment", *FRAGMENTED)
    assert document["largest"] == {"cpus": 10, "now": 6, "proven": True}
    assert [each["pod"] for each in document["steps"]] == ["shop/web", "", "shop/web"]


def test_the_exit_code_is_3_if_no_moves_help(cpuctl: Cpuctl) -> None:
    words = ("--defragment", *FRAGMENTED, "-T", "big=12/12,256Mi")
    document = answer(cpuctl, *words, code=3)
    assert (document["moves"], document["steps"], document["minimal"]) == (None, [], True)
    assert cpuctl("advise", "-q", *words, "--exit-zero").code == 0
    short = answer(cpuctl, *words, "--budget", "20", code=3)
    assert (short["minimal"], short["search"]["ended"]) == (False, "budget")
    assert "not certain" in cpuctl("advise", "-q", *words, "--budget", "20").out


def test_pods_known_only_from_state_files_are_named(cpuctl: Cpuctl) -> None:
    words = ("--defragment", *FRAGMENTED[:-2], "-T", "big=8/8,256Mi")
    document = answer(cpuctl, *words, code=3)
    assert len(document["immovable"]) == 3
    assert all("--pods" in each["why"] for each in document["immovable"])


def test_without_a_static_cpu_policy_there_is_no_largest_pod(cpuctl: Cpuctl) -> None:
    words = (*FRAGMENTED[:2], "--defragment", "--pods", "fixtures/fragmented/pods.json")
    done = cpuctl("advise", *words)
    assert (done.code, done.out) == (2, "")
    assert "the CPU Manager's policy is none" in done.err


RECORDED = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz")
TELCO = (
    *("--kubelet-config", "fixtures/kubelet/single-numa-node.yaml"),
    *("-f", "fixtures/telco/du.yaml", "--devices", "fixtures/telco/devices.yaml"),
)


def test_rows_that_admit_more_pods_may_be_worse_in_other_columns(cpuctl: Cpuctl) -> None:
    """They leave less for others, and the sentence about them does not claim the contrary."""
    kept = ("cpuManagerPolicyOptions", "topologyManagerPolicy", "memoryManagerPolicy")
    words = (*RECORDED, *TELCO, *(word for name in kept for word in ("--keep", name)))
    document = answer(cpuctl, *words)
    now, rows = document["current"]["service"], document["proposals"]
    assert all(row["beatsCurrent"] and row["service"]["admitted"] > now["admitted"] for row in rows)
    assert all(row["service"]["largestPod"] < now["largestPod"] for row in rows)
    shown = cpuctl("advise", "-q", *words).out
    assert "Row 1 admits more pods than the current settings." in shown
    assert "not worse" not in shown


def test_an_undetermined_start_has_its_reason_and_may_be_better(cpuctl: Cpuctl) -> None:
    kept = ("cpuManagerPolicyOptions", "topologyManagerPolicy", "memoryManagerPolicy")
    words = (*RECORDED, *PODS, *(word for name in kept for word in ("--keep", name)))
    search = answer(cpuctl, *words)["search"]
    assert search["undetermined"] > 0
    assert ["no kubelet configuration was found" in each for each in search["whyUndetermined"]] == [True]
    shown = cpuctl("advise", "-q", *words).out
    assert f"{search['undetermined']} undetermined); the undetermined ones may be better." in shown
    assert (
        "\nIt is unknown whether the kubelet starts with the undetermined ones: no kubelet configuration"
        in shown
    )


def test_the_last_line_prints_a_row_as_a_drop_in_file(cpuctl: Cpuctl, config: str) -> None:
    """With everything that decides which row is which: also what ended the search."""
    words = ("-q", *MACHINE, "--kubelet-config", config, *PODS)
    for more in (("--keep", "reservedSystemCPUs", "--budget", "40"), ("--what-if", "--budget", "9")):
        document = answer(cpuctl, *words, *more)
        shown = cpuctl("advise", *words, *more).out.splitlines()[-1]
        what, command = shown.split(": ", 1)
        row = document["proposals"][int(what.split()[4]) - 1]
        form = "a drop-in file" if row["dropIn"] else "fields of a KubeletConfiguration"
        assert (what, command) == (f"Next, to print row {row['number']} as {form}", document["next"])
        assert command.endswith(f" --snippet {row['number']}")
        assert cpuctl(*shlex.split(command)[1:], "-q").out == row["snippet"]


def test_rows_that_admit_more_pods_are_all_named(cpuctl: Cpuctl) -> None:
    """Also those that are no better in all, because containers lose their exclusive CPUs."""
    flags = (
        "--cpu-manager-policy=static --cpu-manager-policy-options=full-pcpus-only=true --reserved-cpus=0,8"
    )
    kept = ("topologyManagerPolicy", "memoryManagerPolicy", "reservedSystemCPUs")
    words = (
        *("-T", "a=4/4,1Gi"),
        *("-T", "b=3/3,1Gi"),
        *(word for name in kept for word in ("--keep", name)),
    )
    words = ("-m", "synthetic:1s8c2t", "--kubelet-args", flags, *words)
    document = answer(cpuctl, *words)
    admitted = [row["service"]["admitted"] for row in document["proposals"]]
    assert (document["current"]["service"]["admitted"], admitted) == (1, [2, 2])
    assert [row["beatsCurrent"] for row in document["proposals"]] == [False, True]
    shown = cpuctl("advise", "-q", *words).out
    assert "\nRows 1 and 2 admit more pods than the current settings.\n" in shown


def test_settings_that_admit_no_pod_are_no_advice(cpuctl: Cpuctl) -> None:
    result = cpuctl("advise", "-q", "-m", "synthetic:1s8c2t", "-T", "web=64/64,1Gi")
    assert result.code == 3
    assert "\nNone of the settings that were tried admits the pod.\n" in result.out
    assert "\nNext, to see why: cpuctl explain default/web " in result.out


def test_without_moves_the_next_command_explains_the_rejection(cpuctl: Cpuctl) -> None:
    words = ("--defragment", *FRAGMENTED, "-T", "big=12/12,256Mi")
    document = answer(cpuctl, *words, code=3)
    shown = cpuctl("advise", "-q", *words).out
    assert shown.endswith(f"\nNext, to see why and what would help: {document['next']}\n")
    explained = cpuctl(*shlex.split(document["next"])[1:], "-q")
    assert (explained.code, "rejected with" in explained.out) == (3, True)


def test_without_a_started_kubelet_the_next_command_checks_its_configuration(cpuctl: Cpuctl) -> None:
    flags = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=99")
    words = ("--defragment", *FRAGMENTED[:2], *flags, "--pods", "fixtures/fragmented/pods.json")
    document = answer(cpuctl, *words, code=3)
    assert f"\nNext, to see what to change: {document['next']}\n" in cpuctl("advise", "-q", *words).out
    assert document["next"].startswith("cpuctl config check ")
    assert cpuctl(*shlex.split(document["next"])[1:], "-q").code == 3


STALE = "fixtures/nodes/v2-2-numa/node.tar.xz"


def test_settings_are_compared_without_recorded_state_files(cpuctl: Cpuctl) -> None:
    """A kubelet does not start with the files of this recording: they name an offline CPU."""
    found = cpuctl("advise", "-m", STALE, "-T", "pod=3/3,1Gi")
    assert (found.code, "cpu_manager_state" in found.err) == (3, False)
    command = f"cpuctl explain default/pod -m {STALE} --state none -T pod=3/3,1Gi"
    assert found.out.splitlines()[-1] == f"Next, to see why: {command}"
    explained = cpuctl(*shlex.split(command)[1:])
    assert "1Gi of memory are requested" in explained.out
    # A search for moves starts from the files.
    moves = cpuctl("advise", "--defragment", "-m", STALE, "-T", "pod=3/3,1Gi")
    assert "would not start" in moves.out


def test_the_command_for_a_snippet_names_no_state(cpuctl: Cpuctl) -> None:
    found = cpuctl("advise", "-m", STALE, "-T", "pod=3/3,10Mi", "--budget", "200")
    command = next(line for line in found.out.splitlines() if "--snippet" in line)
    assert "--state" not in command
    assert cpuctl(*shlex.split(command.partition(": cpuctl ")[2])).code == 0


def test_the_legend_fits_a_narrow_terminal(cpuctl: Cpuctl) -> None:
    words = ("advise", "-m", "synthetic:1s1n4c,mem=4Gi", "-T", "a=2/2,1Gi", "-q")
    lines = cpuctl(*words, columns=80).out.splitlines()
    legend = lines[next(at for at, line in enumerate(lines) if line.startswith("PODS: ")) :]
    legend = legend[: legend.index("")]
    assert "LARGEST: " in " ".join(legend)
    assert [line for line in legend if len(line) > 80] == []
