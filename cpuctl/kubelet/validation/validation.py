"""``ValidateKubeletConfiguration``: what the kubelet refuses whatever the machine, all of it at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from cpuctl.golang.conversions import aggregated
from cpuctl.kubelet.setting_error import SettingError
from cpuctl.kubelet.validation.later import LATER
from cpuctl.kubelet.validation.rule import Rule, Subject
from cpuctl.kubelet.validation.rules import RULES


def validate(subject: Subject) -> list[SettingError]:
    """Return everything the kubelet finds wrong, in its order; nothing where the configuration is valid."""
    return list(_errors(RULES, subject))


def refused_later(subject: Subject, stage: str) -> SettingError | None:
    """Return the first thing that a later stage of the start refuses, None where it refuses nothing."""
    return next(_errors([rule for rule in LATER if rule.stage == stage], subject), None)


def validation_text(errors: list[SettingError]) -> str:
    """Write the errors as the kubelet prints them together."""
    return aggregated(str(error) for error in errors)


def _errors(rules: Iterable[Rule], subject: Subject) -> Iterator[SettingError]:
    rules = (rule for rule in rules if rule.holds_in(subject.minor))
    for each, block in groupby(rules, key=lambda rule: rule.each):
        if each is None:
            for rule in block:
                yield from _told(rule, subject)
            continue
        together = tuple(block)
        for item in each(subject):
            yield from _errors_of_one(together, subject._replace(item=item))


def _errors_of_one(rules: tuple[Rule, ...], subject: Subject) -> Iterator[SettingError]:
    """Try the rules for one element of a list."""
    for rule in rules:
        found = list(_told(rule, subject))
        yield from found
        if found and rule.ends:
            return


def _told(rule: Rule, subject: Subject) -> Iterator[SettingError]:
    for values in rule.breaks(subject):
        yield SettingError(rule.text.format(*values), *rule.path)
