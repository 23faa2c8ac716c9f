"""The rules that a kubelet holds its configuration against, as a page made from their table."""

from __future__ import annotations

from collections.abc import Iterable

from cpuctl.kubelet.releases.recorded import LAST_WITH_ALL
from cpuctl.kubelet.validation.later import LATER, NOT_LOOKED_AT, NotLookedAt
from cpuctl.kubelet.validation.rule import Rule
from cpuctl.kubelet.validation.rules import RULES
from cpuctl.kubelet.version import NEWEST, OLDEST
from docs.generate.common import NOTICE, PARTLY_RECORDED

_INTRODUCTION = f"""# What a kubelet refuses

The rules that `cpuctl config check` holds a configuration against, in the kubelet's order and words
(`...` where a value stands), and the releases that have them. {PARTLY_RECORDED}
follow 1.{LAST_WITH_ALL}, as far as is known. Validation tells all that it finds; what comes after ends with
the first error."""
_UNSEEN = """## Not looked at

What a kubelet asks of its host when it starts, and `config check` does not:"""


def rules_page() -> str:
    """Write one table for every stage of the start."""
    later = list(dict.fromkeys(rule.stage for rule in LATER))
    tables = [_table("configValidation", RULES)]
    tables += [_table(stage, [rule for rule in LATER if rule.stage == stage]) for stage in later]
    unseen = "\n".join(map(_unseen, NOT_LOOKED_AT))
    return "\n\n".join([f"<!-- {NOTICE} -->", _INTRODUCTION, *tables, _UNSEEN, unseen]) + "\n"


def _unseen(row: NotLookedAt) -> str:
    fields = f": `{'`, `'.join(row.fields)}`" if row.fields else ""
    return f"- {row.what}{fields}" + (f" (1.{row.since} and later)" if row.since else "")


def _table(stage: str, rules: Iterable[Rule]) -> str:
    rows = [f"| `{rule.field}` | {_words(rule)} | {_releases(rule)} |" for rule in rules]
    return "\n".join(
        [f"## {stage}\n", "| Setting | The kubelet's words | Releases |", "| --- | --- | --- |", *rows]
    )


def _words(rule: Rule) -> str:
    return f"`` {rule.template} ``" if "`" in rule.template else f"`{rule.template}`"


def _releases(rule: Rule) -> str:
    first, last = max(rule.since, OLDEST), min(rule.until - 1, NEWEST)
    if last == NEWEST:
        return "all" if first == OLDEST else f"1.{first} and later"
    return f"1.{first}" if first == last else f"1.{first} to 1.{last}"
