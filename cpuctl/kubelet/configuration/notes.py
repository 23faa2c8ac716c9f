"""What a kubelet ignores in its configuration, with or without a line in its log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cpuctl.diagnostics import Diagnostic, Severity
from cpuctl.documents.positions import Path as PathInDocument
from cpuctl.documents.positions import path_text
from cpuctl.golang.json_mistakes import JSONDecoder, first_mistake
from cpuctl.kubelet.configuration.schema import FIELD_TYPES, ROOT_TYPE, SINCE, STRUCTS
from cpuctl.kubelet.configuration.settings import Path, Setting, Settings, plain
from cpuctl.kubelet.policy_options import ARCHIVED, ARCHIVED_WHY
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.documents.document import Value
    from cpuctl.kubelet.configuration.misplaced import Home


class _Unknown(NamedTuple):
    """A field that does not exist, the names that do, and those of them that are set beside it."""

    setting: Setting
    value: Value
    path: PathInDocument
    fields: Mapping[str, str]
    beside: Mapping[str, object]


class SettingPlace(Record):
    """A setting by its dotted path, and where it is set: file and line, or a flag. Either may be empty."""

    setting: str = ""
    where: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.where, self.setting)))


ConfigRemark: TypeAlias = Diagnostic[SettingPlace]


def without_effect(
    code: str, where: str, message: str, *, setting: str = "", meant: str = ""
) -> ConfigRemark:
    """Warn about a *setting* that the kubelet ignores; *meant* is the name that was probably intended."""
    return ConfigRemark(
        severity=Severity.WARNING,
        code=code,
        place=SettingPlace(setting, where),
        message=message,
        expected=meant,
        detected=setting,
        fix=f"use {meant}" if meant else "",
    )


def unknown_fields(settings: Settings, minor: int) -> tuple[Settings, tuple[ConfigRemark, ...]]:
    """Drop fields that kubelet 1.*minor* does not know, and warn about each."""
    known, unknown = _known(settings, ROOT_TYPE, ())
    listed = unknown
    if unknown:
        from cpuctl.spelling import MOST_LISTED

        listed = unknown[:MOST_LISTED]
    warnings = [_unknown_field(each, known, minor) for each in listed]
    warnings += _newer(known, minor)
    if more := unknown[len(listed) :]:
        message = f"{len(more)} more unknown fields are ignored"
        warnings.append(without_effect("unknown-field", more[0].setting.origin.place, message))
    kept = {
        name: setting
        for name, setting in known.items()
        if name in FIELD_TYPES and SINCE.get(name, 0) <= minor
    }
    return kept, tuple(warnings)


def _known(settings: Settings, struct: str, path: Path) -> tuple[Settings, list[_Unknown]]:
    fields = STRUCTS[struct]
    kept: Settings = {}
    unknown: list[_Unknown] = []
    for name, setting in settings.items():
        inner, members = fields.get(name, "").lstrip("*"), setting.members
        if name not in fields:
            unknown.append(_Unknown(setting, plain(setting), (*path, name), fields, settings))
        elif members is not None and STRUCTS.get(inner):
            below, more = _known(members, inner, (*path, name))
            kept[name] = Setting(below, setting.origin)
            unknown += more
        else:
            kept[name] = setting
            unknown += _unknown_in_list(setting, fields[name], (*path, name))
    return kept, unknown


def _unknown_in_list(setting: Setting, kind: str, path: Path) -> Iterator[_Unknown]:
    fields, origin = STRUCTS.get(kind.removeprefix("[]"), {}), setting.origin
    items = setting.value if fields and isinstance(setting.value, list) else []
    for number, item in enumerate(items):
        members = item if isinstance(item, dict) else {}
        for name in sorted(members.keys() - fields.keys()):
            below: PathInDocument = (*path, number, name)
            placed = replace(origin, path=(*origin.path, number, name)) if origin.document else origin
            yield _Unknown(setting._replace(origin=placed), members[name], below, fields, members)


def _newer(settings: Settings, minor: int) -> Iterator[ConfigRemark]:
    for name, setting in settings.items():
        if SINCE.get(name, 0) > minor:
            what = f"is ignored by kubelet 1.{minor}, because it was added in 1.{SINCE[name]}"
            message = f'unknown field "{name}" {what}'
            yield without_effect("newer-field", setting.origin.place, message, setting=name)


def _unknown_field(unknown: _Unknown, known: Settings, minor: int) -> ConfigRemark:
    from cpuctl.kubelet.configuration.misplaced import home_of, moved_out
    from cpuctl.spelling import nearest

    path, name = unknown.path, str(unknown.path[-1])
    message, place = f'unknown field "{name}" is ignored', unknown.setting.origin.place
    if home := home_of(name, unknown.beside, unknown.fields, minor):
        message += f": it belongs below {home.named}"
        meant = path_text((*path[:-1], *home.fields, name)) if len(home.fields) == 1 else ""
        remark = without_effect("unknown-field", place, message, setting=path_text(path), meant=meant)
        return replace(remark, fix=_fix_of_misplaced(unknown, home))
    fitting = [field for field, go_type in unknown.fields.items() if _decodes(unknown.value, go_type)]
    meant = nearest(name, fitting)
    message += f": did you mean {meant}?" if meant else ""
    if name == ARCHIVED:
        message += f": it is {ARCHIVED_WHY}"
    remark = without_effect("unknown-field", place, message, setting=path_text(path), meant=meant)
    if meant in unknown.beside:
        return replace(remark, fix=f"remove {name}: {meant} is set as well")
    return remark if meant else replace(remark, fix=moved_out(path_text(path), known))


def _fix_of_misplaced(unknown: _Unknown, home: Home) -> str:
    name, field = str(unknown.path[-1]), home.fields[0]
    beside = unknown.beside.get(field)
    members = beside.members if isinstance(beside, Setting) else beside
    if isinstance(members, Mapping) and name in members:
        return f"remove {name}: {field}.{name} is set as well"
    is_text = unknown.fields[field] == "map[string]string" and not isinstance(unknown.value, str)
    return f"{'indent' if home.follows else 'move'} it below {home.named}{', in quotes' if is_text else ''}"


def _decodes(value: Value, go_type: str) -> bool:
    """Return whether a field of a type can have a value: else its right name would be an error."""
    return first_mistake(value, go_type, JSONDecoder(structs=STRUCTS)) is None
