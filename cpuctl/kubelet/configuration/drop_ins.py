"""How drop-in files are merged into a kubelet's configuration.

Rule: ``mergeKubeletConfigurations`` in ``cmd/kubelet/app/server.go``, 1.36. Nothing is checked against the
configuration's types before all files are merged.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Document, Syntax
from cpuctl.documents.loading import EMPTY
from cpuctl.documents.paths import Path
from cpuctl.errors import InputError
from cpuctl.kubelet.configuration.decoded import folded
from cpuctl.kubelet.configuration.drop_in_files import WALK, DropInSource, merge_refused
from cpuctl.kubelet.configuration.go_json import Mistake, Walk, first_mistake, match_field
from cpuctl.kubelet.configuration.head import API_VERSION, KIND, Head, NoObjectError, read_config_object
from cpuctl.kubelet.configuration.layer import Layer
from cpuctl.kubelet.configuration.main_file import empty
from cpuctl.kubelet.configuration.mistakes import explained
from cpuctl.kubelet.configuration.nearest import MOST_TOLD
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.remarks import ConfigWarning, unknown_fields
from cpuctl.kubelet.configuration.schema import FIELD_TYPES, ROOT_TYPE, structs_of
from cpuctl.kubelet.configuration.settings import (
    OriginKind,
    Setting,
    Settings,
    merge_patch,
    plain,
    settings_of,
)
from cpuctl.kubelet.golang import quoted

_MERGE_DEFAULTS = "mergeDefaultEvictionSettings"


def merge_drop_ins(base: Settings, source: DropInSource, minor: int) -> Layer:
    """Apply every drop-in file of *source* to a configuration that was written out (``reserialised``).

    Raise ConfigRefusedError in the kubelet's words where they are known, else InputError or NodeAccessError.
    """
    patches = [(path, _read(path, content, source.name)) for path, content in source.files()]
    merged = Setting(base)
    for _, patch in patches:
        merged = merge_patch(merged, Setting(patch))
    if mistake := first_mistake(plain(merged), ROOT_TYPE, Walk(structs=structs_of(minor), any_case=True)):
        raise _mistyped(mistake, merged)
    settings, _ = unknown_fields(folded(merged.members or {}), minor)
    warnings = [warning for _, patch in patches for warning in _warnings(patch, settings, minor)]
    warnings += [_left_out(path, why) for path, why in islice(source.left_out(), MOST_TOLD)]
    return Layer(settings, tuple(warnings), tuple(path for path, _ in patches))


def _read(path: str, content: bytes, directory: str) -> Settings:
    """Read one drop-in: what it sets, its head left out."""
    failed = f'{WALK} "{directory}": failed to load kubelet dropin file, path: {path},'
    if not content:
        raise merge_refused(InputError(EMPTY, where=path), f"{failed} error: {empty(path)}")
    try:
        found, head = read_config_object(content, path)
    except NoObjectError as none:
        raise merge_refused(none.error, f"{failed} error: {none.text}") from None
    document = found.document
    if document.repeats:
        raise _repeated(document, failed)
    _check_head(document, head, failed)
    members = settings_of(document, OriginKind.DROP_IN).members or {}
    return {name: setting for name, setting in members.items() if name not in ("apiVersion", "kind")}


def _check_head(document: Document, head: Head, failed: str) -> None:
    kind, version = head.kind, head.api_version
    if (kind, version) == (KIND, API_VERSION):
        return
    group_version = version if "/" in version else f"/{version}"
    what = f"expected a {KIND} of {API_VERSION}, found {kind} of {version or 'no version'}"
    other = Cursor.at_root(document).error(what)
    raise merge_refused(other, f"{failed} unknown apiVersion/kind: {group_version}, Kind={kind}")


def _repeated(document: Document, failed: str) -> ConfigRefusedError:
    """Say what strict decoding finds: YAML's reader counts lines, JSON's names paths."""
    first = min(document.repeats, key=lambda repeat: repeat.place)
    where = f"{document.source}:{first.place.line}"
    error = InputError(f'the key "{first.path[-1]}" is given twice', where=where)
    if document.syntax is Syntax.YAML:
        lines = [
            f"  line {each.value_place.line}: key {quoted(str(each.path[-1]))} already set in map"
            for each in document.repeats
        ]
        text = "\n".join(["yaml: unmarshal errors:", *lines])
    else:
        paths = [_go_path(each.path) for each in sorted(document.repeats, key=lambda each: each.place)]
        text = ", ".join(f"duplicate field {quoted(path)}" for path in dict.fromkeys(paths))
    return merge_refused(error, f"{failed} error: strict decoding error: {text}")


def _go_path(path: Path) -> str:
    """Write a path as ``kubeReserved.cpu`` or ``reservedMemory[0].limits``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _mistyped(mistake: Mistake, merged: Setting) -> ConfigRefusedError:
    """Blame the file whose value has the wrong type."""
    at, path = merged, list(mistake.path)
    while path and (members := at.members) is not None:
        at = members[str(path.pop(0))]
    origin = at.origin
    assert origin.document is not None  # the rest of the tree was read before, and has the right types
    error = explained(mistake, origin.document, (*origin.path, *path))
    prefix = "failed to unmarshal merged JSON into kubelet configuration: "
    return merge_refused(error, prefix + mistake.text)


def _warnings(patch: Settings, merged: Settings, minor: int) -> Iterator[ConfigWarning]:
    """Tell what a drop-in sets in vain; the kubelet itself is silent about it."""
    matched: Settings = {}
    for name, setting in patch.items():
        field = match_field(name, FIELD_TYPES, any_case=True) or name
        matched[field] = setting
        if field != name:
            yield _other_case(name, field, setting, merged.get(field))
    yield from unknown_fields(matched, minor)[1]
    if merges := patch.get(_MERGE_DEFAULTS):
        why = "has no effect in a drop-in: only the main file merges defaults"
        yield ConfigWarning("no-effect", merges.origin.place, why, setting=_MERGE_DEFAULTS)


def _left_out(path: str, why: str) -> ConfigWarning:
    return ConfigWarning("drop-in-left-out", path, f"is not read: {why}")


def _other_case(name: str, field: str, setting: Setting, found: Setting | None) -> ConfigWarning:
    """Tell of a name in another case than the field's: the field itself, where it is set, may win."""
    message = f'is read as the field "{field}": only drop-ins are read without regard to case'
    if found is None or (setting.members is None and found.origin != setting.origin):
        message = f'differs by case from the field "{field}", which is set already and counts instead'
    return ConfigWarning("field-case", setting.origin.place, message, setting=name, meant=field)
