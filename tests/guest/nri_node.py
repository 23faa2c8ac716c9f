"""Plays scenarios with containerd, runc and ``cpuctl nri run`` in a guest; facts go to /out/facts.json."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from cpuctl.errors import CpuctlError
from cpuctl.machine.pod_resources.grpc_call import call
from cpuctl.nri.protocol import described

OUT = Path("/out")
CRI = "/run/containerd/containerd.sock"
NRI = Path("/var/run/nri/nri.sock")
IMAGE = "docker.io/library/guest:1"
TIMEOUT = 10.0
"""Seconds for which the runtime waits for a plugin: everything is slow under emulation."""
CONFIG = f"""\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{IMAGE}"
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        NoPivotRoot = true
[plugins."io.containerd.nri.v1.nri"]
  disable = false
  plugin_request_timeout = "{TIMEOUT:g}s"
"""
MESSAGES = described(
    """
RunPodSandboxRequest: config 1 PodConfig
PodConfig: metadata 1 PodMetadata, hostname 2 string, linux 8 PodLinux
PodMetadata: name 1 string, uid 2 string, namespace 3 string
PodLinux: cgroup_parent 1 string, security_context 2 PodSecurity
PodSecurity: namespace_options 1 Namespaces
Namespaces: network 1 int32
PodID: pod_sandbox_id 1 string
CreateContainerRequest: pod_sandbox_id 1 string, config 2 ContainerConfig, sandbox_config 3 PodConfig
ContainerConfig: metadata 1 ContainerMetadata, image 2 ImageSpec, command 3 *string, linux 15 ContainerLinux
ContainerMetadata: name 1 string, attempt 2 int32
ImageSpec: image 1 string
ContainerLinux: resources 1 Resources
Resources: cpu_period 1 int64, cpu_quota 2 int64, cpu_shares 3 int64, memory_limit_in_bytes 4 int64
ContainerID: container_id 1 string, timeout 2 int64
""",
    "guest.cri",
)
NODE_NETWORK = 2
PLAN = ("--plan", "/out/plan.json")


def cri(method: str, request: Any, response: str = "ContainerID") -> Any:
    path = f"/runtime.v1.RuntimeService/{method}"
    return MESSAGES[response].FromString(call(CRI, path, request.SerializeToString(), seconds=120))


def wait_until(holds: Callable[[], Any], seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


class Containerd:
    """The runtime, which can be stopped and started again."""

    def start(self) -> None:
        NRI.unlink(missing_ok=True)
        with (OUT / "containerd.log").open("ab") as log:
            self.process = subprocess.Popen(["containerd"], stdout=log, stderr=log)
        assert wait_until(lambda: Path(CRI).exists() and NRI.exists() and self.answers()), "no containerd"

    def answers(self) -> bool:
        done = subprocess.run(["ctr", "version"], check=False, capture_output=True)
        return done.returncode == 0

    def stop(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def write_image(path: Path) -> None:
    """Write an archive of an image that contains only busybox."""
    layer = BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.add("/bin/busybox", "bin/busybox")
    digest = sha256(layer.getvalue()).hexdigest()
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ["/bin/busybox", "sleep", "100000"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]
    with tarfile.open(path, "w") as tar:
        for name, data in (
            ("layer.tar", layer.getvalue()),
            ("config.json", json.dumps(config).encode()),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, BytesIO(data))


class Pods:
    """Pods and containers by name, created through the CRI socket."""

    def __init__(self) -> None:
        self.pods: dict[str, tuple[str, Any]] = {}
        self.containers: dict[str, str] = {}
        self.attempts = 0

    def run(self, name: str) -> None:
        config = MESSAGES["PodConfig"]()
        config.metadata.name, config.metadata.uid, config.metadata.namespace = name, f"uid-{name}", "default"
        config.linux.cgroup_parent = f"/kubepods/poduid-{name}"
        config.linux.security_context.namespace_options.network = NODE_NETWORK
        request = MESSAGES["RunPodSandboxRequest"](config=config)
        self.pods[name] = cri("RunPodSandbox", request, "PodID").pod_sandbox_id, config

    def create(self, pod: str, name: str, cpus: int = 0) -> str:
        if pod not in self.pods:
            self.run(pod)
        self.attempts += 1
        config = MESSAGES["ContainerConfig"](command=["/bin/busybox", "sleep", "100000"])
        config.metadata.name, config.metadata.attempt, config.image.image = name, self.attempts, IMAGE
        resources = config.linux.resources
        resources.cpu_shares = cpus * 1024 or 2
        if cpus:
            resources.cpu_period, resources.cpu_quota = 100_000, cpus * 100_000
            resources.memory_limit_in_bytes = 256 << 20  # runc itself has to fit in, too
        sandbox, pod_config = self.pods[pod]
        request = MESSAGES["CreateContainerRequest"](
            pod_sandbox_id=sandbox, config=config, sandbox_config=pod_config
        )
        found: str = cri("CreateContainer", request).container_id
        cri("StartContainer", MESSAGES["ContainerID"](container_id=found))
        self.containers[f"{pod}/{name}"] = found
        return found

    def stop(self, full_name: str) -> None:
        found = self.containers.pop(full_name)
        cri("StopContainer", MESSAGES["ContainerID"](container_id=found, timeout=0))
        cri("RemoveContainer", MESSAGES["ContainerID"](container_id=found))

    def sets(self) -> dict[str, list[str]]:
        """Read CPUs and memory nodes of every container from the kernel."""
        found = {}
        for name, container in self.containers.items():
            folder = Path(f"/sys/fs/cgroup/kubepods/poduid-{name.split('/')[0]}") / container
            found[name] = [
                (folder / f"cpuset.{kind}.effective").read_text().strip() for kind in ("cpus", "mems")
            ]
        return found


@contextmanager
def plugin(name: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    with (OUT / f"plugin-{name}.log").open("ab") as log:
        command = [sys.executable, "-m", "cpuctl", "nri", "run", *words]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait()


def logged(name: str, text: str, times: int = 1) -> bool:
    log = OUT / f"plugin-{name}.log"
    return wait_until(lambda: log.exists() and log.read_text().count(text) >= times)


class Scenarios:
    """The scenarios in order, on one node; each returns its facts."""

    def __init__(self) -> None:
        self.runtime, self.pods = Containerd(), Pods()
        self.facts: dict[str, Any] = {}

    def note(self, name: str) -> None:
        """Record the sets once they are stable: containers that missed the answer are set later."""
        for _ in range(20):
            self.facts[name] = self.pods.sets()
            time.sleep(2)
            if self.pods.sets() == self.facts[name]:
                return

    def by_plan(self) -> None:
        pods = self.pods
        pods.create("early", "main")
        self.note("before")
        with plugin("plan", *PLAN) as process:
            assert logged("plan", "synchronizing"), "not synchronized"
            pods.create("a", "a", 4)
            pods.create("b", "b")
            self.note("created")
            pods.create("c", "c", 2)
            self.note("pool shrunk")
            pods.stop("c/c")
            self.note("stopped")
            process.kill()
            process.wait()
        pods.create("late", "main")
        self.note("killed")

    def by_the_same_plan_again(self) -> None:
        with plugin("plan", *PLAN) as process:
            assert logged("plan", "synchronizing", 2), "not synchronized again"
            self.until_shared("late/main", "started again")
            self.runtime.stop()
            self.runtime.start()
            assert logged("plan", "synchronizing", 3), "not synchronized with the new runtime"
            self.pods.create("c", "c", 2)
            self.note("runtime restarted")
            process.send_signal(signal.SIGSTOP)
            self.pods.create("slow", "main")
            self.note("too slow")
            process.send_signal(signal.SIGCONT)
            self.until_shared("slow/main", "put right")
            self.conflict()

    def until_shared(self, name: str, fact: str) -> None:
        """Wait for a container to run in the pool, which is set later; record the facts then."""
        wait_until(lambda: self.pods.sets()[name] == self.pods.sets()["b/b"], 60)
        self.note(fact)

    def until_exclusive(self, name: str, fact: str) -> None:
        """Wait for a container to get its CPUs, late if it missed the answer; record the facts then."""
        wait_until(lambda: not self.on_all(name), 60)
        self.note(fact)

    def on_all(self, name: str) -> bool:
        """Check whether a container may still run on every CPU."""
        return self.pods.sets()[name][0] == Path("/sys/devices/system/cpu/online").read_text().strip()

    def conflict(self) -> None:
        with plugin("rival", "--plan", "/out/rival.json", "--index", "20"):
            assert logged("rival", "synchronizing"), "the rival is not synchronized"
            time.sleep(2)  # it takes part in later scenarios
            self.facts["conflict"] = ""
            try:
                self.pods.create("rivals", "rivals")
            except CpuctlError as error:
                self.facts["conflict"] = str(error)
        wait_until(lambda: self.alone("after"))
        self.note("alone again")

    def alone(self, pod: str) -> bool:
        """Create a container once the runtime knows that the rival has ended."""
        with suppress(CpuctlError):
            self.pods.create(pod, "main")
            return True
        return False

    def by_policy(self) -> None:
        """Give CPUs to running containers, end the plugin, and recognize them again."""
        words = ("--policy", "static", "--kubelet-version", "1.36", "--kubelet-args", "--reserved-cpus=0,8")
        with plugin("policy", *words) as process:
            assert logged("policy", "synchronizing"), "the policy is not synchronized"
            self.pods.create("d", "d", 2)
            self.until_exclusive("d/d", "policy")
            process.kill()
            process.wait()
        self.pods.stop("a/a")
        with plugin("policy", *words):
            assert logged("policy", "synchronizing", 2), "the policy is not synchronized again"
            self.pods.create("e", "e", 4)
            self.until_exclusive("e/e", "policy again")


def plan(file: Path, *more: str) -> None:
    """Plan three pods on this node, and others after them."""
    kubelet = (
        "--kubelet-version",
        "1.36",
        "--kubelet-args",
        "--cpu-manager-policy=static --reserved-cpus=0,8",
    )
    pods = ("-T", "a=4/4,16Mi", "-T", "b=1/2,16Mi", "-T", "c=2/2,16Mi", *more)
    command = [sys.executable, "-m", "cpuctl", "plan", "-q", *kubelet, *pods, "-o", "json"]
    file.write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main() -> None:
    Path("/etc/containerd").mkdir(parents=True, exist_ok=True)
    Path("/etc/containerd/config.toml").write_text(CONFIG)
    for name in ("/etc/hosts", "/etc/resolv.conf"):
        Path(name).touch()
    scenarios = Scenarios()
    try:
        scenarios.runtime.start()
        image = Path("image.tar")
        write_image(image)
        words = ["ctr", "-n", "k8s.io", "images", "import", "--snapshotter", "native", str(image)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        plan(OUT / "plan.json")
        plan(OUT / "rival.json", "-T", "rivals=2/2,16Mi")
        scenarios.by_plan()
        scenarios.by_the_same_plan_again()
        scenarios.by_policy()
    finally:
        (OUT / "facts.json").write_text(json.dumps(scenarios.facts, indent=1))


main()
