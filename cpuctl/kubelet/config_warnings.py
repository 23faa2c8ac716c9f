"""What a kubelet passes over in its configuration, with or without a line in its log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cpuctl.kubelet.config_schema import FIELD_TYPES, ROOT_TYPE, SINCE, STRUCTS
from cpuctl.kubelet.settings import Path, Setting, Settings, path_name


@dataclass(frozen=True, slots=True)
class ConfigWarning:
    """Something in an input that has no effect: a code for programs, the place, and a sentence."""

    code: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


def unknown_fields(settings: Settings, minor: int) -> tuple[Settings, tuple[ConfigWarning, ...]]:
    """Drop what kubelet 1.*minor* does not know of a configuration, and say so."""
    known, warnings = _known(settings, ROOT_TYPE, ())
    warnings = [*warnings, *_newer(known, minor)]
    kept = {
        name: setting
        for name, setting in known.items()
        if name in FIELD_TYPES and SINCE.get(name, 0) <= minor
    }
    return kept, tuple(warnings)


def _known(settings: Settings, struct: str, path: Path) -> tuple[Settings, list[ConfigWarning]]:
    fields = STRUCTS[struct]
    kept: Settings = {}
    warnings: list[ConfigWarning] = []
    for name, setting in settings.items():
        inner, members = fields.get(name, "").lstrip("*"), setting.members
        if name not in fields:
            warnings.append(_warning("unknown-field", setting, (*path, name), "is ignored"))
        elif members is not None and STRUCTS.get(inner):
            below, more = _known(members, inner, (*path, name))
            kept[name] = Setting(below, setting.origin)
            warnings += more
        else:
            kept[name] = setting
    return kept, warnings


def _newer(settings: Settings, minor: int) -> Iterator[ConfigWarning]:
    for name, setting in settings.items():
        if SINCE.get(name, 0) > minor:
            what = f"is ignored by kubelet 1.{minor}, because it came with 1.{SINCE[name]}"
            yield _warning("newer-field", setting, (name,), what)


def _warning(code: str, setting: Setting, path: Path, what: str) -> ConfigWarning:
    where = f"{setting.origin.place}: {path_name(path)}" if setting.origin.place else path_name(path)
    return ConfigWarning(code, where, f'unknown field "{path[-1]}" {what}')
