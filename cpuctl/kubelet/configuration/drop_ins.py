"""Drop-in files of a kubelet (``--config-dir``): which are read, in what order, and how they are merged.

Rule: ``cmd/kubelet/app/server.go``; for the directory, ``filepath.WalkDir``, 1.36; for merging,
``mergeKubeletConfigurations``, 1.28, 1.29 to 1.31, and 1.32 to 1.36, which does not check the configuration's
types until all files are merged.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Document, Syntax
from cpuctl.documents.files import read_member
from cpuctl.documents.loading import EMPTY
from cpuctl.documents.positions import Path
from cpuctl.errors import InputError, unreadable
from cpuctl.golang.json_mistakes import JSONDecoder, Mistake, all_mistakes, match_field
from cpuctl.golang.text import quoted
from cpuctl.kubelet.configuration.decoded import (
    Layer,
    folded,
    reserialised,
    with_defaults,
    with_eviction_defaults,
)
from cpuctl.kubelet.configuration.main_file import MainFile, empty, explained, read_main_file
from cpuctl.kubelet.configuration.notes import ConfigRemark, unknown_fields, without_effect
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError, Refusal
from cpuctl.kubelet.configuration.schema import FIELD_TYPES, ROOT_TYPE, structs_of
from cpuctl.kubelet.configuration.settings import (
    OriginKind,
    Setting,
    Settings,
    merge_patch,
    plain,
    settings_of,
)
from cpuctl.kubelet.configuration.type_meta import (
    API_VERSION,
    KIND,
    STAGE,
    NoObjectError,
    TypeMeta,
    read_config_object,
)
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.spelling import MOST_LISTED

if TYPE_CHECKING:
    from cpuctl.documents.document import Value


EXTENSION = ".conf"
_OTHERS = (".yaml", ".yml", ".json")
WALK = "failed to walk through kubelet dropin directory"


class DropInSource(Protocol):
    """A directory of drop-in files, on a disk or in a recording."""

    @property
    def name(self) -> str:
        """The name of the directory."""

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of the files that the kubelet reads, in its order."""

    def left_out(self) -> Iterable[tuple[str, str]]:
        """Yield the path of everything that looks like a drop-in but is not read, and why."""


class DropInDirectory(NamedTuple):
    """A directory of this host.

    The kubelet walks directories by the bytes of their names and does not follow links to directories; it
    reads only files whose names end in ``.conf``, including hidden ones and links.
    """

    name: str

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Read the files one by one; raise as ``merge_drop_ins`` does."""
        for path in _walk(self.name):
            if counts_as_drop_in(path):
                yield path, read_member(path)

    def left_out(self) -> Iterable[tuple[str, str]]:
        """Yield files with an extension that is common for such files elsewhere, and links to directories."""
        for path in _walk(self.name):
            if _extension(path) in _OTHERS:
                yield (
                    path,
                    f"the kubelet reads only files in its drop-in directory whose names end in {EXTENSION}",
                )
            elif os.path.isdir(path):  # noqa: PTH112
                yield path, "the kubelet does not follow links to directories"


def merge_refused(error: InputError, text: str, others: Iterable[InputError] = ()) -> ConfigRefusedError:
    """Add the kubelet's words about its drop-ins to an error of ours."""
    refusal = Refusal(STAGE, text, f"failed to merge kubelet configs: {text}")
    return ConfigRefusedError.from_error(error, refusal, tuple(others))


def counts_as_drop_in(path: str) -> bool:
    """Return whether the kubelet reads a file with this name."""
    return _extension(path) == EXTENSION


def _extension(path: str) -> str:
    name = path[path.rfind("/") + 1 :]
    return name[name.rfind(".") :]


def _walk(directory: str) -> Iterator[str]:
    """Yield everything below a directory except directories, whose content comes where their names sort."""
    waiting = [directory]
    while waiting:
        path = waiting.pop()
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                yield path
                continue
            names = sorted(os.listdir(path), key=os.fsencode, reverse=True)  # noqa: PTH208
        except FileNotFoundError as error:
            missing = unreadable(error, path)
            assert isinstance(missing, InputError)
            text = f'{WALK} "{directory}": lstat {path}: no such file or directory'
            raise merge_refused(missing, text) from None
        except OSError as error:
            raise unreadable(error, path) from None
        waiting.extend(os.path.join(path, name) for name in names)  # noqa: PTH118  # not always valid text


_Read = TypeVar("_Read")

_MERGE_DEFAULTS = "mergeDefaultEvictionSettings"


def merge_drop_ins(base: Settings, source: DropInSource, minor: int) -> Layer:
    """Apply every drop-in file of *source* to a configuration whose defaults are filled in.

    Raise ConfigRefusedError in the kubelet's words if they are known, else InputError or NodeAccessError.
    """
    release = behaviours(minor)
    if not release.merges_drop_ins_as_text:
        return _merge_whole_files(base, source, minor)
    written, strict = reserialised(base), release.defaults_after_drop_ins
    patches = _each(source, lambda path, content: _read(path, content, source.name, strict))
    merged = Setting(written) if strict else Setting({})
    for _, patch in patches:
        merged = merge_patch(merged, Setting(patch))
    if mistakes := all_mistakes(
        plain(merged), ROOT_TYPE, JSONDecoder(structs=structs_of(minor), any_case=True)
    ):
        wrong, *others = (_mistyped(mistake, merged) for mistake in mistakes)
        prefix = "failed to unmarshal merged JSON into kubelet configuration: "
        raise merge_refused(wrong, prefix + mistakes[0].text, others)
    settings, _ = unknown_fields(folded(merged.members or {}), minor)
    if not strict:
        # The field has another name in the kubelet's internal type, which these releases merge.
        settings.pop("resolvConf", None)
        settings = _overlaid(written, settings)
    warnings = [warning for _, patch in patches for warning in _warnings(patch, settings, minor)]
    return _layer(settings, warnings, [path for path, _ in patches], source)


def _layer(settings: Settings, warnings: list[ConfigRemark], files: list[str], source: DropInSource) -> Layer:
    left_out = [_left_out(path, why) for path, why in islice(source.left_out(), MOST_LISTED)]
    return Layer(settings, (*warnings, *left_out), tuple(files))


def _merge_whole_files(base: Settings, source: DropInSource, minor: int) -> Layer:
    """Merge files as complete configurations, with defaults: the non-empty values of each are used."""
    settings, warnings, files = base, [], []
    for path, read in _each(source, lambda path, content: _whole_file(path, content, source.name, minor)):
        whole = with_defaults(with_eviction_defaults(read.settings, minor), minor)
        settings = _overlaid(settings, {name: each for name, each in whole.items() if _counts(each)})
        warnings += [*read.warnings, *_reset(read.settings, whole, base, path)]
        files.append(path)
    return _layer(settings, warnings, files, source)


def _whole_file(path: str, content: bytes, directory: str, minor: int) -> MainFile:
    try:
        return read_main_file(content, path, minor)
    except ConfigRefusedError as refused:
        logged = refused.refusal.logged.partition(", error: ")[2]
        failed = f'{WALK} "{directory}": failed to load kubelet dropin file, path: {path}, error: {logged}'
        error = InputError(refused.message, where=refused.where)
        raise merge_refused(error, failed, refused.others) from None


def _each(source: DropInSource, read: Callable[[str, bytes], _Read]) -> list[tuple[str, _Read]]:
    """Read every file; if any are refused, the error is that of the first and also names the others."""
    found, refused = [], []
    for path, content in source.files():
        try:
            found.append((path, read(path, content)))
        except ConfigRefusedError as error:
            refused.append(error)
    if refused:
        first, *later = refused
        raise first.before(*later)
    return found


def _counts(setting: Setting) -> bool:
    """Return whether a value is non-zero: a zero value does not replace an earlier one."""
    if isinstance(setting.value, str) and setting.value in ("0", "0s"):
        return False
    return bool(setting.value)


def _reset(given: Settings, whole: Settings, base: Settings, path: str) -> Iterator[ConfigRemark]:
    """Report which settings of the main file a drop-in resets to their defaults without naming them."""
    for name, setting in whole.items():
        before = base.get(name)
        if name in given or before is None or before.origin.kind is not OriginKind.FILE:
            continue
        if _counts(setting) and plain(before) != plain(setting):
            why = "is reset to its default by a drop-in that does not set it: kubelet 1.28 merges whole files"
            yield without_effect("drop-in-default", path, why, setting=name)


def _overlaid(base: Settings, settings: Settings) -> Settings:
    """Merge settings into others as Go's decoder does into an existing value.

    Mappings are merged, and so are elements at the same index in lists of objects.
    """
    merged = dict(base)
    for name, setting in settings.items():
        before = merged.get(name)
        old, new = (before.members if before else None), setting.members
        if before and old is not None and new is not None:
            merged[name] = Setting(_overlaid(old, new), before.origin)
        elif before and isinstance(before.value, list) and isinstance(setting.value, list):
            merged[name] = Setting(_elements(before.value, setting.value), setting.origin)
        elif setting.value is not None:
            merged[name] = setting
    return merged


def _elements(old: list[Value], new: list[Value]) -> list[Value]:
    return [_element(old[index], item) if index < len(old) else item for index, item in enumerate(new)]


def _element(old: Value, new: Value) -> Value:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return old | {name: _element(old.get(name), member) for name, member in new.items() if member is not None}


def _read(path: str, content: bytes, directory: str, strict: bool) -> Settings:  # noqa: FBT001
    """Read what one drop-in sets, without kind and version; if not *strict*, any kind is accepted."""
    failed = f'{WALK} "{directory}": failed to load kubelet dropin file, path: {path},'
    if not content:
        raise merge_refused(InputError(EMPTY, where=path), f"{failed} error: {empty(path)}")
    try:
        found, type_meta = read_config_object(content, path)
    except NoObjectError as none:
        raise merge_refused(none.error, f"{failed} error: {none.text}") from None
    document = found.document
    if document.repeats:
        raise _repeated(document, failed)
    if strict:
        _check_type(document, type_meta, failed)
    members = settings_of(document, OriginKind.DROP_IN).members or {}
    return {name: setting for name, setting in members.items() if name not in ("apiVersion", "kind")}


def _check_type(document: Document, type_meta: TypeMeta, failed: str) -> None:
    kind, version = type_meta.kind, type_meta.api_version
    if (kind, version) == (KIND, API_VERSION):
        return
    group_version = version if "/" in version else f"/{version}"
    what = f"expected a {KIND} of {API_VERSION}, found {kind} of {version or 'no version'}"
    other = Cursor.at_root(document).error(what)
    raise merge_refused(other, f"{failed} unknown apiVersion/kind: {group_version}, Kind={kind}")


def _repeated(document: Document, failed: str) -> ConfigRefusedError:
    """Return the error of strict decoding: the YAML reader reports lines, the JSON reader paths."""
    first = min(document.repeats, key=lambda repeat: repeat.position)
    where = f"{document.source}:{first.position.line}"
    error = InputError(f'duplicate key "{first.path[-1]}"', where=where)
    if document.syntax is Syntax.YAML:
        lines = [
            f"  line {each.value_position.line}: key {quoted(str(each.path[-1]))} already set in map"
            for each in document.repeats
        ]
        text = "\n".join(["yaml: unmarshal errors:", *lines])
    else:
        paths = [_go_path(each.path) for each in sorted(document.repeats, key=lambda each: each.position)]
        text = ", ".join(f"duplicate field {quoted(path)}" for path in dict.fromkeys(paths))
    return merge_refused(error, f"{failed} error: strict decoding error: {text}")


def _go_path(path: Path) -> str:
    """Write a path as ``kubeReserved.cpu`` or ``reservedMemory[0].limits``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _mistyped(mistake: Mistake, merged: Setting) -> InputError:
    """Return an error at the file whose value has the wrong type."""
    at, path = merged, list(mistake.path)
    while path and (members := at.members) is not None:
        at = members[str(path.pop(0))]
    origin = at.origin
    assert origin.document is not None  # the rest of the tree has been read already, and has the right types
    return explained(mistake, origin.document, (*origin.path, *path))


def _warnings(patch: Settings, merged: Settings, minor: int) -> Iterator[ConfigRemark]:
    """Report settings of a drop-in without effect; the kubelet itself does not report them."""
    matched: Settings = {}
    for name, setting in patch.items():
        field = match_field(name, FIELD_TYPES, any_case=True) or name
        matched[field] = setting
        if field != name:
            yield _other_case(name, field, setting, merged.get(field))
    yield from unknown_fields(matched, minor)[1]
    if merges := patch.get(_MERGE_DEFAULTS):
        why = "has no effect in a drop-in: it works only in the main file"
        yield without_effect("no-effect", merges.origin.place, why, setting=_MERGE_DEFAULTS)


def _left_out(path: str, why: str) -> ConfigRemark:
    return without_effect("drop-in-left-out", path, f"is not read: {why}")


def _other_case(name: str, field: str, setting: Setting, found: Setting | None) -> ConfigRemark:
    """Report a name that differs from the field's in case: the field itself may win if it is set."""
    message = f'is read as the field "{field}": only drop-ins are case-insensitive'
    if found is None or (setting.members is None and found.origin != setting.origin):
        message = f'differs in case from the field "{field}", which is already set and is used instead'
    return without_effect("field-case", setting.origin.place, message, setting=name, meant=field)
