"""State files without what plugins and drivers have said in them: environments, mounts, opaque data."""

from __future__ import annotations

from cpuctl.errors import InputError

_DEVICES, _CLAIMS = "kubelet_internal_checkpoint", "dra_manager_state"
_UNREADABLE = "it cannot be read, so that what plugins have said in it cannot be left out"


def reduced_state(path: str, text: str) -> str:
    """Leave out what no decision depends on; a checksum that was right is so again, a wrong one stays wrong.

    Raise ValueError for a file that may hold such things and cannot be read.
    """
    name = path.rpartition("/")[2]
    if name not in (_DEVICES, _CLAIMS):
        return text
    try:
        return _of_devices(text) if name == _DEVICES else _of_claims(text)
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

    if inspect_state(text, _CLAIMS).format == "V4":
        return text  # From 1.31 on it names claims and devices only.
    loaded = decoded_text(V1_30.struct, text)
    if loaded.error or not is_understood(loaded.document):
        raise ValueError(_UNREADABLE)
    form = old_form(loaded.document)
    for entry in loaded.document["entries"] or ():
        for handle in entry["ResourceHandles"] or ():
            handle["data"] = ""
    written = (form or V1_30).summed(loaded.document)
    return (form or V1_30).struct.written(written | {"checksum": written["checksum"] ^ (form is None)})
