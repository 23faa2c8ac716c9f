"""Would it start? All commands give the same answer, or report that they did not check and which does."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from cpuctl.cli.app import run
from tests.audit.node_tree import CONFIG, NodeTree, with_kubelet_files
from tests.capture.node_texts import written
from tests.machine.sysfs_writer import CPU_DIR

STATE, UNIT = "var/lib/kubelet", "etc/systemd/system/kubelet.service"
NODE = with_kubelet_files(NodeTree()).files
"""A machine, and a kubelet that starts on the files it left."""
CPU_FILE, MEMORY_FILE = f"{STATE}/cpu_manager_state", f"{STATE}/memory_manager_state"
CPU_STATE, MEMORY_STATE = NODE[CPU_FILE], NODE[MEMORY_FILE]
START = "[Service]\nExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml"
CONFIGS: Mapping[str, str | None] = {
    "as it was": CONFIG,
    "other CPUs reserved": CONFIG.replace('"0,4"', '"0-1,4-5"'),
    "no CPUs reserved": CONFIG.replace('reservedSystemCPUs: "0,4"\n', ""),
    "no managers": "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
    "more memory kept": CONFIG.replace("memory: 100Mi", "memory: 1Gi"),
    "not valid": f"{CONFIG}maxPods: -1\n",
    "an unknown gate": CONFIG + "featureGates: {Nothing: true}\n",
    "not loaded": f"{CONFIG}maxPods: many\n",
    "none": None,
}
UNITS: Mapping[str, str | None] = {
    "none": None,
    "plain": f"{START}\n",
    "with flags": f"{START} --cpu-manager-policy=static --reserved-cpus=0,4\n",
    "with unknown variables": f"{START} $ARGS\n",
    "with a removed flag": f"{START} --pod-infra-container-image=pause\n",
}
CPU_STATES: Mapping[str, str | None] = {
    "as it was": CPU_STATE,
    "none": None,
    "torn": CPU_STATE[:40],
    "a wrong checksum": CPU_STATE.replace('"checksum":', '"checksum":1'),
    "another policy": '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
}
MEMORY_STATES: Mapping[str, str | None] = {"as it was": MEMORY_STATE, "none": None, "torn": "{"}
OTHERS: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "unreadable allocated resources": {"allocated_pods_state": '{"data":"{}","checksum":1}'},
    "torn resources of pods": {"allocated_pods_state": "{", "actuated_pods_state": "{"},
    "unreadable actuated resources": {"actuated_pods_state": '{"data":"{}","checksum":1}'},
    "an old status": {"pod_status_manager_state": "{"},
    "claims": {"dra_manager_state": "{"},
    "devices": {"device-plugins/kubelet_internal_checkpoint": "{"},
}
MACHINES: Mapping[str, Mapping[str, str]] = {
    "as it was": {"sys/fs/cgroup/cgroup.controllers": "cpuset memory\n"},
    "a CPU is offline": {f"{CPU_DIR}/online": "0-4,6-7\n", f"{CPU_DIR}/offline": "5\n"},
    "control groups of version 1": {
        "sys/fs/cgroup/cpuset/cpuset.cpus": "0-7\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "1\n",
    },
}
RELEASES = ("", "1.27", "1.31", "1.33", "1.34", "1.35", "1.36", "1.37", "1.38")
"""Releases passed to commands; empty for none."""


class Drawn(NamedTuple):
    """A node by the names of its parts; ``given``: a configuration is given in place of its own."""

    config: str
    unit: str
    cpu: str
    memory: str
    others: str
    machine: str
    release: str
    given: bool

    def files(self) -> dict[str, str]:
        """Return the texts of the node's files."""
        texts = {
            f"{STATE}/config.yaml": CONFIGS[self.config],
            UNIT: UNITS[self.unit],
            CPU_FILE: CPU_STATES[self.cpu],
            MEMORY_FILE: MEMORY_STATES[self.memory],
        }
        others = {f"{STATE}/{name}": text for name, text in OTHERS[self.others].items()}
        whole = {**NODE, **texts, **others, **MACHINES[self.machine]}
        # With the directory of a kubelet that has run, absent state files do not exist.
        whole[f"{STATE}/pki/kubelet.crt"] = ""
        return {name: text for name, text in whole.items() if text is not None}


def often(names: Mapping[str, object]) -> st.SearchStrategy[str]:
    """Draw the first name as often as all others: if everything is wrong, commands stop early."""
    first, *others = names
    return st.one_of(st.just(first), st.sampled_from(others))


DRAWN = st.builds(
    Drawn,
    config=often(CONFIGS),
    unit=st.sampled_from(sorted(UNITS)),
    cpu=often(CPU_STATES),
    memory=often(MEMORY_STATES),
    others=often(OTHERS),
    machine=often(MACHINES),
    release=st.sampled_from(RELEASES),
    given=st.sampled_from([False, False, False, True]),
)
PODS = ("-T", "a=1/1,1Gi")


def requested(*words: str) -> tuple[int, dict[str, Any], str]:
    """Run a command, and return its exit code, its answer and its standard error."""
    out, stated = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(stated):
        code = run([*words, "-o", "json"])
    return code, json.loads(out.getvalue() or "{}"), stated.getvalue()


def answers(drawn: Drawn) -> Iterator[tuple[str, int, dict[str, Any], str]]:
    """Run every command that has an answer."""
    with tempfile.TemporaryDirectory() as directory:
        words = ["-m", str(written(drawn.files(), Path(directory) / "node"))]
        if drawn.given:
            (Path(directory) / "given.yaml").write_text(CONFIG)
            words += ["--kubelet-config", str(Path(directory) / "given.yaml")]
        version = ("--kubelet-version", drawn.release) if drawn.release else ()
        here = ("--from", drawn.release) if drawn.release else ()
        yield "config check", *requested("config", "check", *words, *version)
        yield "config versions", *requested("config", "versions", *words, *here, "--to", "1.37")
        yield "plan", *requested("plan", *words, *version, *PODS)
        yield "explain", *requested("explain", *words, *version, *PODS)
        yield "checkpoint verify", *requested("checkpoint", "verify", *words, *version)


def checked(path: str, document: dict[str, Any]) -> bool:
    """Return whether a command has checked state files; one that has not names the command that does."""
    if path in ("plan", "explain"):
        unseen = str(document.get("sources", {}).get("state", {}).get("value", ""))
        missed = "are not used" in unseen
    else:
        unseen = str(document.get("notChecked", ""))
        missed = "'state files" in unseen or "have none" in unseen
    unloaded = "after loading its configuration" in unseen
    assert unloaded or not missed or "cpuctl checkpoint verify" in unseen
    return unloaded or not missed


@settings(max_examples=25)
@given(DRAWN)
def test_all_commands_give_the_same_answer(drawn: Drawn) -> None:
    stated: dict[str, dict[str, Any]] = {}
    for path, code, document, alongside in answers(drawn):
        if not document:
            # Without a configuration no command has an answer; for one that cannot be loaded only those that
            # check it have one. State files are judged for a known release.
            absent = drawn.config == "none" and not drawn.given
            nameless = path == "checkpoint verify" and not drawn.release
            # If both are missing, either may be reported first.
            assert code in ((2, 4) if nameless and absent else (2,) if nameless else (4,)), (path, alongside)
            assert absent or nameless or "stage" in stated["config check"], alongside
            assert absent or nameless or path in ("config versions", "plan", "explain"), alongside
            continue
        start = document["start"]
        start = start.get("from", start)
        if path in ("config check", "checkpoint verify"):
            # An undetermined start is not an error; what is wrong with state files is one in both commands.
            undetermined = start["outcome"] == "Undetermined"
            assert undetermined == ("undetermined" in {each["code"] for each in document["findings"]}), path
            fails = start["outcome"] != "Started"
            assert undetermined or fails == bool(document["summary"]["error"]), (path, document)
        if checked(path, document) or path == "config check":
            stated[path] = {name: start.get(name) for name in ("outcome", "stage", "error", "why")}
    assert len({json.dumps(each) for each in stated.values()}) <= 1, stated
