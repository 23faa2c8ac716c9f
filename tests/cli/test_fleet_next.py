"""The command that a plan for a fleet proposes next: it explains a rejected pod as it is on its node."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cpuctl
from tests.cli.test_fleet import STATIC
from tests.support.manifests import exclusive_manifest
from tests.support.state_files import write_pods


def test_the_next_command_plans_what_is_on_the_node(tmp_path: Path, cpuctl: Cpuctl) -> None:
    nodes = [f"fixtures/fleet/recordings/worker-{number}.tar.xz" for number in (1, 2)]
    pods = ("-T", "a=20/20,1Gi", "-T", "odd=9/9,1Gi")
    result = cpuctl("fleet", "plan", *nodes, *STATIC, *pods)
    command = result.out.splitlines()[-1].partition("help: ")[2]
    assert command.endswith("-T odd=9/9,1Gi")
    assert "-T a=20/20,1Gi" not in command
    manifests = (exclusive_manifest(name, cpus, "1Gi") for name, cpus in (("a", 20), ("odd", 9)))
    both = write_pods(tmp_path / "both.json", *manifests)
    lines = cpuctl("fleet", "plan", *nodes, *STATIC, "-f", str(both)).out.splitlines()
    assert lines[-1] == "It also plans pods that are not on worker-2 here: default/a"


def test_the_next_command_is_only_proposed_if_it_works(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """It names a pod by its name; objects other than pods stay, whatever pods are in their file."""
    nodes = [f"fixtures/fleet/recordings/worker-{number}.tar.xz" for number in (1, 2)]
    result = cpuctl("fleet", "plan", *nodes, *STATIC, "-T", "a=20/20,1Gi", "-T", "a=9/9,1Gi")
    assert "cpuctl fleet list " in result.out.splitlines()[-1]
    ranges = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "r", "namespace": "default"},
        "spec": {"limits": [{"type": "Container", "default": {"memory": "1Gi"}}]},
    }
    file = write_pods(tmp_path / "both.json", ranges, exclusive_manifest("a", 20, "1Gi"))
    lines = cpuctl("fleet", "plan", *nodes, *STATIC, "-f", str(file), "-T", "odd=9/9,1Gi").out.splitlines()
    assert f"-f {file}" in lines[-2]
    assert lines[-1] == "It also plans pods that are not on worker-2 here: default/a"
