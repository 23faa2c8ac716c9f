"""A kubelet on a copy of a node: it starts if the engine allows it, and allocates CPUs as the engine does.

PODS is the file of the API server, KUBELET the options with the kubelet's release and gates.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cpuctl.checkpoints import device_state

PID = 70
DIRECTORY = "var/lib/kubelet"
STATES = ("cpu_manager_state", "memory_manager_state")
DEVICES = f"{DIRECTORY}/device-plugins/kubelet_internal_checkpoint"
_PROCESS = f"proc/{PID}"
_ASIDE = "kubelet-process"
_VOLUMES = "volumes/kubernetes.io~downward-api"


def runs(root: Path) -> bool:
    return (root / _PROCESS).is_dir()


def stop(root: Path) -> None:
    if runs(root):
        (root / _PROCESS).rename(root / _ASIDE)


def start(root: Path) -> None:
    """Start, or stay down if the state files are rejected; systemctl reports success in both cases."""
    stop(root)
    if synced(root):
        (root / _ASIDE).rename(root / _PROCESS)


def synced(root: Path) -> bool:
    """Release what no container holds any more, admit new pods, and write it all; False without a kubelet."""
    directory = root / DIRECTORY
    with TemporaryDirectory() as new:
        state = ["--state", str(directory)] if any((directory / each).exists() for each in STATES) else []
        running = ["--pods", os.environ["PODS"]] if state else []
        new_pods = ["-f", os.environ["PODS"]] if pods() else []
        reported = [*state, *running, *new_pods, "-m", str(root), *_options()]
        words = [
            "plan",
            "-q",
            "--exit-zero",
            "--assume-devices",
            *reported,
            "--write-state",
            new,
            "--force",
            "-o",
            "json",
        ]
        answer = _answered(words)
        if answer["start"]["outcome"] != "Started":
            return False
        refused = [pod["name"] for pod in answer["pods"] if pod["outcome"] != "Admitted"]
        assert not refused, answer
        for name in STATES:
            shutil.copy(f"{new}/{name}", directory / name)
    _reconcile(root)
    return True


def _answered(words: list[str]) -> Any:
    """Run the command in this process: to start another takes longer than to answer."""
    from cpuctl.cli.app import run  # most stand-ins need no answer

    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) as stated:
        assert run(words) == 0, words
    stated.seek(0)
    return json.load(stated)


def _options() -> list[str]:
    return shlex.split(os.environ["KUBELET"])


def pods() -> list[Any]:
    items: list[Any] = json.loads(Path(os.environ["PODS"]).read_text())["items"]
    return items


def pod_json(namespace: str, name: str) -> str:
    """Return what kubectl prints about a pod; fail for an unknown pod."""
    (found,) = (each for each in pods() if _named(each) == (namespace, name))
    return json.dumps(found)


def replace_pod(root: Path, namespace: str, name: str) -> None:
    """End a pod: its workload creates a replacement with a new UID, which is admitted."""
    uid = next(each["metadata"]["uid"] for each in pods() if _named(each) == (namespace, name))
    new = uid[:-4] + "9999"
    _free_devices(root, uid)
    file = Path(os.environ["PODS"])
    text = file.read_text().replace(uid, new)
    file.write_text(text)
    for old, other in ((uid, new), (uid.replace("-", "_"), new.replace("-", "_"))):
        for group in sorted((root / "sys/fs/cgroup").rglob(f"*{old}*")):
            group.rename(group.with_name(group.name.replace(old, other)))
        for reported in root.glob("proc/*/cgroup"):
            reported.write_text(reported.read_text().replace(old, other))
        for pages in (root / "sys/fs/cgroup").rglob(f"*{other}*/**/hugetlb.*.numa_stat"):
            pages.write_text("total=0 N0=0 N1=0\n")
            pages.with_name(pages.name.replace("numa_stat", "current")).write_text("0\n")
    _end_init_containers(file)
    assert synced(root)
    _give_devices(root)


def _end_init_containers(file: Path) -> None:
    """Restart the init containers of a new pod."""
    document = json.loads(file.read_text())
    for pod in document["items"]:
        pod["status"].pop("initContainerStatuses", None)
    file.write_text(json.dumps(document))


def _named(pod: Any) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _reconcile(root: Path) -> None:
    """Write CPUs into control groups, and into the files in which containers read them."""
    state = json.loads((root / DIRECTORY / STATES[0]).read_text())
    for pod in pods():
        uid = pod["metadata"]["uid"]
        own = state.get("entries", {}).get(uid, {})
        for status in pod["status"]["containerStatuses"]:
            cpus = own.get(status["name"], state["defaultCpuSet"])
            container = status["containerID"].rpartition("/")[2]
            for group in (root / "sys/fs/cgroup").rglob(f"*{container}*/cpuset.cpus"):
                group.write_text(f"{cpus}\n")
        for volume in pod["spec"].get("volumes", ()):
            for item in volume["downwardAPI"]["items"]:
                reported = root / DIRECTORY / "pods" / uid / _VOLUMES / volume["name"] / item["path"]
                reported.parent.mkdir(parents=True, exist_ok=True)
                reported.write_text(own.get(item["resourceFieldRef"]["containerName"], ""))


def _devices(root: Path) -> Any:
    return json.loads((root / DEVICES).read_text())["Data"] if (root / DEVICES).exists() else None


def _free_devices(root: Path, uid: str) -> None:
    if data := _devices(root):
        data["PodDeviceEntries"] = [each for each in data["PodDeviceEntries"] if each["PodUID"] != uid]
        write_devices(root, data)


def _give_devices(root: Path) -> None:
    """Allocate free devices to containers without devices."""
    data = _devices(root)
    for pod in pods() if data else ():
        uid = pod["metadata"]["uid"]
        entries = data["PodDeviceEntries"]
        if any(each["PodUID"] == uid for each in entries):
            continue
        for container in pod["spec"]["containers"]:
            for resource, known in data["RegisteredDevices"].items():
                held = {name for each in entries for names in each["DeviceIDs"].values() for name in names}
                count = int(container.get("resources", {}).get("limits", {}).get(resource, 0))
                given = [name for name in known if name not in held][:count]
                assert len(given) == count
                if given:
                    entries.append(device_entry(uid, container["name"], resource, *given))
    if data:
        write_devices(root, data)


def device_entry(uid: str, container: str, resource: str, *names: str) -> dict[str, Any]:
    """Record devices of NUMA node 0."""
    return {
        "PodUID": uid,
        "ContainerName": container,
        "ResourceName": resource,
        "DeviceIDs": {0: list(names)},
        "AllocResp": None,
    }


def write_devices(root: Path, data: Any) -> None:
    (root / DEVICES).parent.mkdir(parents=True, exist_ok=True)
    for each in data["PodDeviceEntries"]:
        each["DeviceIDs"] = {int(node): names for node, names in each["DeviceIDs"].items()}
    (root / DEVICES).write_text(device_state.BY_NODE.write({"Data": data, "Checksum": 0}))
