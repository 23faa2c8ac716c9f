"""The kubelet's configuration and state reduced to what cannot be a secret.

Data of plugins and drivers is left out of state files: environments, mounts, opaque data.
"""

from __future__ import annotations

import json
from typing import Any

from cpuctl.documents.document import Syntax, Value
from cpuctl.documents.text_errors import BrokenTextError
from cpuctl.errors import InputError
from cpuctl.kubelet.configuration.type_meta import KIND, NoObjectError, read_config_object
from cpuctl.machine.recording_layout import CDI_KIND, CDI_VARIABLE
from cpuctl.state_names import CLAIMS_FILE, DEVICES_FILE

_SHORTEST_EXPONENT = 1e21
"""From this value on, Go writes a float with an exponent."""

# A separate list: that cpuctl learns to read a field does not make the field harmless.
_HARMLESS = """
apiVersion kind
cgroupDriver cgroupRoot cgroupsPerQOS containerRuntimeEndpoint cpuCFSQuota cpuCFSQuotaPeriod
cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod enforceNodeAllocatable
evictionHard evictionMinimumReclaim evictionPressureTransitionPeriod evictionSoft evictionSoftGracePeriod
failCgroupV1 failSwapOn featureGates kubeReserved kubeReservedCgroup kubeletCgroups maxPods
memoryManagerPolicy memoryReservationPolicy memorySwap memoryThrottlingFactor mergeDefaultEvictionSettings
nodeStatusUpdateFrequency oomScoreAdj podPidsLimit podsPerCore port qosReserved readOnlyPort
reservedMemory reservedSystemCPUs singleProcessOOMKill staticPodPath systemCgroups systemReserved
systemReservedCgroup topologyManagerPolicy topologyManagerPolicyOptions topologyManagerScope
"""

# In drop-in files the kubelet accepts field names in any case.
_KEPT = frozenset(_HARMLESS.lower().split())


def reduced_configuration(text: str, *, strict: bool = False) -> str:
    """Keep the fields that resource managers depend on, as JSON (which is also YAML, and unambiguous).

    Raise ValueError for text that is not a KubeletConfiguration and, if *strict*, for one that repeats a key,
    which a kubelet does not accept in a drop-in. The error never contains any of that text.
    """
    try:
        found, type_meta = read_config_object(text, "")
    except NoObjectError as none:
        broken = isinstance(none.error, BrokenTextError)
        raise ValueError("it is not YAML or JSON" if broken else f"it is not a {KIND}") from None
    except InputError:
        raise ValueError("it is not YAML or JSON") from None
    document = found.document
    if type_meta.kind != KIND or not isinstance(document.value, dict):
        raise ValueError(f"it is not a {KIND}")
    if strict and document.repeats:
        raise ValueError("it has a duplicate key")
    kept = {name: field for name, field in document.value.items() if name.lower() in _KEPT}
    written = kept if document.syntax is Syntax.JSON else _as_converted(kept)
    return json.dumps(written, indent=2) + "\n"


def _as_converted(value: Value) -> Value:
    """Write numbers as Kubernetes does when it converts YAML: in JSON, 110.0 would not be an integer."""
    match value:
        case dict():
            return {name: _as_converted(member) for name, member in value.items()}
        case list():
            return [_as_converted(item) for item in value]
        case float() if value.is_integer() and abs(value) < _SHORTEST_EXPONENT:
            return int(value)
        case _:
            return value


_UNREADABLE = "it cannot be parsed, so plugin data in it cannot be removed"


def reduced_state(path: str, text: str) -> str:
    """Leave out what no decision depends on; a correct checksum is recomputed, a wrong one stays wrong.

    Raise ValueError for a file that may contain such data and cannot be parsed.
    """
    name = path.rpartition("/")[2]
    if name not in (DEVICES_FILE, CLAIMS_FILE):
        return text
    try:
        return _of_devices(text) if name == DEVICES_FILE else _of_claims(text)
    except InputError:
        raise ValueError(_UNREADABLE) from None


def _of_devices(text: str) -> str:
    from cpuctl.checkpoints.device_state import format_of
    from cpuctl.golang.json_values import parsed_json
    from cpuctl.golang.text import GoError

    try:
        found = parsed_json(text)
    except GoError:
        raise ValueError(_UNREADABLE) from None
    form = format_of(found)
    document, complaint = form.decoded(found)
    if complaint:
        raise ValueError(_UNREADABLE)
    wrong = not form.checked(document).ok
    for entry in document["Data"]["PodDeviceEntries"] or ():
        entry["AllocResp"] = None
    right = form.checked(document).right
    return form.struct.written(document | {"Checksum": right ^ wrong})


def _of_claims(text: str) -> str:
    from cpuctl.checkpoints.claim_state import V1_30, is_understood, old_form
    from cpuctl.checkpoints.formats import decoded_text
    from cpuctl.checkpoints.inspection import inspect_state

    if inspect_state(text, CLAIMS_FILE).format == "V4":
        return text  # from 1.31 on it contains only claims and devices
    loaded = decoded_text(V1_30.struct, text)
    if loaded.error or not is_understood(loaded.document):
        raise ValueError(_UNREADABLE)
    form = old_form(loaded.document)
    for entry in loaded.document["entries"] or ():
        for handle in entry["ResourceHandles"] or ():
            handle["data"] = ""
    written = (form or V1_30).summed(loaded.document)
    return (form or V1_30).struct.written(written | {"checksum": written["checksum"] ^ (form is None)})


def reduced_cdi(text: str) -> str:
    """Reduce a CDI specification to what the DRA driver for CPUs writes: the CPUs of claims, by UID.

    Raise ValueError for text that is not a CDI specification.
    """
    try:
        found = json.loads(text) if text.strip() else {"kind": CDI_KIND}
        reduced = {"kind": str(found["kind"]), "devices": list(map(_cdi_device, found.get("devices") or ()))}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("it is not a CDI specification") from None
    return json.dumps(reduced, indent=2) + "\n"


def _cdi_device(device: Any) -> dict[str, Any]:  # noqa: ANN401  # any JSON
    variables = device["containerEdits"].get("env") or ()
    kept = [each for each in variables if isinstance(each, str) and each.startswith(CDI_VARIABLE)]
    return {"name": str(device["name"]), "containerEdits": {"env": kept}}
