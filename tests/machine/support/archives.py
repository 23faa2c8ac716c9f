"""Support archives in the layout of their tools, of described or recorded machines."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import CPU_DIRECTORY, Machine
from tests.machine.sysfs_writer import small_machine

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
STATIC = f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0,4\n"
COMMAND = "/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf --node-ip=192.0.2.7 --max-pods=60"
THREADS = "root           -  0.0    -      -      - -        -    Ssl  08:01   0:03 -\n"
HEADER = "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"


def processes(command: str = COMMAND) -> str:
    """Write what ``ps auxwwwm`` prints of a node with a kubelet and another process that names it."""
    return (
        f"{HEADER}root           1  0.0  0.0 169844 13128 ?        -    08:00   0:02 /sbin/init\n"
        f"{THREADS}root        1984  2.1  0.6 3131844 99812 ?      -    08:01   0:12 {command}\n{THREADS}"
        "core        2001  0.0  0.0   6408  2224 pts/0    -    08:05   0:00 tail kubelet --config=/tmp/x\n"
    )


def lscpu_table(machine: Machine) -> str:
    """Write what ``lscpu -ae`` prints: its own numbers of cores, sockets and caches."""
    cores = {cpu: place for place, core in enumerate(machine.cores) for cpu in core}
    caches = {cpu: place for place, group in enumerate(machine.l3_groups) for cpu in group}
    sockets = {cpu: place for place, cpus in enumerate(machine.sockets.values()) for cpu in cpus}
    rows = [
        f"{each.number:3} {each.numa_node:4} {sockets[each.number]:6} {cores[each.number]:4} "
        f"{cores[each.number]}:{cores[each.number]}:{cores[each.number]}:{caches[each.number]} yes\n"
        for each in machine.cpus
    ]
    offline = [f"{cpu:3}    -      -    - -                no\n" for cpu in machine.offline]
    return "".join(["CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n", *rows, *offline])


def sosreport_files(machine: Mapping[str, str] | None = None, /, **more: str) -> dict[str, str]:
    """Return the files of a sosreport of a node, which by default has eight CPUs; *more* by other names."""
    names = {"ps": "sos_commands/process/ps_auxwwwm", "lscpu": "sos_commands/processor/lscpu_-ae"}
    reported = {
        "ps": processes(),
        "kubelet_conf": STATIC,
        "rpms": "kernel-5.14\nopenshift-kubelet-4.20.0-2026.x86_64\n",
    }
    reported |= more
    places = {"kubelet_conf": "etc/kubernetes/kubelet.conf", "rpms": "installed-rpms"} | names
    return {
        **(machine or small_machine()),
        "version.txt": "sosreport: 4.10.2\n",
        "sos_commands/host/uptime": "08:09:10 up 3 days\n",
        **{places.get(name, name): text for name, text in reported.items()},
    }


def crictl_output(uid: str, pod: str, *containers: str, namespace: str = "shop") -> dict[str, str]:
    """Write what ``crictl inspectp`` and ``crictl inspect`` print for a pod, at the path that sos uses.

    The ids of containers are their names and their pod's UID.
    """
    sandbox = {
        "id": f"box-{uid}",
        "metadata": {"attempt": 0, "name": pod, "namespace": namespace, "uid": uid},
    }
    files = {f"sos_commands/crio/pods/crictl_inspectp_box-{uid}": json.dumps({"info": {}, "status": sandbox})}
    for name in containers:
        labels = {
            "io.kubernetes.container.name": name,
            "io.kubernetes.pod.name": pod,
            "io.kubernetes.pod.namespace": namespace,
            "io.kubernetes.pod.uid": uid,
        }
        status = {"id": f"{name}-{uid}", "metadata": {"attempt": 0, "name": name}, "labels": labels}
        path = f"sos_commands/crio/containers/crictl_inspect_{name}-{uid}"
        files[path] = json.dumps({"status": status, "info": {"pid": 77}})
    return files


def without_directories(files: Mapping[str, str], cpus: CPUSet) -> dict[str, str]:
    """Leave out the directories of CPUs."""
    left = tuple(f"{CPU_DIRECTORY}/cpu{cpu}/" for cpu in cpus)
    return {path: text for path, text in files.items() if not path.startswith(left)}


def write_tree(files: Mapping[str, str | bytes], root: Path) -> Path:
    """Write files below a directory and return it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def tar_of(files: Mapping[str, str | bytes], top: str = "", mode: str = "w:gz") -> bytes:
    """Pack files below one directory."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            data = content.encode(errors="surrogateescape") if isinstance(content, str) else content
            member = tarfile.TarInfo(f"{top}/{name}" if top else name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


UNIT = r"""[Service]
EnvironmentFile=/etc/os-release
EnvironmentFile=-/etc/kubernetes/kubelet-env
EnvironmentFile=/etc/node-sizing.env
ExecStart=/usr/local/bin/kubenswrapper /usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf \
  --node-labels=node.openshift.io/os_id=${ID} --v=${KUBELET_LOG_LEVEL} \
  --system-reserved=cpu=${SYSTEM_RESERVED_CPU},memory=${SYSTEM_RESERVED_MEMORY}
"""


def snapshot(files: Mapping[str, str | bytes] | None = None) -> bytes:
    """Pack a node as ``gather-sysinfo snapshot`` does: the files at the top, and cAdvisor's view."""
    return tar_of({**(files or small_machine()), "machineinfo.json": "{}"})


def must_gather_files(
    nodes: Mapping[str, bytes], encoded: str = "", sizing: str = "false"
) -> dict[str, str | bytes]:
    """Return the files of a must-gather: snapshots by node, Nodes, and their one rendered MachineConfig."""
    objects = "quay-io-image/cluster-scoped-resources"
    config = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"name": "rendered-worker-77"},
        "spec": {
            "config": {
                "storage": {
                    "files": [
                        _stored("/etc/kubernetes/kubelet.conf", STATIC, encoded),
                        _stored("/etc/crio/crio.conf", "[crio]\n"),
                        _stored(
                            "/etc/node-sizing-enabled.env",
                            f"NODE_SIZING_ENABLED={sizing}\nSYSTEM_RESERVED_MEMORY=1Gi\nSYSTEM_RESERVED_CPU=500m\n",
                        ),
                    ]
                },
                "systemd": {
                    "units": [
                        {
                            "name": "kubelet.service",
                            "contents": UNIT,
                            "dropins": [
                                {
                                    "name": "10-log.conf",
                                    "contents": '[Service]\nEnvironment="KUBELET_LOG_LEVEL=2"\n',
                                }
                            ],
                        }
                    ]
                },
            }
        },
    }
    found: dict[str, str | bytes] = {
        f"{objects}/machineconfiguration.openshift.io/machineconfigs/rendered-worker-77.yaml": json.dumps(
            config
        ),
        "version": "openshift/must-gather\n",
    }
    for name, packed in nodes.items():
        found[f"quay-io-image/nodes/{name}/sysinfo.tgz"] = packed
        found[f"{objects}/core/nodes/{name}.yaml"] = NODE.format(name=name)
    return found


NODE = """---
apiVersion: v1
kind: Node
metadata:
  name: {name}
  annotations:
    machineconfiguration.openshift.io/currentConfig: rendered-worker-77
  labels:
    node.openshift.io/os_id: rhcos
status:
  nodeInfo:
    kubeletVersion: v1.31.6
"""


def _stored(path: str, text: str, encoded: str = "") -> dict[str, object]:
    data = base64.b64encode(text.encode()).decode()
    return {"path": path, "contents": {"source": encoded or f"data:text/plain;charset=utf-8;base64,{data}"}}


def gatherinfo_report(machine: Machine) -> str:
    """Write the report of ``dracpu gatherinfo`` on a machine, its keys in alphabetical order."""
    caches = {cpu: cache.id for cache in machine.caches if cache.level == 3 for cpu in cache.cpus}
    lines = [
        f"  - clusterID: {-1 if cpu.cluster_id is None else cpu.cluster_id}\n    coreID: {cpu.core_id}\n"
        f"    coreType: standard\n    cpuID: {cpu.number}\n    numaNodeID: {cpu.numa_node}\n"
        f"    sibling: {max((cpu.siblings - CPUSet(1 << cpu.number)) or [-1])}\n"
        f"    socketID: {cpu.package_id}\n    uncoreCacheID: {caches.get(cpu.number, -1)}\n"
        for cpu in machine.cpus
    ]
    rest = f"  topology:\n    numCPUs: {len(lines)}\ndriverConfig:\n  reservedCPUs: '0'\nlayoutVersion: v1\n"
    return f"---\ncpuDetails:\n  cpus:\n{''.join(lines)}{rest}"
