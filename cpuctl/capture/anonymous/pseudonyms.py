"""Names that stand for others: equal names get equal pseudonyms, and nothing leads back from one.

Pseudonyms count up in the order of first use. A digest would keep no secret: names can be guessed. Of control
groups and commands, of which a node is full, the names that every node knows stay.
"""

from __future__ import annotations

import re

from cpuctl.cgroups.container_logs import LogName, log_names
from cpuctl.cgroups.hierarchies import CGROUPS, CONTROLLERS, UNIFIED, is_interface_file
from cpuctl.machine.recording_layout import CONTAINER_LOGS, DOWNWARD_API_VOLUMES, in_downward_api_volume

_HEX = "[0-9a-f]"
_UUID = rf"{_HEX}{{8}}(?P<dash>[-_])" + rf"{_HEX}{{4}}(?P=dash)" * 3 + rf"{_HEX}{{12}}"
_IDENTIFIER = re.compile(
    rf"(?:(?<![0-9a-zA-Z])|(?<=pod))(?:{_UUID}|{_HEX}{{64}}|{_HEX}{{32}})(?![0-9a-zA-Z])"
)
_CONTAINER_ID = re.compile(rf"{_HEX}{{64}}")
_HASH = re.compile(rf"{_HEX}{{32}}")


class Pseudonyms:
    """The pseudonyms of one capture."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}
        self._issued: set[str] = set()

    def name(self, kind: str, name: str) -> str:
        """Return ``kind1``, ``kind2``, ...; nothing stays nothing."""
        return f"{kind}{self._number(kind, name)}" if name else ""

    def pod_uid(self, uid: str) -> str:
        """Return a UID of the same shape: a UUID, with dashes or underscores, or a static pod's hash."""
        number = self._number("pod", uid.replace("_", "-"))
        if _HASH.fullmatch(uid):
            return self._issue(f"{number:032x}")
        text = f"00000000-0000-4000-8000-{number:012x}"
        return self._issue(text.replace("-", "_") if "_" in uid else text)

    def identifier(self, text: str) -> str:
        """Return a container id (64 digits) for one, a pod's UID for everything else."""
        if _CONTAINER_ID.fullmatch(text):
            return self._issue(f"{self._number('container id', text):064x}")
        return self.pod_uid(text)

    def within(self, text: str) -> str:
        """Replace every UID and container id in a longer text, but no pseudonym once more."""
        return _IDENTIFIER.sub(
            lambda found: found[0] if found[0] in self._issued else self.identifier(found[0]), text
        )

    def _number(self, kind: str, name: str) -> int:
        known = self._numbers.setdefault(kind, {})
        return known.setdefault(name, len(known) + 1)

    def _issue(self, pseudonym: str) -> str:
        self._issued.add(pseudonym)
        return pseudonym


_GROUPS = """
besteffort burstable docker init k8s.io kube kubelet kubepods machine podruntime reserved runtime system user
containerd.service cri-docker.service crio.service docker.service init.scope kubelet.service
cpu,cpuacct cpuacct,cpu net_cls,net_prio systemd
"""
_COMMANDS = """
conmon containerd containerd-shim crio cri-dockerd dockerd init irqbalance kube-proxy kubelet pause runc
systemd systemd-journal systemd-logind systemd-udevd tuned
"""
_KNOWN_GROUPS = CONTROLLERS.union({"", "..", UNIFIED}, _GROUPS.split())
_KNOWN_COMMANDS = frozenset(_COMMANDS.split())

_CONTAINER = re.compile(
    r"(?P<before>(cri-containerd-|crio-conmon-|crio-|docker-|libpod-)?)(?P<id>[0-9a-f]{64})(?P<after>(\.scope)?)"
)
_KNOWN_KERNEL_THREADS = re.compile(
    r"(cpuhp|idle_inject|irq|irq_work|ksoftirqd|kworker|migration|rcu[a-z]*|watchdog|backlog_napi)/.*"
    r"|kthreadd|kswapd[0-9]+|kcompactd[0-9]+|khugepaged|khungtaskd|ksmd|kauditd|kdevtmpfs|kintegrityd|kblockd"
    r"|oom_reaper|writeback|watchdogd|pool_workqueue_.*|rcu_[a-z_]+|kthrotld"
)


class AnonymousNames:
    """What names become; well-known ones stay, so that a capture can still be understood."""

    def __init__(self) -> None:
        self.pseudonyms = Pseudonyms()

    def command(self, comm: str, *, kernel: bool) -> str:
        """Replace a thread's name."""
        known = _KNOWN_KERNEL_THREADS.fullmatch(comm) if kernel else comm in _KNOWN_COMMANDS
        return comm if known else self.pseudonyms.name("kthread" if kernel else "command", comm)

    def cgroup(self, path: str) -> str:
        """Replace every component of a control group's path."""
        return "/".join(self._component(name) for name in path.split("/"))

    def file(self, path: str) -> str:
        """Replace what a file's path says beyond the kernel's own names."""
        if path.startswith(f"{CONTAINER_LOGS}/"):
            return self._log(path.removeprefix(f"{CONTAINER_LOGS}/"))
        if in_downward_api_volume(path):
            above, kind, _ = path.partition(DOWNWARD_API_VOLUMES)
            return self.pseudonyms.within(f"{above}{kind}")
        if not path.startswith(f"{CGROUPS}/"):
            return self.pseudonyms.within(path)
        group, slash, name = path.removeprefix(f"{CGROUPS}/").rpartition("/")
        shown = name if is_interface_file(name) else self._component(name)
        return f"{CGROUPS}/{self.cgroup(group)}{slash}{shown}"

    def _log(self, name: str) -> str:
        known = next(log_names([name]), None)
        if known is None:
            return f"{CONTAINER_LOGS}/{self.pseudonyms.name('log', name)}"
        shown = LogName(
            pod=self.pseudonyms.name("podname", known.pod),
            namespace=self.pseudonyms.name("namespace", known.namespace),
            container=self.pseudonyms.name("container", known.container),
            container_id=self.pseudonyms.identifier(known.container_id),
        )
        return f"{CONTAINER_LOGS}/{shown}"

    def _component(self, name: str) -> str:
        if name in _KNOWN_GROUPS:
            return name
        if name.endswith(".slice"):
            # systemd nests slices by the dashes in their names: every piece is a name.
            return "-".join(self._piece(piece) for piece in name.removesuffix(".slice").split("-")) + ".slice"
        if container := _CONTAINER.fullmatch(name):
            return container["before"] + self.pseudonyms.identifier(container["id"]) + container["after"]
        if name.endswith((".scope", ".service")):
            stem, dot, kind = name.rpartition(".")
            return self.pseudonyms.name("unit", stem) + dot + kind
        return self._piece(name)

    def _piece(self, piece: str) -> str:
        if piece in _KNOWN_GROUPS:
            return piece
        if piece.startswith("pod") and len(piece) > len("pod"):
            return "pod" + self.pseudonyms.pod_uid(piece.removeprefix("pod"))
        # Between slices and the kubelet's options, `-` and `_` are exchanged.
        return self.pseudonyms.name("group", piece.replace("-", "_"))
