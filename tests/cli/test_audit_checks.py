"""The answer of an audit that runs only some checks."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

from tests.cli.conftest import ROOT, Cpuctl


def test_a_sum_names_the_selected_checks(cpuctl: Cpuctl) -> None:
    """The table shows the verdicts of all of them."""
    words = ("audit", "-q", "-m", "fixtures/nodes/v2-2-numa/node.tar.xz")
    one, two = (cpuctl(*words, "--check", each, columns=160).out for each in ("state", "state,reserved"))
    assert one.endswith(": no findings of check state\n")
    warned = cpuctl(*words, "--check", "interrupts", columns=160).out
    assert warned.endswith(": 1 warning of check interrupts\n")
    assert two.endswith(": no findings of checks state, reserved\n")


def test_no_option_is_proposed_that_is_already_set(cpuctl: Cpuctl) -> None:
    words = ("audit", "-m", "fixtures/nodes/v2-2-numa/node.tar.xz", "--kubelet-version=1.35")
    proposed = "including the reserved CPUs 0-1; to keep them off the reserved CPUs, set strict-cpu-"
    assert proposed in cpuctl(*words).out
    option = "--cpu-manager-policy-options=strict-cpu-reservation=true"
    strict = cpuctl(*words, "--kubelet-args", option).out
    assert "including the reserved CPUs 0-1\n" in strict
    assert "set strict-cpu-reservation" not in strict
    assert "reserved-in-use: shared pool" in strict
    assert proposed not in cpuctl(*words, "--kubelet-args", option, "--check=interrupts").out


def test_reserved_cpus_are_kept_free_as_proposed(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A state file fits the option after a repair; without a file, nothing has to fit."""
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    flags = "--cpu-manager-policy=static --reserved-cpus=0-1"
    machine = ("-m", "synthetic:2s2n4c2t", "--kubelet-version", "1.36", "--kubelet-args")
    plan = ("plan", *machine, flags, "-q", "-T", "a=2/2,64Mi")
    how = "; to keep them off the reserved CPUs, set strict-cpu-reservation (1.33+; 1.32 with "
    first = f"{how}CPUManagerPolicyAlphaOptions) before the kubelet first starts\n"
    again = (
        f"{how}CPUManagerPolicyAlphaOptions), stop the kubelet, run sudo cpuctl checkpoint repair --yes, "
        "and start the kubelet again\n"
    )
    assert first in cpuctl(*plan, "--write-state", old, columns=400).out
    assert first in cpuctl("config", "check", *machine, flags, columns=400).out
    assert again in cpuctl(*plan, "--state", old, columns=400).out
    assert again in cpuctl("audit", "-m", "fixtures/nodes/v2-2-numa/node.tar.xz", columns=400).out
    strict = (*machine, f"{flags} --cpu-manager-policy-options=strict-cpu-reservation=true")
    assert cpuctl("checkpoint", "verify", old, *strict).code == 3
    assert cpuctl("checkpoint", "repair", old, *strict, "--write-state", new).code == 0
    kept = cpuctl("plan", *strict, "-q", "--state", new, "-T", "b=2/2,64Mi").out
    assert "Containers without exclusive CPUs run on CPUs 4-9,12-15, not on the reserved CPUs 0-1\n" in kept


def test_no_fix_names_offline_cpus_on_cgroup_v1(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """The kernel rejects a list with such CPUs; the state file has them."""
    with tarfile.open(ROOT / "fixtures/nodes/hybrid-8-numa/node.tar.xz") as archive:
        archive.extractall(tmp_path / "node", filter="data")
    (group,) = (tmp_path / "node/sys/fs/cgroup/cpuset").rglob("crio-f3f3*")
    for name in ("cpuset.cpus", "cpuset.effective_cpus"):
        (group / name).write_text("0-30\n")
    words = ("audit", "-m", str(tmp_path / "node"), "--kubelet-version", "1.32", "--check", "cpusets")
    answer = cpuctl(*words, "--pods", "fixtures/nodes/hybrid-8-numa/pods.json", "-q")
    assert re.search(r"crictl update --cpuset-cpus 0-1,10-30 f3f3", answer.out)
