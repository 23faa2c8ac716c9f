"""``cpu_manager_state`` as kubelets up to 1.35, and 1.36 by default, write it (format V2).

These files are internals of the kubelet, bound to its version. Layout and checksum: kubernetes
``pkg/kubelet/cm/cpumanager/state``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cpuctl.checkpoints.checksum import fnv1a_32, shown_map
from cpuctl.checkpoints.go_json import Members, go_string
from cpuctl.checkpoints.model import CPUStateFile, UnreadableState
from cpuctl.cpuset import CPUSet

FILE_NAME = "cpu_manager_state"

_CORRUPTED = UnreadableState("checkpoint is corrupted")
_TextEntries = Mapping[str, Mapping[str, str]]


def write_cpu_state(state: CPUStateFile) -> str:
    """Write the file's text, byte for byte as the kubelet does."""
    entries = {
        uid: {name: str(cpus) for name, cpus in containers.items()}
        for uid, containers in state.entries.items()
        if containers
    }
    checksum = _checksum(state.policy_name, str(state.default_cpu_set), entries)
    members = [f'"policyName":{go_string(state.policy_name)}', f'"defaultCpuSet":"{state.default_cpu_set}"']
    if entries:
        members.append(f'"entries":{_object({uid: _texts(inner) for uid, inner in entries.items()})}')
    return "{" + ",".join([*members, f'"checksum":{checksum}']) + "}"


def read_cpu_state(text: str) -> CPUStateFile | UnreadableState:
    """Read a file as a kubelet of 1.36 does, or give the text of its error."""
    try:
        found = json.loads(text, object_pairs_hook=Members)
    except (ValueError, RecursionError) as error:
        return UnreadableState(_syntax_error(text, error))
    if not isinstance(found, Members):
        found = Members(())
    policy, default, entries = (found.field(name) for name in ("policyName", "defaultCpuSet", "entries"))
    if not _is_v2(policy, default, entries):
        return _CORRUPTED
    checksum = found.field("checksum") or 0
    if checksum not in (0, _checksum(policy or "", default or "", entries or {})):
        return _not_v2_either(entries or {})
    return _parsed(policy or "", default or "", entries or {})


def _checksum(policy: str, default: str, entries: _TextEntries) -> int:
    shown = shown_map({uid: shown_map(containers) for uid, containers in entries.items()})
    return fnv1a_32(
        f"(*state.CPUManagerCheckpoint){{PolicyName:(string){policy} DefaultCPUSet:(string){default} "
        f"Entries:(map[string]map[string]string){shown} Checksum:(checksum.Checksum)0}}"
    )


def _object(members: Mapping[str, str]) -> str:
    names = sorted(members, key=lambda name: name.encode("utf-8", "surrogatepass"))
    return "{" + ",".join(f"{go_string(name)}:{members[name]}" for name in names) + "}"


def _texts(members: Mapping[str, str]) -> str:
    return _object({name: go_string(text) for name, text in members.items()})


def _syntax_error(text: str, error: Exception) -> str:
    at_end = isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    )
    return "unexpected end of JSON input" if at_end else f"invalid JSON: {error}"


def _is_v2(policy: object, default: object, entries: Any) -> bool:  # noqa: ANN401  # any JSON value
    return (
        isinstance(policy, str | None)
        and isinstance(default, str | None)
        and isinstance(entries, dict | None)
        and all(
            isinstance(containers, dict) and all(isinstance(cpus, str) for cpus in containers.values())
            for containers in (entries or {}).values()
        )
    )


def _not_v2_either(entries: _TextEntries) -> UnreadableState:
    """Give the error of the kubelet's last attempt, which takes the file for its oldest format."""
    if not entries:
        return _CORRUPTED
    field = f"CPUManagerCheckpointV1.entries.{next(iter(entries))}"
    return UnreadableState(f"json: cannot unmarshal object into Go struct field {field} of type string")


def _parsed(policy: str, default: str, entries: _TextEntries) -> CPUStateFile | UnreadableState:
    try:
        pool = CPUSet.parse(default)
    except ValueError as error:
        return UnreadableState(f'could not parse default cpu set "{default}": {error}')
    assigned: dict[str, dict[str, CPUSet]] = {}
    for uid, containers in entries.items():
        for name, cpus in containers.items():
            try:
                assigned.setdefault(uid, {})[name] = CPUSet.parse(cpus)
            except ValueError as error:
                where = f'for container "{name}" in pod "{uid}"'
                return UnreadableState(f'could not parse cpuset "{cpus}" {where}: {error}')
    return CPUStateFile(policy_name=policy, default_cpu_set=pool, entries=assigned)
