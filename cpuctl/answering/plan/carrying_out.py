"""Other ways to carry out a plan, written as input of other programs; nothing is run or changed.

Sources: ``cmd/plugins/memory-qos`` and ``docs/resource-policy/policy/balloons.md`` of containers/nri-plugins
0705acc8, ``crictl`` of kubernetes-sigs/cri-tools, *systemd.resource-control(5)*, *systemd.unit(5)*. Each text
begins with the limitations of its way. Names come from manifests: they are quoted as the output format
requires.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import CPUSet, union
from cpuctl.pods.identity import is_made_up

if TYPE_CHECKING:
    from cpuctl.answers.nri import NRICPU, NRIMatch, NRIPlan
    from cpuctl.answers.plan import StartedPlan

_LONGEST_NAME = 63
"""The maximum length of an annotation key's part after its slash, and of a label's value."""
_UID = re.compile(r"[0-9A-Za-z-]{1,128}", re.ASCII)
_QOS_SUFFIX = "memory-qos.nri.io"
_BALLOON_KEY = "balloon.balloons.resource-policy.nri.io"


class Carried(NamedTuple):
    """A container with its planned CPUs and memory; ``own`` CPUs are exclusive, ``runs`` if already running.

    ``uid`` is its pod's, empty if the pod is not created yet. If the pod's name is unknown, there is no
    ``namespace``, and ``pod`` is the UID as well.
    """

    namespace: str
    pod: str
    name: str
    cpus: str
    mems: str
    own: bool
    runs: bool
    uid: str = ""

    @property
    def full_name(self) -> str:
        """``namespace/pod/name`` in quotes, always on one line."""
        return json.dumps("/".join(filter(None, (self.namespace, self.pod, self.name))))


def carried(answers: NRIPlan, plan: StartedPlan) -> list[Carried]:
    """Return all containers as of the end of a plan: those that share CPUs get the rest."""
    sets: dict[tuple[str, str, str], tuple[str, str, bool]] = {}
    for answer in answers["answers"]:
        cpu: NRICPU = answer["adjust"]["linux"]["resources"]["cpu"] if "linux" in answer["adjust"] else {}
        sets[_key(answer["match"])] = cpu.get("cpus", ""), cpu.get("mems", ""), False
        for update in answer["update"]:
            key = _key(update["match"])
            _, mems, runs = sets.get(key, ("", "", True))
            sets[key] = update["linux"]["resources"]["cpu"].get("cpus", ""), mems, runs
    own: set[tuple[str, str, str]] = set()
    uids: dict[tuple[str, str], str] = {}
    for pod in plan["pods"]:
        namespace, name, uid = pod["namespace"], pod["name"], pod["uid"]
        own |= {(namespace, name, each["name"]) for each in pod["containers"] if each["exclusive"]}
        if not is_made_up(uid, f"{namespace}/{name}"):
            uids[namespace, name] = uid
    return [
        Carried(*key, cpus=cpus, mems=mems, own=key in own, runs=runs, uid=_uid_of(key, uids))
        for key, (cpus, mems, runs) in sets.items()
        if cpus or mems
    ]


def _key(match: NRIMatch) -> tuple[str, str, str]:
    return match["namespace"], match.get("uid") or match["pod"], match["container"]


def _uid_of(key: tuple[str, str, str], uids: Mapping[tuple[str, str], str]) -> str:
    namespace, pod, _ = key
    return uids.get((namespace, pod), "") if namespace else pod


def _comment(*paragraphs: str) -> str:
    """Write paragraphs, each on its own lines."""
    wrapped = (wrap(each, 98, break_long_words=False, break_on_hyphens=False) for each in paragraphs)
    return "".join(f"# {line}\n" for lines in wrapped for line in lines)


def _yaml(*documents: Mapping[str, object]) -> str:
    import yaml

    return yaml.safe_dump_all(documents, sort_keys=False, width=110, explicit_start=True)


def _annotated(annotations: Mapping[tuple[str, str], Mapping[str, str]]) -> Iterator[Mapping[str, object]]:
    """Write the part to add to every pod's manifest."""
    for (namespace, name), found in annotations.items():
        metadata = {"name": name, "namespace": namespace, "annotations": dict(found)}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def memory_qos(containers: Sequence[Carried], plan: StartedPlan) -> str:  # noqa: ARG001  # a common signature
    """Write annotations for the plugin memory-qos, which writes values into a container's cgroup."""
    new = [each for each in containers if not each.runs]
    annotations: dict[tuple[str, str], dict[str, str]] = {}
    for each in new:
        found = annotations.setdefault((each.namespace, each.pod), {})
        for file, value in (("cpuset.cpus", each.cpus), ("cpuset.mems", each.mems)):
            if value:
                found[f"{file}.{_QOS_SUFFIX}/{each.name}"] = value
    header = _comment(
        "Annotations for the NRI plugin memory-qos, to be added to the manifests (of workloads, to the "
        "template's metadata) before pods are created. Its configuration must list the files, otherwise "
        "every container with such an annotation fails to be created:",
        "unifiedannotations: [cpuset.cpus, cpuset.mems]",
        "Limits: cgroup v2 only; applied at creation only, so shared containers get what is left once all "
        "of these run; the same CPU numbers are used on whichever node the pod is scheduled to.",
        *(f"Already running, so it cannot be changed: {each.full_name}" for each in containers if each.runs),
    )
    return header + (_yaml(*_annotated(annotations)) if annotations else "")


def balloons(containers: Sequence[Carried], plan: StartedPlan) -> str:
    """Write a BalloonsPolicy with a balloon for every container with exclusive CPUs, close to those CPUs."""
    own = [each for each in containers if each.own and not each.runs]
    fits = [each for each in own if len(f"container.{each.name}") <= _LONGEST_NAME]
    annotations: dict[tuple[str, str], dict[str, str]] = {}
    types: list[dict[str, object]] = []
    for number, each in enumerate(fits, 1):
        cpus, kind = CPUSet.parse(each.cpus), f"planned-{number}"
        found = annotations.setdefault((each.namespace, each.pod), {})
        found[f"{_BALLOON_KEY}/container.{each.name}"] = kind
        size = len(cpus)
        bounds = {"minCPUs": size, "maxCPUs": size, "minBalloons": 1, "maxBalloons": 1}
        close = [f"/sys/devices/system/cpu/cpu{cpu}/cache/index2" for cpu in cpus]
        types.append({"name": kind, **bounds, "preferCloseToDevices": close})
    reserved = _reserved(plan)
    spec: dict[str, object] = {
        "reservedResources": {"cpu": f"cpuset:{reserved}" if reserved else "1"},
        "pinCPU": True,
        "pinMemory": any(each.mems for each in fits),
        "balloonTypes": types,
    }
    metadata = {"name": "default", "namespace": "kube-system"}
    policy = {
        "apiVersion": "config.nri/v1alpha1",
        "kind": "BalloonsPolicy",
        "metadata": metadata,
        "spec": spec,
    }
    header = _comment(
        "A BalloonsPolicy for the NRI plugin balloons, and the annotations that send containers into their "
        "balloons, to be added to the manifests before pods are created. For a single node, name "
        "it node.NAME instead of default.",
        "Limits: the policy guides placement, but cannot assign specific CPUs. Each balloon has the planned "
        "size and is placed close to the planned CPUs (preferCloseToDevices) if the policy finds these free. "
        "Shared containers get the CPUs of the default balloon, not the planned shared pool.",
        *(f"Name too long for an annotation, skipped: {each.full_name}" for each in own if each not in fits),
        *(
            f"planned-{number} stands for {each.cpus}: {each.full_name}"
            for number, each in enumerate(fits, 1)
        ),
    )
    return header + _yaml(policy, *_annotated(annotations))


def crictl(containers: Sequence[Carried], plan: StartedPlan) -> str:  # noqa: ARG001
    """Write a shell script that moves running containers: first those that give up CPUs."""
    header = "#!/bin/sh\n" + _comment(
        "Moves containers to their planned CPUs once they run on this node: shared ones first, so that "
        "the CPUs of the others are free by then.",
        "Limits: takes effect only after containers have started; a kubelet with the static policy writes "
        "its own sets again in its next reconcile pass, and a restarted container loses the planned CPUs.",
    )
    lines = [header, "set -eu\n", _CRICTL]
    for each in sorted(containers, key=lambda each: each.own):
        fields = (each.namespace, each.pod, each.name, each.cpus, each.mems)
        lines.append(f"move {' '.join(_shell_word(word) for word in fields)}\n")
    return "".join(lines)


_CRICTL = """\
# move NAMESPACE POD CONTAINER CPUS MEMORY-NODES; without a namespace, POD is a UID
move() {
    pod=name
    [ -n "$1" ] || pod=uid
    ids=$(crictl ps --quiet --state running \\
        ${1:+--label "io.kubernetes.pod.namespace=$1"} --label "io.kubernetes.pod.$pod=$2" \\
        --label "io.kubernetes.container.name=$3")
    if [ -z "$ids" ]; then
        printf '%s\\n' "not running: ${1:+$1/}$2/$3" >&2
        return 0
    fi
    for id in $ids; do
        crictl update ${4:+--cpuset-cpus "$4"} ${5:+--cpuset-mems "$5"} "$id"
    done
}
"""


def _reserved(plan: StartedPlan) -> str:
    """Return the reserved CPUs, which exist only under the static policy."""
    return plan["node"].get("reservedCPUs", "")


def _shell_word(text: str) -> str:
    """Quote a word so that a shell takes it literally."""
    return "'" + text.replace("'", "'\\''") + "'"


def systemd(containers: Sequence[Carried], plan: StartedPlan) -> str:
    """Write drop-ins for the host's slices and the pods' own, concatenated as by ``systemctl cat``."""
    own = union(CPUSet.parse(each.cpus) for each in containers if each.own)
    everyone = CPUSet.parse(plan["after"]["sharedPool"]) | CPUSet.parse(_reserved(plan))
    parts = [
        _comment(
            "Drop-ins for systemd: write each to its path, then run systemctl daemon-reload.",
            "Limits: cgroup v2 only. Slices of the host are kept off planned CPUs; kernel threads and "
            "interrupts are not. A pod's slice limits its containers as a group, not individually; it is "
            "named after the pod's UID, which exists once the pod is created and changes when it is "
            "recreated. The kubelet must use the systemd cgroup driver.",
        )
    ]
    if own and (host := everyone - own):
        parts += [_drop_in(unit, str(host)) for unit in ("init.scope", "system.slice", "user.slice")]
    for pod in {(each.namespace, each.pod): each for each in containers if each.own}.values():
        mine = [each for each in containers if (each.namespace, each.pod) == (pod.namespace, pod.pod)]
        name = json.dumps(f"{pod.namespace}/{pod.pod}")
        if not _UID.fullmatch(pod.uid):
            parts.append(_comment(f"No UID yet, so its slice has no name: {name}"))
            continue
        slice_name = f"kubepods-pod{pod.uid.replace('-', '_')}.slice"
        cpus = str(union(CPUSet.parse(each.cpus) for each in mine))
        mems = str(union(CPUSet.parse(each.mems) for each in mine)) if all(each.mems for each in mine) else ""
        parts.append(_drop_in(slice_name, cpus, mems, note=f"The slice of {name}"))
    return "\n".join(parts)


def _drop_in(unit: str, cpus: str, mems: str = "", note: str = "") -> str:
    kind = "Scope" if unit.endswith(".scope") else "Slice"
    memory = f"AllowedMemoryNodes={mems}\n" if mems else ""
    header = _comment(f"/etc/systemd/system/{unit}.d/50-cpuctl.conf", *([note] if note else []))
    return f"{header}[{kind}]\nAllowedCPUs={cpus}\n{memory}"


WAYS: Mapping[str, Callable[[Sequence[Carried], StartedPlan], str]] = {
    "memory-qos": memory_qos,
    "balloons": balloons,
    "crictl": crictl,
    "systemd": systemd,
}
"""By output format."""
