"""Support archives as nodes: their kubelet's configuration is used like that of a capture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.audit.node_tree import DATABASE, SERVER, clean_node
from tests.cli.conftest import Cpuctl, Result
from tests.machine.support.archives import (
    HEAD,
    crictl_output,
    must_gather_files,
    processes,
    snapshot,
    sosreport_files,
    tar_of,
    write_tree,
)
from tests.machine.sysfs_writer import small_machine

UNIT = "[Service]\nEnvironmentFile=/etc/node-sizing.env\nExecStart=/usr/bin/kubelet --config=/etc/k.yaml\n"
STATE = (
    '{"policyName":"static","defaultCpuSet":"0,2-4,6-7","entries":{"u1":{"app":"1,5"}},"checksum":2571373403}'
)


def document(result: Result) -> dict[str, Any]:
    assert result.code == 0, result
    loaded: dict[str, Any] = json.loads(result.out)
    return loaded


def settings(result: Result) -> dict[str, tuple[Any, str | None]]:
    return {each["setting"]: (each["value"], each["where"]) for each in document(result)["settings"]}


def test_a_sosreport_shows_how_its_kubelet_runs(tmp_path: Path, cpuctl: Cpuctl) -> None:
    report = tmp_path / "report.tar.xz"
    report.write_bytes(tar_of(sosreport_files(), "sosreport-node7", "w:xz"))
    shown = cpuctl("config", "show", "-m", str(report), "-o", "json")
    found = settings(shown)
    assert found["cpuManagerPolicy"] == ("static", f"{report}: etc/kubernetes/kubelet.conf:3")
    assert found["maxPods"] == (60, "--max-pods")
    assert document(shown)["sources"]["kubeletVersion"] == {"value": "1.33", "from": "capture"}
    plan = document(cpuctl("plan", "-m", str(report), "-T", "a=2/2,1Gi", "-o", "json"))
    assert (
        plan["sources"]["state"]["value"]
        == "none, as on a fresh node, because a sosreport has no cpu_manager_state"
    )


@pytest.mark.parametrize("ps", [processes(""), processes("/usr/bin/kubelet2 --max-pods=3")])
def test_without_a_kubelet_process_the_unit_is_used(ps: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """The unit's environment file is not collected, so the flags in it are unknown."""
    files = sosreport_files(ps=ps) | {"etc/systemd/system/kubelet.service": UNIT}
    shown = cpuctl("config", "show", "-m", str(write_tree(files, tmp_path)), "-o", "json")
    assert settings(shown)["cpuManagerPolicy"][0] == "static"
    assert "/etc/node-sizing.env is missing" in document(shown)["sources"]["unknownFlags"]["value"]


def test_collected_state_files_are_used(tmp_path: Path, cpuctl: Cpuctl) -> None:
    files = sosreport_files(ps=processes("/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml"))
    files |= {
        "var/lib/kubelet/config.yaml": f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0,4\n",
        "var/lib/kubelet/cpu_manager_state": STATE,
    }
    root = str(write_tree(files, tmp_path))
    plan = cpuctl("plan", "-m", root, "-T", "a=2/2,1Gi", "-o", "json", "--exit-zero")
    assert document(plan)["sources"]["state"] == {
        "value": f"{root}: var/lib/kubelet/cpu_manager_state",
        "from": "capture",
    }


def named_report(directory: Path, **more: str) -> str:
    """Write a sosreport of a node whose state file gives CPUs to u1, which crictl calls shop/db-0."""
    files = sosreport_files(ps=processes("/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml"))
    files |= {
        "var/lib/kubelet/config.yaml": f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0,4\n",
        "var/lib/kubelet/cpu_manager_state": STATE.replace("2571373403", "801303818"),
    }
    return str(write_tree(files | crictl_output("u1", "db-0", "app") | more, directory))


def test_the_fix_of_a_finding_is_for_the_kubelet_that_runs(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """An audit with the version of an upgrade is about a kubelet that is not installed yet."""
    report, pods = named_report(tmp_path / "report"), tmp_path / "pods.json"
    pods.write_text('{"apiVersion": "v1", "kind": "PodList", "items": []}')
    words = ("audit", "-m", report, "--pods", str(pods), "--kubelet-version", "1.36", "-o", "json")
    fixes = {each["code"]: each["fix"] for each in json.loads(cpuctl(*words).out)["findings"]}
    verify = "cpuctl checkpoint verify --pods FILE"
    assert fixes["stale-entry"] == f"{verify} && systemctl restart kubelet"
    shown = cpuctl(*words[:-2]).out
    assert f"\n  fix, on the node: {fixes['stale-entry']}\n" in shown
    of_node = "kubectl get pods -A --field-selector spec.nodeName=NODE -o json"
    assert f"\nFILE: the pods running on the node ({of_node} > FILE)\n" in shown


def test_the_fix_on_a_node_names_neither_files_from_here_nor_the_release_of_an_upgrade(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    (tmp_path / "pods.json").write_text('{"apiVersion": "v1", "kind": "PodList", "items": []}')
    (tmp_path / "mine.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
    )
    given = ("--pods", str(tmp_path / "pods.json"), "--kubelet-config", str(tmp_path / "mine.yaml"))
    words = ("audit", "-m", "fixtures/nodes/v2-2-numa/node.tar.xz", *given, "--kubelet-version", "1.37")
    answer = json.loads(cpuctl(*words, "-q", "-o", "json").out)
    fixes = {each["code"]: each["fix"] for each in answer["findings"]}
    assert fixes["stale-entry"] == "cpuctl checkpoint verify --pods FILE && systemctl restart kubelet"
    assert not [fix for fix in fixes.values() if str(tmp_path) in (fix or "")]


@pytest.mark.parametrize("archive", [False, True])
def test_the_runtime_names_who_holds_cpus(archive: bool, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """Only the names and where they come from: they do not show which pods are running."""
    name = named_report(tmp_path / "report")
    if archive:
        files = {
            str(path.relative_to(name)): path.read_text() for path in Path(name).rglob("*") if path.is_file()
        }
        (tmp_path / "report.tar.xz").write_bytes(tar_of(files, "sosreport-node7", "w:xz"))
        name = str(tmp_path / "report.tar.xz")
    dump = document(cpuctl("checkpoint", "dump", name, "-o", "json"))
    (holder,) = dump["cpus"]["holders"]
    assert (holder["namespace"], holder["pod"], holder["owner"]) == ("shop", "db-0", "unknown")
    assert dump["sources"]["podNames"] == {
        "value": f"crictl in {name}, at collection time: names only, not what is running now",
        "from": "capture",
    }
    table = cpuctl("checkpoint", "dump", name)
    assert "shop/db-0" in table.out
    assert f"pod names: crictl in {name}" in " ".join(table.err.split())
    plan = document(cpuctl("plan", "-m", name, "-T", "a=2/2,1Gi", "-o", "json", "--exit-zero"))
    assert plan["sources"]["podNames"] == dump["sources"]["podNames"]


def test_names_of_pods_that_are_no_longer_running(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """--pods decides which pods run; a pod that does not run is still shown by its name."""
    other = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u2"},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
        "status": {"phase": "Running"},
    }
    (tmp_path / "pods.json").write_text(json.dumps(other))
    words = ("-m", named_report(tmp_path / "report"), "--pods", str(tmp_path / "pods.json"))
    verified = json.loads(cpuctl("checkpoint", "verify", *words, "-o", "json").out)
    messages = [each["message"] for each in verified["findings"] if each["code"] == "owner-gone"]
    released = "its CPUs are released in the CPU Manager's next pass (cpuManagerReconcilePeriod)"
    assert messages == [f"shop/db-0/app: the pod is not running; {released}"]
    planned = cpuctl("plan", *words, "-T", "a=2/2,1Gi", "--exit-zero")
    assert "the state files have pods that are not running here (shop/db-0)" in " ".join(planned.err.split())


def test_invalid_crictl_output_is_reported_and_skipped(tmp_path: Path, cpuctl: Cpuctl) -> None:
    path = "sos_commands/crio/containers/crictl_inspect_c"
    name = named_report(tmp_path, **{path: "FATA[0000] getting the status of the container: NotFound"})
    dump = cpuctl("checkpoint", "dump", name)
    assert "shop/db-0" in dump.out
    assert f"{name}: {path}: is not JSON as printed by crictl inspect" in " ".join(dump.err.split())


def test_a_node_of_a_must_gather_is_configured_by_its_machine_config(tmp_path: Path, cpuctl: Cpuctl) -> None:
    root = write_tree(must_gather_files({"w1": snapshot(), "w2": snapshot()}), tmp_path)
    shown = cpuctl("config", "show", "-m", f"{root}/#w2", "-o", "json")
    found = settings(shown)
    assert found["cpuManagerPolicy"] == ("static", f"{root}#w2: etc/kubernetes/kubelet.conf:3")
    assert found["systemReserved.memory"] == ("1Gi", "--system-reserved")
    sources = document(shown)["sources"]
    assert sources["kubeletVersion"] == {"value": "v1.31.6", "from": "capture"}
    assert "unknownFlags" not in sources
    table = cpuctl("topology", "show", "-m", f"{root}#w2")
    assert "note: node w2 of a must-gather without" in table.out


def test_sizes_computed_by_the_node_are_unknown(tmp_path: Path, cpuctl: Cpuctl) -> None:
    root = write_tree(must_gather_files({"w1": snapshot()}, sizing="true"), tmp_path)
    shown = cpuctl("config", "show", "-m", str(root), "-o", "json")
    assert settings(shown)["cpuManagerPolicy"][0] == "static"
    assert "/etc/node-sizing.env is missing" in document(shown)["sources"]["unknownFlags"]["value"]


def inspected(name: str, uid: str, node: str, cpus: int = 2) -> dict[str, Any]:
    """Return a pod as the API server returns it."""
    amounts = {"cpu": str(cpus), "memory": "1Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": uid},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "app", "resources": {"requests": amounts, "limits": amounts}}],
        },
        "status": {"phase": "Running"},
    }


INSPECTED = {
    "image/namespaces/shop/core/pods.yaml": json.dumps(
        {
            "apiVersion": "v1",
            "kind": "PodList",
            "items": [inspected("a", "u1", "w1"), inspected("b", "u2", "w2")],
        }
    ),
    # These are not read if there is a list.
    "image/namespaces/shop/pods/a/a.yaml": "not read: {",
    "image/namespaces/shop/pods/a/app/app/logs/current.yaml": "no pod",
    "image/namespaces/ai/pods/c/c.yaml": json.dumps(inspected("c", "u3", "w1", 3)),
}


@pytest.mark.parametrize("packed", [True, False])
def test_pods_of_a_node_come_from_the_must_gather(tmp_path: Path, cpuctl: Cpuctl, packed: bool) -> None:
    files = must_gather_files({"w1": snapshot(), "w2": snapshot()}) | INSPECTED
    gathered = tmp_path / "must-gather.tar.gz"
    gathered.write_bytes(tar_of(files, "must-gather.local.77"))
    spec = str(gathered if packed else write_tree(files, tmp_path / "unpacked"))
    plan = document(
        cpuctl("plan", "-m", f"{spec}#w1", "--pods", f"{spec}#w1", "-T", "x=1/1,1Gi", "-o", "json", "-q")
    )
    assert plan["sources"]["runningPods"] == {"value": f"{spec}#w1", "from": "given"}
    state = tmp_path / "cpu_manager_state"
    state.write_text(STATE)
    shown = cpuctl("checkpoint", "dump", str(state), "-m", f"{spec}#w1", "--pods", f"{spec}#w1", "-o", "json")
    assert '"owner": "running"' in shown.out


def test_a_node_without_pods_in_a_must_gather_is_an_error(tmp_path: Path, cpuctl: Cpuctl) -> None:
    spec = write_tree(must_gather_files({"w1": snapshot()}) | INSPECTED, tmp_path)
    words = ("plan", "-m", f"{spec}#w1", "-T", "x=1/1,1Gi", "--pods")
    result = cpuctl(*words, f"{spec}#w9", columns=300)
    assert (result.code, "contains no pods of node w9" in result.err) == (4, True)
    assert "it has pods of w1, w2" in result.err
    bare = cpuctl(*words, f"{write_tree(must_gather_files({'w1': snapshot()}), tmp_path / 'bare')}#w1")
    assert "oc adm inspect store" in bare.err


def test_a_must_gather_as_the_list_of_pods_needs_a_node(tmp_path: Path, cpuctl: Cpuctl) -> None:
    def result(name: str, *nodes: str) -> str:
        (tmp_path / name).write_bytes(tar_of(must_gather_files({node: snapshot() for node in nodes}), "g"))
        words = ("plan", "-m", "synthetic:1s1n4c1t", "-T", "x=1/1,1Gi", "--pods", name)
        result = cpuctl(*words, cwd=tmp_path, columns=300)
        assert (result.code, result.out) == (4, "")
        return result.err

    message = "is a must-gather, which has the pods of all nodes\nhint: name the node: --pods"
    assert f"error: one.tar.gz: {message} one.tar.gz#w1\n" in result("one.tar.gz", "w1")
    several = result("two.tar.gz", "w1", "w2")
    assert f"{message} two.tar.gz#NODE (it has w1, w2)\n" in several
    recording = cpuctl(
        "plan",
        "-m",
        "synthetic:1s1n4c1t",
        "-T",
        "x=1/1,1Gi",
        "--pods",
        "fixtures/nodes/v2-2-numa/node.tar.xz",
    )
    assert "or use -m fixtures/nodes/v2-2-numa/node.tar.xz if it is a recording of a node" in recording.err


def test_a_state_file_in_a_snapshot_is_used(tmp_path: Path, cpuctl: Cpuctl) -> None:
    held = {**small_machine(), "var/lib/kubelet/cpu_manager_state": STATE}
    spec = write_tree(must_gather_files({"w1": snapshot(held)}), tmp_path)
    verified = cpuctl("checkpoint", "verify", "-m", str(spec), "-o", "json", "--exit-zero")
    files = document(verified)["files"]
    assert [each["file"] for each in files] == ["cpu_manager_state"]


def test_an_audit_uses_the_runtimes_names_of_containers(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A sosreport has control groups and the output of crictl, but no links to logs."""
    node = clean_node()
    groups = {path: text for path, text in node.files.items() if path.startswith("sys/fs/cgroup")}
    reported = {
        path: text.replace(f"server-{DATABASE}", SERVER)
        for path, text in crictl_output(DATABASE, "db-0", "server").items()
    }
    report = write_tree(sosreport_files() | groups | reported, tmp_path)
    result = cpuctl("audit", "-m", str(report), "--check", "cpusets", "-o", "json")
    named = {
        (each["pod"], each["container"], each["knownBy"]) for each in json.loads(result.out)["containers"]
    }
    assert ("db-0", "server", "runtime") in named
    assert "crictl in" in json.loads(result.out)["sources"]["podNames"]["value"]
