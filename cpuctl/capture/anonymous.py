"""A capture that can be shared: names and IDs replaced, everything that CPU decisions depend on kept.

Equal names get equal pseudonyms, which count up in the order of first use, so that nothing leads back to the
original: a digest would not protect names, since they can be guessed. Cgroup and command names that every
node has are kept. Checksums of state files cover the names, so they become 0, which readers of the older
formats treat as "not checked".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cpuctl.capture.collected import Area, Collected, Content, KubeletFacts, Process, Unreadable
from cpuctl.capture.kubelet.files import AREA as KUBELET_AREA
from cpuctl.capture.kubelet.files import VOLUMES_AREA
from cpuctl.capture.node.cpu_settings import CpuSetting, setting_lines
from cpuctl.cgroups.container_logs import LogName, log_names
from cpuctl.cgroups.hierarchies import CGROUPS, CONTROLLERS, UNIFIED, is_interface_file
from cpuctl.machine.recording_layout import (
    CDI_FILE,
    CONFIG,
    CONTAINER_LOGS,
    CPU_SETTINGS,
    DOWNWARD_API_VOLUMES,
    DROP_INS,
    STATE_DIRECTORY,
    STATE_FILES,
    in_downward_api_volume,
)

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
        """Return ``kind1``, ``kind2``, ...; an empty name stays empty."""
        return f"{kind}{self._number(kind, name)}" if name else ""

    def pod_uid(self, uid: str) -> str:
        """Return a UID of the same shape: a UUID, with dashes or underscores, or a static pod's hash."""
        number = self._number("pod", uid.replace("_", "-"))
        if _HASH.fullmatch(uid):
            return self._issue(f"{number:032x}")
        text = f"00000000-0000-4000-8000-{number:012x}"
        return self._issue(text.replace("-", "_") if "_" in uid else text)

    def identifier(self, text: str) -> str:
        """Return a container ID (64 digits) for a container ID, a pod's UID for everything else."""
        if _CONTAINER_ID.fullmatch(text):
            return self._issue(f"{self._number('container id', text):064x}")
        return self.pod_uid(text)

    def within(self, text: str) -> str:
        """Replace every UID and container id in a longer text, but never replace a pseudonym."""
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
cgrulesengd crane-agent cpusetter dracpu katalyst-agent koordlet nri-resource-po numad
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
    """The replacements of names; well-known names are kept, so that a capture can still be understood."""

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
        """Replace the parts of a file's path that are not the kernel's own names."""
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
        # Slice names have `_` where the kubelet's options have `-`.
        return self.pseudonyms.name("group", piece.replace("-", "_"))


_BY_CONTAINER = frozenset({"entries", "baselines", "originals", "allocationentries"})
_BY_POD = frozenset({"podentries", "resizestatusentries", "poduids"})
_IDENTIFIERS = frozenset({"poduid", "claimuid", "shareid"})
_NAMES = {
    "containername": "container",
    "claimname": "claim",
    "namespace": "namespace",
    "poolname": "pool",
    "devicename": "device",
    "deviceids": "device",
    "cdideviceids": "device",
    "cdidevices": "device",
    "registereddevices": "device",
    "requestnames": "request",
}
"""What a member's value names: one name, a list of names, or a mapping to them."""
_SECRETS = frozenset({"allocresp", "resourcehandles"})
"""Data of plugins and drivers: its content is unknown, and no decision depends on it."""
_CONTAINERS = "ContainerResources"
_NESTED_TEXT = "data"
_CHECKSUM = "checksum"
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
"""Only strings contain identifiers: a number may have as many digits as a static pod's UID."""


def anonymous_state(text: str, pseudonyms: Pseudonyms) -> str:
    """Replace pod UIDs, container ids and container names.

    Raise ValueError if the text is not JSON, because its names cannot be found then.
    """
    try:
        value = _replaced(json.loads(text), pseudonyms)
    except (ValueError, RecursionError):
        raise ValueError("the file is not JSON, so names in it cannot be replaced") from None
    return _JSON_STRING.sub(lambda found: pseudonyms.within(found[0]), _written(value))


def _written(value: Any) -> str:  # noqa: ANN401  # any JSON
    return json.dumps(value, separators=(",", ":"))


def _replaced(value: Any, pseudonyms: Pseudonyms) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_replaced(each, pseudonyms) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _member(key, member, pseudonyms) for key, member in value.items()}


def _member(key: str, value: Any, pseudonyms: Pseudonyms) -> Any:  # noqa: ANN401
    # Go reads the names of members in any case.
    name = key.lower()
    if name == _CHECKSUM:
        return 0
    if name in _SECRETS:
        return None
    if name in _IDENTIFIERS and isinstance(value, str):
        return pseudonyms.identifier(value)
    if name in _NAMES:
        return _named(value, _NAMES[name], pseudonyms)
    if name == _NESTED_TEXT and isinstance(value, str):
        return anonymous_state(value, pseudonyms) if value else value
    if isinstance(value, dict) and name in _BY_CONTAINER | _BY_POD:
        inner = _containers if name in _BY_CONTAINER else _unchanged
        return _renamed(value, pseudonyms.identifier, lambda pod: inner(pod, pseudonyms))
    return _replaced(value, pseudonyms)


def _named(value: Any, kind: str, pseudonyms: Pseudonyms) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {key: _named(each, kind, pseudonyms) for key, each in value.items()}
    if isinstance(value, list):
        return [_named(each, kind, pseudonyms) for each in value]
    return pseudonyms.name(kind, value) if isinstance(value, str) else value


def _containers(value: Any, pseudonyms: Pseudonyms) -> Any:  # noqa: ANN401
    if not isinstance(value, dict):
        return value
    if _CONTAINERS in value:
        return {**value, _CONTAINERS: _containers(value[_CONTAINERS], pseudonyms)}
    return _renamed(value, lambda name: pseudonyms.name("container", name), lambda inside: inside)


def _unchanged(value: Any, _pseudonyms: Pseudonyms) -> Any:  # noqa: ANN401
    return value


def _renamed(
    members: Mapping[str, Any], rename: Callable[[str], str], inner: Callable[[Any], Any]
) -> dict[str, Any]:
    """Rename members; they are sorted by name, as Go writes them."""
    return dict(sorted((rename(name), inner(value)) for name, value in sorted(members.items())))


_STATES = frozenset(f"{STATE_DIRECTORY}/{path}" for path in STATE_FILES.values())
_GROUP_FIELDS = (
    "cgroupRoot",
    "kubeletCgroups",
    "systemCgroups",
    "kubeReservedCgroup",
    "systemReservedCgroup",
)
_GROUP_FLAGS = (
    "cgroup-root",
    "kube-reserved-cgroup",
    "kubelet-cgroups",
    "system-cgroups",
    "system-reserved-cgroup",
)


def anonymized(collected: Collected) -> Collected:
    """Replace host names, pod UIDs, container ids and names, cgroup and command names."""
    names = AnonymousNames()
    members: dict[str, Content] = {}
    refused: list[Unreadable] = []
    for path, content in sorted(collected.members.items()):
        if in_downward_api_volume(path):
            continue  # its path consists of names
        try:
            members[names.file(path)] = _content(path, content, names)
        except ValueError as error:
            refused.append(Unreadable(path, str(error)))
    return collected._replace(
        members=members,
        processes=tuple(_process(process, names) for process in collected.processes),
        kubelet=_kubelet(collected.kubelet, names),
        areas=tuple(_without(area, len(refused)) for area in collected.areas),
        unreadable=tuple(_unreadable((*collected.unreadable, *refused), names)),
        anonymized=True,
    )


def _without(area: Area, refused: int) -> Area:
    """Correct the counts: some state files may turn out to be unusable, and volumes are left out."""
    if area.name == VOLUMES_AREA and area.entries:
        return area._replace(
            entries=0, notes=("volume files are left out because their names may be confidential",)
        )
    if area.name != KUBELET_AREA or not refused:
        return area
    counts = {**area.counts, "stateFiles": area.counts["stateFiles"] - refused}
    return area._replace(entries=area.entries - refused, counts=counts)


def _content(path: str, content: Content, names: AnonymousNames) -> Content:
    if path == CDI_FILE and isinstance(content, str):
        return names.pseudonyms.within(content)
    if path in _STATES and isinstance(content, str):
        return anonymous_state(content, names.pseudonyms)
    if path == CPU_SETTINGS and isinstance(content, str):
        return _settings(content, names)
    if isinstance(content, str) and (path == CONFIG or path.startswith(f"{DROP_INS}/")):
        return _configuration(content, names)
    return content


def _settings(text: str, names: AnonymousNames) -> str:
    """Replace unit names, and leave out file names chosen by users."""
    found = (CpuSetting(**json.loads(line)) for line in text.splitlines())
    return setting_lines(
        tuple(
            each._replace(
                unit=names.cgroup(each.unit),
                file=each.file if each.file.endswith("/systemd/system.conf") else "",
            )
            for each in found
        )
    )


def _configuration(text: str, names: AnonymousNames) -> str:
    fields: Mapping[str, object] = json.loads(text)
    groups = {name.lower() for name in _GROUP_FIELDS}
    shown = {
        name: names.cgroup(value) if name.lower() in groups and isinstance(value, str) else value
        for name, value in fields.items()
    }
    return json.dumps(shown, indent=2) + "\n"


def _process(process: Process, names: AnonymousNames) -> Process:
    threads = tuple(
        thread._replace(comm=names.command(thread.comm, kernel=process.kernel)) for thread in process.threads
    )
    return process._replace(cgroup=names.cgroup(process.cgroup), threads=threads)


def _kubelet(facts: KubeletFacts, names: AnonymousNames) -> KubeletFacts:
    return facts._replace(flags=_flags(facts.flags, names), unit_flags=_flags(facts.unit_flags, names))


def _flags(flags: tuple[str, ...] | None, names: AnonymousNames) -> tuple[str, ...] | None:
    return None if flags is None else tuple(_flag(flag, names) for flag in flags)


def _flag(flag: str, names: AnonymousNames) -> str:
    name, _, value = flag.removeprefix("--").partition("=")
    if name == "hostname-override":
        return f"--{name}={names.pseudonyms.name('node', value)}"
    return f"--{name}={names.cgroup(value)}" if name in _GROUP_FLAGS else flag


def _unreadable(found: Iterable[Unreadable], names: AnonymousNames) -> Iterable[Unreadable]:
    return (Unreadable(names.file(each.path), each.reason) for each in found)
