"""The page about the rules with which the kubelet validates its configuration, from their table."""

from __future__ import annotations

from collections.abc import Iterable

from cpuctl.kubelet.releases.recorded import LAST_WITH_ALL
from cpuctl.kubelet.validation.later import LATER, NOT_CHECKED, NotChecked
from cpuctl.kubelet.validation.rule import Rule
from cpuctl.kubelet.validation.rules import RULES
from cpuctl.kubelet.version import NEWEST, OLDEST
from docs.generate.common import NOTICE, PARTLY_RECORDED

_INTRODUCTION = f"""# Configuration rules of the kubelet

The rules that `cpuctl config check` applies, in the kubelet's order, with its error messages (`...` is a
value) and the releases that have them. {PARTLY_RECORDED} are assumed to have the rules of 1.{LAST_WITH_ALL}.
`configValidation` reports all errors; the later stages stop at the first one."""
_UNSEEN = """## Not checked

What the kubelet checks when it starts, but `config check` does not:"""


def rules_page() -> str:
    """Write one table for each stage of the kubelet's start."""
    later = list(dict.fromkeys(rule.stage for rule in LATER))
    tables = [_table("configValidation", RULES)]
    tables += [_table(stage, [rule for rule in LATER if rule.stage == stage]) for stage in later]
    unseen = "\n".join(map(_unseen, NOT_CHECKED))
    return "\n\n".join([f"<!-- {NOTICE} -->", _INTRODUCTION, *tables, _UNSEEN, unseen]) + "\n"


def _unseen(row: NotChecked) -> str:
    fields = f": `{'`, `'.join(row.fields)}`" if row.fields else ""
    return f"- {row.what}{fields}" + (f" (1.{row.since} and later)" if row.since else "")


def _table(stage: str, rules: Iterable[Rule]) -> str:
    rows = [f"| `{rule.field}` | {_words(rule)} | {_releases(rule)} |" for rule in rules]
    return "\n".join(
        [f"## {stage}\n", "| Setting | Error message | Releases |", "| --- | --- | --- |", *rows]
    )


def _words(rule: Rule) -> str:
    return f"`` {rule.template} ``" if "`" in rule.template else f"`{rule.template}`"


def _releases(rule: Rule) -> str:
    first, last = max(rule.since, OLDEST), min(rule.until - 1, NEWEST)
    if last == NEWEST:
        return "all" if first == OLDEST else f"1.{first} and later"
    return f"1.{first}" if first == last else f"1.{first} to 1.{last}"
