"""Layout of pods' resources: a few tables per pod, with equal replicas once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.cli.render.findings import warning_line
from cpuctl.cli.render.tables.downward import downward_table
from cpuctl.exports.answer_text import TWO_WEIGHTS, full_name
from cpuctl.phrases import byte_text, counted

if TYPE_CHECKING:
    from cpuctl.answers.pods import (
        Cgroup,
        CgroupRules,
        Change,
        Container,
        EphemeralContainer,
        Evicted,
        LimitRange,
        Pod,
        PodsShow,
        Quota,
        Read,
    )


_CHANGES_SHOWN = 2
_HOW_STYLE = {"written": "", "defaulted": "cyan", "derived": "dim", "dropped": "yellow"}


def blocks(document: PodsShow, *, wide: bool) -> Iterator[Block]:
    """Lay out every pod, then quotas and the order of eviction."""
    yield Lines.of(_releases(document), *(_differences(document) if wide else ()))
    for equivalent in _equivalent(document["pods"]):
        yield from _pod(equivalent, wide=wide)
    if problems := tuple(_limit_range_problems(document["limitRanges"])):
        yield Lines(problems)
    if any(map(_has_two_weights, document["pods"])):
        yield Lines.of(TWO_WEIGHTS)
    if document["quotas"]:
        yield _quotas(document["quotas"])
    if document["eviction"] is not None:
        yield _eviction(document["eviction"])


def _releases(document: PodsShow) -> str:
    kubelet, server = document["kubelet"]["version"], document["apiServer"]["version"]
    memory = document["node"]["memory"]
    node = f", {byte_text(int(memory['number']))} of memory" if memory else ", node memory unknown"
    return f"API server {server}, kubelet {kubelet}, cgroup v{document['cgroupVersion']}{node}"


def _differences(document: PodsShow) -> Iterator[str]:
    for each in document["differences"]:
        yield f"since {each['since']}: {each['behaviour']} ({each['status']}: {each['source']})"


def _equivalent(pods: Sequence[Pod]) -> list[list[Pod]]:
    """Group pods of one origin that have the same quantities, also after quotas."""
    groups: dict[tuple[object, ...], list[Pod]] = {}
    for pod in pods:
        refused = tuple(bool(charge["rejections"]) for charge in pod["quotas"])
        owner = (pod["namespace"], pod["owner"], pod["origin"], refused, str(pod["amounts"]))
        groups.setdefault(owner, []).append(pod)
    return list(groups.values())


def _pod(equivalent: Sequence[Pod], *, wide: bool) -> Iterator[Block]:
    pod = equivalent[0]
    yield Lines(tuple(_title(equivalent)))
    if rows := tuple(_amount_rows(pod)):
        names = ("CONTAINER", "RESOURCE", "QUANTITY", "ORIGIN", "RULE")
        yield Table(tuple(Column(name, "right" if name == "QUANTITY" else "left") for name in names), rows)
    yield from cgroup_tables(pod, wide=wide)
    yield Lines(tuple(_exclusive(pod, wide=wide)))
    if pod["downwardAPI"]:
        yield downward_table(pod["downwardAPI"])
    if wide:
        yield _readers(pod["readers"])


def _title(equivalent: Sequence[Pod]) -> Iterator[Cell]:
    pod = equivalent[0]
    more = f" and {len(equivalent) - 1} more" if len(equivalent) > 1 else ""
    of = f" of {pod['owner']}" if pod["owner"] else ""
    yield Cell(f"{full_name(pod)}{more}{of}", "bold")
    yield Cell(f"QoS class {pod['qosClass']}: {pod['qosReason']}")
    for text in pod["apiServer"]["rejections"]:
        yield Cell(f"The API server rejects the pod: {text}", "red")
    if pod["kubelet"]["rejected"]:
        why = f"{pod['kubelet']['reason']}: {pod['kubelet']['message']}"
        yield Cell(f"The kubelet rejects the pod: {why}", "red")
    for text in pod["warnings"]:
        yield warning_line(text)


def _amount_rows(pod: Pod) -> Iterator[tuple[Cell, ...]]:
    shown = ""
    for place, cells in (
        *((each, _amount_cells(each["quantity"], each["how"], each["rule"])) for each in pod["amounts"]),
        *((each, _amount_cells("", "dropped", each["rule"])) for each in pod["dropped"]),
    ):
        where = place["container"] or "(pod)"
        yield (
            Cell("" if where == shown else where),
            Cell(_value(place["resource"], place["side"])),
            *cells,
        )
        shown = where
    where = "(sum)"
    for side, sums in (("requests", pod["effective"]["requests"]), ("limits", pod["effective"]["limits"])):
        for entry in sums:
            cells = _amount_cells(entry["quantity"], entry["how"], entry["rule"])
            yield (Cell(where), Cell(_value(entry["resource"], side)), *cells)
            where = ""


def _amount_cells(quantity: str, how: str, rule: str | None) -> tuple[Cell, ...]:
    return (Cell(quantity), Cell(how, _HOW_STYLE[how]), Cell(rule or ""))


def _value(resource: str, side: str) -> str:
    return f"{resource} {side.removesuffix('s')}"


def _exclusive(pod: Pod, *, wide: bool) -> Iterator[Cell]:
    """Report which containers get exclusive CPUs; in one line those that share for the same reason."""
    sharing: dict[str, list[Container]] = {}
    refused = pod["apiServer"]["rejections"]
    condition, style = (
        ("if the pod were accepted", "") if refused else ("if the kubelet admits the pod", "green")
    )
    for container in pod["containers"]:
        claim = container["exclusiveCPUs"]
        if claim["assigned"]:
            cpus = counted(claim["count"], "exclusive CPU")
            yield Cell(f"{container['name']}: {cpus} {condition}", style)
        elif claim["qualifies"]:
            cpus = counted(claim["count"], "exclusive CPU")
            yield Cell(f"{container['name']}: qualifies for {cpus}, but {claim['whyShared']}")
        else:
            pool = "in its pod's pool" if claim["isolation"] == "pod" else "no exclusive CPUs"
            sharing.setdefault(f"{pool}, because {claim['whyShared']}", []).append(container)
    for each in pod["ephemeralContainers"]:
        yield Cell(f"{each['name']} (ephemeral): {each['cpus']}")
    for why, containers in sharing.items():
        names = ", ".join(each["name"] for each in containers)
        yield Cell(f"{names}: {why}")
        for container in containers:
            if changes := container["exclusiveCPUs"]["changes"]:
                cpus = counted(container["exclusiveCPUs"]["countAfter"], "exclusive CPU")
                shown = changes if wide else changes[:_CHANGES_SHOWN]
                more = f"; {len(changes) - len(shown)} more (-o wide)" if len(changes) > len(shown) else ""
                yield Cell(
                    f"  fix, for {cpus} of {container['name']}: {'; '.join(map(_change, shown))}{more}"
                )


def _change(change: Change) -> str:
    if change["after"] is None:
        return f"remove {change['path']}"
    note = f"now {change['before']}" if change["before"] is not None else "now none"
    if change["anyAmount"]:
        # Other containers only need a limit, for which the example is a part of a CPU.
        whole = change["path"].endswith(".cpu") and change["after"].isdigit()
        note = "any whole number" if whole else "any amount"
    return f"set {change['path']} to {change['after']} ({note})"


def _readers(readers: Sequence[Read]) -> Table:
    rows = tuple(
        (
            Cell(each["reader"]),
            Cell(each["container"] or ""),
            Cell(each["item"]),
            _read_amount(each),
            Cell(each["rule"]),
        )
        for each in readers
    )
    return Table(tuple(Column(name) for name in ("READER", "CONTAINER", "READS", "QUANTITY", "RULE")), rows)


def _read_amount(reading: Read) -> Cell:
    if reading["error"]:
        return Cell(f"error: {reading['error']}", "red")
    if reading["amount"] is None:
        return Cell("unknown", "yellow")
    return Cell(reading["text"] or reading["amount"]["quantity"])


def _limit_range_problems(limit_ranges: Sequence[LimitRange]) -> Iterator[Cell]:
    for each in limit_ranges:
        for problem in each["problems"]:
            name = full_name(each)
            yield Cell(f"The API server rejects LimitRange {name}, so it is not applied: {problem}", "red")


def _quotas(quotas: Sequence[Quota]) -> Table:
    rows = []
    for quota in quotas:
        name = full_name(quota)
        for resource, hard in quota["hard"].items():
            before = (quota["usedBefore"] or {}).get(resource, "0")
            used = quota["used"].get(resource, "0")
            rows.append((Cell(name), Cell(resource), Cell(before), Cell(used), Cell(hard)))
            name = ""
    columns = (Column("QUOTA"), Column("RESOURCE"), *(Column(n, "right") for n in ("BEFORE", "USED", "HARD")))
    return Table(columns, tuple(rows))


def _eviction(ranking: Sequence[Evicted]) -> Table:
    rows = tuple(
        (
            Cell(str(place)),
            Cell(full_name(each)),
            Cell("?" if each["usage"] is None else each["usage"]["quantity"]),
            Cell(each["request"]["quantity"]),
            Cell(each["reason"] + (", never evicted: critical" if each["exempt"] else "")),
        )
        for place, each in enumerate(ranking, start=1)
    )
    names = {"EVICTED": True, "POD": False, "USES": True, "REQUESTS": True, "WHY": False}
    columns = tuple(Column(name, "right" if right else "left") for name, right in names.items())
    return Table(columns, rows)


_USUAL = {
    "cpu.weight": "CPU.WEIGHT",
    "cpu.max": "CPU.MAX",
    "memory.max": "MEMORY.MAX",
    "cpu.shares": "CPU.SHARES",
    "cpu.cfs_quota_us": "CFS_QUOTA_US",
    "cpu.cfs_period_us": "CFS_PERIOD_US",
    "memory.limit_in_bytes": "LIMIT_IN_BYTES",
}
_NOT_WRITTEN = "dim"


def cgroup_tables(pod: Pod, *, wide: bool) -> Iterator[Block]:
    """Lay out the cgroups of one pod; values that are not written are dim, *wide* adds the rules."""
    groups = [("(pod)", pod["cgroup"], "")]
    groups += [(each["name"], each["cgroup"], _score(each)) for each in _running(pod)]
    usual = [name for name in _USUAL if name in pod["cgroup"]["files"]]
    rows = tuple(
        (Cell(name), *(_file(cgroup, file) for file in usual), Cell(score)) for name, cgroup, score in groups
    )
    columns = (Column("CGROUP"), *(Column(_USUAL[name]) for name in usual), Column("OOM_SCORE_ADJ"))
    yield Table(columns, rows)
    if wide:
        names = ("CGROUP", "SHARES OR WEIGHT", "QUOTA", "MEMORY LIMIT", "OOM_SCORE_ADJ")
        rules = [("(pod)", pod["cgroup"]["rules"], "")]
        rules += [(each["name"], each["cgroup"]["rules"], each["oomRule"]) for each in _running(pod)]
        yield Table(tuple(map(Column, names)), tuple(_rules(*each) for each in rules))
    if others := tuple(_others(groups)):
        yield Table(tuple(map(Column, ("CGROUP", "FILE", "VALUE"))), others)


def _has_two_weights(pod: Pod) -> bool:
    groups = (pod["cgroup"], *(each["cgroup"] for each in _running(pod)))
    return any(
        " or " in each["files"]["cpu.weight"]["text"] for each in groups if "cpu.weight" in each["files"]
    )


def _running(pod: Pod) -> tuple[Container | EphemeralContainer, ...]:
    return (*pod["containers"], *pod["ephemeralContainers"])


def _rules(name: str, rules: CgroupRules, oom: str) -> tuple[Cell, ...]:
    return tuple(map(Cell, (name, rules["cpuShares"], rules["cpuQuota"], rules["memoryLimit"], oom)))


def _score(container: Container | EphemeralContainer) -> str:
    score = container["oomScoreAdj"]
    return "needs the node's memory" if score is None else str(score)


def _file(cgroup: Cgroup, name: str) -> Cell:
    file = cgroup["files"][name]
    return Cell(file["text"], "" if file["written"] else _NOT_WRITTEN)


def _others(groups: list[tuple[str, Cgroup, str]]) -> Iterator[tuple[Cell, ...]]:
    for name, cgroup, _ in groups:
        shown = name
        for file, content in cgroup["files"].items():
            if file not in _USUAL and not _is_idle(file, content["text"]):
                yield Cell(shown), Cell(file), Cell(content["text"])
                shown = ""
        for value, why in cgroup["unknown"].items():
            yield Cell(shown), Cell(value.replace("_", ".")), Cell(why, "yellow")
            shown = ""


def _is_idle(file: str, text: str) -> bool:
    """Return whether a row is uninformative: protection of no memory, or the twin of a huge page limit."""
    return file.endswith(".rsvd.max") or (file in ("memory.min", "memory.low") and text == "0")
