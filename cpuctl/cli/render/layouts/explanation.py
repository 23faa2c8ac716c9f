"""Layout of an explanation: the decision and its rule, its reasons, what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_line
from cpuctl.cli.render.layouts.plan import claimed_cpus, claims_blocks, next_step, pods_tables
from cpuctl.cli.render.layouts.resize import departure_lines, reason_text
from cpuctl.cli.render.tables.resources import devices_table, group_text
from cpuctl.cli.render.tables.start import start_block
from cpuctl.cli.render.tables.suggestions import command_lines, pages_lines, runs_lines, suggestions_table
from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import full_name, shared_sentence, starts_first
from cpuctl.exports.outcomes import PODS, RESIZES, what_if_sentence
from cpuctl.phrases import byte_text, counted, named

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Container, MemoryTable, Pod, Scoring
    from cpuctl.answers.explanation import (
        CPUShare,
        Decision,
        ExplainedDecision,
        Explanation,
        Holder,
        Merged,
        PendingResize,
        ProviderOffer,
        Round,
    )

    ShareCount = Literal["cpus", "reserved", "own", "held", "free"]

_SHARES: Final = ("cpus", "reserved", "own", "held", "free")
_SETS_SHOWN = 6
_HOLDERS_SHOWN = 8
_RULES = {
    "freeCores": "too few free cores",
    "groupRule": "groups of NUMA nodes",
    "missingInput": "missing input",
    "largerThanOneNode": "larger than one NUMA node",
    "maskInequality": "no common NUMA node",
    "nodeFit": "not enough free on the node",
    "noSingleNode": "not enough free on one NUMA node",
    "quantityForm": "not a whole number",
    "reusedCPUs": "NUMA nodes of reused CPUs",
    "widthFromCapacity": "more NUMA nodes than preferred",
}
"""Rules whose names in answers need other words."""
_STATUS_TEXTS = {"no preference": "no preference", "no hints": "none (treated as any)", "impossible": "none"}


def blocks(document: Explanation, *, wide: bool) -> Iterator[Block]:
    """Lay out an explanation; wide shows every holder, and commands that try the suggestions."""
    if "pod" not in document:
        yield start_block(document["start"], check=document.get("next", ""))
        return
    yield _verdict(document)
    if any("alignment" in container for container in _containers(document)):
        placed, *devices = pods_tables([_shown(document)], wide=True)
        yield _placed(placed, document, wide=wide)
        yield from devices
    yield from _claims(document, wide=wide)
    yield from _weighed(document)
    if document["rounds"]:
        yield _rounds(document)
    yield from _left(document, wide=wide)
    if document["searches"] or document.get("hugePages"):
        yield from _suggestions(document, wide=wide)
    yield from _next(document, wide=wide)


def _placed(placed: Table, document: ExplainedDecision, *, wide: bool) -> Table:
    """Show how the CPUs were chosen apart from them if both do not fit.

    The verdict names the pod and its QoS class, and most pods have only containers of one kind.
    """
    alike = len({each["kind"] for each in _containers(document)}) == 1
    shown = placed if wide else placed.without("POD", "QOS", *(("KIND",) if alike else ()))
    names = [column.name for column in shown.columns]
    return shown._replace(split=names.index("KIND" if "KIND" in names else "HOW"), keys=2 if wide else 1)


def _left(document: ExplainedDecision, *, wide: bool) -> Iterator[Block]:
    """Show what each NUMA node had, and who held the rest; say when that was."""
    tables = [*_tables_left(document, wide=wide)]
    when = {"Admitted": "Before this pod was admitted:", "Rejected": "After this pod was rejected:"}
    if document["query"]["restarted"]:
        when["Admitted"] = "When this pod is admitted again:"
    if tables and (caption := when.get(document["pod"]["outcome"])):
        yield Lines.of(caption)
    yield from tables


def _tables_left(document: ExplainedDecision, *, wide: bool) -> Iterator[Table]:
    if document["numaNodes"]:
        yield _numa_nodes(document["numaNodes"])
    if any(node["resources"] for node in document["memory"]):
        yield _memory(document["memory"])
    if document["devices"]:
        yield devices_table(document["devices"])
    if document["holders"]:
        yield _holders(document["holders"], wide=wide)


def _suggestions(document: ExplainedDecision, *, wide: bool) -> Iterator[Block]:
    """Show the changes that were tried; if there was none to try, say so."""
    table = suggestions_table(document)
    if not table.rows:
        claims = document["decision"]["rule"] == "resourceClaims"
        change = (
            ": change the claim's requests, or the devices of the driver (see cpuctl dra slices)"
            if claims
            else ""
        )
        yield Lines.of(f"No changes were tried{change}.")
        return
    yield table
    if wide and (commands := tuple(command_lines(document))):
        yield Lines(commands)
    yield Lines.of(*runs_lines(document))
    if not wide:
        yield from pages_lines(document)


def _next(document: ExplainedDecision, *, wide: bool) -> Iterator[Block]:
    """Return the command that tries the first helpful setting, or explains again with assumed devices."""
    settings = (each for each in document["suggestions"] if each["kind"] == "setting" and not each["lost"])
    first = next(settings, None)
    if first and first["command"] and not wide:
        yield next_line("to try the first kubelet setting", first["command"])
    elif command := document.get("next"):
        yield next_step(command)


def _claims(document: ExplainedDecision, *, wide: bool) -> Iterator[Block]:
    """Show the allocations of the pod's claims, or compare available devices with the claims."""
    yield from claims_blocks([document["pod"]], wide=wide)
    if document.get("claimDevices"):
        from cpuctl.cli.render.layouts.claimallocation import devices_table as claim_devices

        yield claim_devices(document["claimDevices"])


def _weighed(document: ExplainedDecision) -> Iterator[Block]:
    """Show how a policy that replaces the kubelet's chose the CPUs."""
    if "policy" in document["kubelet"]:
        yield Lines.of(what_if_sentence(document["kubelet"]["policy"]))
    if weighed := tuple(weighing_rows(_containers(document))):
        yield Table(tuple(map(Column, ("CONTAINER", "POLICY", "SCORE", "CPUS"))), weighed)


def _verdict(document: ExplainedDecision) -> Table:
    """Show the decision, its rule and additional facts below the pod's name."""
    pod = document["pod"]
    rows = tuple((Cell(word), cell) for word, cell in _facts(document))
    return Table((Column("POD"), Column(full_name(pod))), rows)


def _facts(document: ExplainedDecision) -> Iterator[tuple[str, Cell]]:
    pod = document["pod"]
    restart = " when the kubelet restarts" if document["query"]["restarted"] else ""
    yield "ANSWER", Cell(f"{_outcome(pod)}{restart}{_message(pod)}", PODS[pod["outcome"]].style)
    yield from _rejection(document)
    yield from _stated(document)
    for unmet in document["unaligned"]:
        yield "UNALIGNED", Cell(_ruled(unmet), "yellow")
    yield from (("REMOTE", Cell(text, "yellow")) for text in _remote_devices(document))
    yield "QOS", Cell(f"{pod['qosClass']}: {pod['qosReason']}")
    yield from _sharing(document)
    for each in document["mixedCores"]:
        if document["query"]["container"] in (None, each["container"]):
            yield "CORES", Cell(each["message"].partition(": ")[2], "yellow")
    yield from (("WARNING", Cell(each["message"], "yellow")) for each in document["warnings"])
    for defect in document["defects"]:
        yield "NOTE", Cell(f"{defect['text']} ({defect['reference']})")
    yield from _resize(document["resize"])


def _sharing(document: ExplainedDecision) -> Iterator[tuple[str, Cell]]:
    """Explain why containers have no exclusive CPUs, and where they run."""
    shared = False
    for container in _containers(document):
        if claimed_cpus(document["pod"], container["name"]):
            continue
        if "cpus" in container and not container["exclusive"]:
            shared |= container["isolation"] == "host"
            word = "POD POOL" if container["isolation"] == "pod" else "SHARED"
            yield word, Cell(f"{container['name']}: {container['whyShared']}")
    if shared and "sharedPool" in document:
        reserved = document["node"].get("reservedCPUs", "")
        text = shared_sentence(document["sharedPool"], reserved, is_new=starts_first(document))
        yield "POOL", Cell(text)


def _rejection(document: ExplainedDecision) -> Iterator[tuple[str, Cell]]:
    """Explain the rule by which the pod does not run, or what its claims lack."""
    pod = document["pod"]
    if "claimProblem" in pod:
        yield "CLAIMS", Cell(f"it does not start: {pod['claimProblem']}", "red")
    if pod["outcome"] == "Admitted":
        return
    yield "RULE", Cell(_ruled(document["decision"]))
    for resource in document.get("alsoMissing", ()):
        yield (
            "ALSO",
            Cell(f"no NUMA node has free {resource}: the pod would be rejected for that, too", "yellow"),
        )
    if replacement := document["replacement"]:
        yield "THEN", Cell(replacement["text"], "yellow" if replacement["loops"] else "")


def _stated(document: ExplainedDecision) -> Iterator[tuple[str, Cell]]:
    """Yield the kubelet's own words and, if the answer differs, the facts in which they differ."""
    if "reported" not in document:
        return
    stated = document["reported"]
    several = stated["count"] > 1
    where = f" on {stated['node']}" if stated["node"] else ""
    often = f" {stated['count']} times" if several else ""
    when = f", {'last ' if several else ''}at {stated['lastTimestamp']}" if stated["lastTimestamp"] else ""
    words = ": ".join(filter(None, (stated["reason"], stated["message"])))
    text = f"by the kubelet{where}{often}{when}: {words}"
    if stated["agrees"]:
        yield "SAID", Cell(text)
    else:
        differs = "the answer differs: other pods, state files or settings were in effect then"
        yield "SAID", Cell(f"{text} ({differs})", "yellow")


def _remote_devices(document: ExplainedDecision) -> Iterator[str]:
    """Explain why devices are on other NUMA nodes than their container's CPUs."""
    for container in _containers(document):
        if "cpus" in container and container["exclusive"] and container.get("devicesAligned") is False:
            devices = CPUSet.parse(
                ",".join(
                    node for each in container["devices"] for node in each["numaNodes"] if node != "none"
                )
            )
            cpus = CPUSet.parse(",".join(container["aligned"]["numaNodes"]))
            yield (
                f"{container['name']}: its devices are on {named(devices, 'NUMA node')}, its CPUs on "
                f"{named(cpus, 'node')}{_why_remote(document, container['name'], devices, cpus)}"
            )


def _why_remote(document: ExplainedDecision, container: str, devices: CPUSet, cpus: CPUSet) -> str:
    rounds = (each["merged"] for each in document["rounds"] if each["container"] in (None, container))
    merged = next((each for each in rounds if each is not None), None)
    if merged is None:
        return ": topologyManagerPolicy none does not align resources"
    if merged["numaNodes"] is None:
        return ": no manager prefers any node"
    nodes = CPUSet.parse(merged["numaNodes"])
    chosen = f"{named(nodes, 'node')}, which the Topology Manager chose"
    if not cpus <= nodes:
        return f", because too few CPUs are free on {chosen}"
    if not devices <= nodes:
        return f", because too few devices are free on {chosen}"
    return f": each manager chose among {chosen}"


def _resize(resize: PendingResize | None) -> Iterator[tuple[str, Cell]]:
    """Show the outcome of a pending resize, and how a preview's implementation differs from its KEP."""
    if resize is not None:
        word, style = RESIZES[resize["outcome"]]
        why = f": {reason_text(resize)}" if resize["message"] else ""
        yield "RESIZE", Cell(f"pending, outcome: {word}{why} (cpuctl resize shows more)", style)
        yield from (("", Cell(line)) for line in departure_lines(resize))


def _ruled(decision: Decision) -> str:
    spelt = "".join(f" {char.lower()}" if char.isupper() else char for char in decision["rule"])
    rule = _RULES.get(decision["rule"], spelt)
    container = f"container {decision['container']}" if decision["container"] else ""
    if decision["rule"] == "unknown":  # the reason is the kubelet's own message
        return ": ".join(filter(None, (container, decision["why"])))
    return f"{rule}{f' ({container})' if container else ''}: {decision['why']}"


def _outcome(pod: Pod) -> str:
    word = PODS[pod["outcome"]].word
    match pod["outcome"]:
        case "Rejected":
            return f"{word} with {pod['reason']}"
        case "Forbidden":
            return f"{word} (--skip-apiserver shows the kubelet's decision)"
        case "KubeletFault":
            return f"{word} ({pod['fault']})"
        case _:
            return word


def _message(pod: Pod) -> str:
    """Repeat the message; the rule explains why a pod stays pending."""
    return f": {pod['message']}" if "message" in pod and pod["outcome"] != "Pending" else ""


def _containers(document: ExplainedDecision) -> list[Container]:
    """List the requested containers that the kubelet reached."""
    wanted, containers = document["query"]["container"], document["pod"]["containers"]
    return [each for each in containers if wanted in (None, each["name"])]


def _shown(document: ExplainedDecision) -> Pod:
    return {**document["pod"], "containers": _containers(document)}


def _rounds(document: ExplainedDecision) -> Table:
    names = ("CONTAINER", "PROVIDER", "RESOURCE", "REQUEST", "HINTS", "PREFERRED", "MERGED")
    silent = "memory" if document["kubelet"]["memoryManagerPolicy"] == "None" else ""
    rows = [row for each in _shown_rounds(document) for row in _round(each, silent)]
    return Table(tuple(Column(name, "right" if name == "REQUEST" else "left") for name in names), tuple(rows))


def _shown_rounds(document: ExplainedDecision) -> list[Round]:
    wanted = document["query"]["container"]
    return [each for each in document["rounds"] if wanted is None or each["container"] in (None, wanted)]


def _round(hint_round: Round, silent: str) -> Iterator[tuple[Cell, ...]]:
    """Show the hints of each provider, without the provider that never has a preference."""
    name, merged = hint_round["container"] or "(pod)", _merged(hint_round["merged"])
    for offer in hint_round["offers"]:
        if offer["provider"] == silent:
            continue
        yield (
            Cell(name),
            Cell(offer["provider"]),
            Cell(offer["resource"]),
            Cell(_amount(offer)),
            Cell(_hints(offer)),
            Cell(_preferred(offer)),
            merged,
        )
        name, merged = "", Cell("")


def _merged(merged: Merged | None) -> Cell:
    if merged is None:
        return Cell("the kubelet fails", "bold red")
    nodes = "any" if merged["numaNodes"] is None else braced([merged["numaNodes"]])
    text = nodes if merged["preferred"] else f"{nodes}, not preferred"
    return Cell(text, "" if merged["admitted"] else "red")


def _amount(offer: ProviderOffer) -> str:
    if "request" not in offer:
        return ""
    return str(offer["request"]) if offer["provider"] != "memory" else byte_text(offer["request"])


def _hints(offer: ProviderOffer) -> str:
    if offer["status"] in _STATUS_TEXTS:
        return _STATUS_TEXTS[offer["status"]]
    if offer["hints"] is None:
        return f"any {counted(offer['narrowest'], 'node')} or more with enough free"
    nodes = (hint["numaNodes"] for hint in offer["hints"])
    return braced("any" if each is None else each for each in nodes)


def _preferred(offer: ProviderOffer) -> str:
    if offer["status"] in _STATUS_TEXTS:
        return "-"
    if offer["hints"] is None:
        # Under single-numa-node, the answer lists the preferred sets of one node; there may be wider ones.
        listed = offer["usable"] if offer["width"] == 1 else None
        return f"any {counted(offer['width'], 'node')}" if listed is None else braced(listed) or "-"
    sets = {hint["numaNodes"] for hint in offer["hints"] if hint["preferred"]}
    return braced(sorted(filter(None, sets), key=_by_size)) or "-"


def _by_size(nodes: str) -> tuple[int, int]:
    mask = CPUSet.parse(nodes).mask
    return mask.bit_count(), mask


def braced(sets: Iterable[str]) -> str:
    """Write sets of NUMA nodes, the first few of them: ``{0} {0-1}``."""
    texts = [f"{{{nodes}}}" for nodes in sets]
    more = f" +{len(texts) - _SETS_SHOWN}" if len(texts) > _SETS_SHOWN else ""
    return " ".join(texts[:_SETS_SHOWN]) + more


def _numa_nodes(nodes: Sequence[CPUShare]) -> Table:
    own = any(node["counts"]["own"] for node in nodes)
    kept: list[ShareCount] = [count for count in _SHARES if count != "own" or own]
    heads = {"own": "THIS POD", "held": "OTHER PODS"}
    columns = (Column("NODE", "right"), *(Column(heads.get(each, each.upper()), "right") for each in kept))
    rows = (
        (
            Cell(str(node["id"])),
            *(Cell(str(node["counts"][count])) for count in kept),
            Cell(node["free"] or "-", "green" if node["free"] else ""),
        )
        for node in nodes
    )
    return Table((*columns, Column("FREE CPUS")), tuple(rows))


def _memory(nodes: Iterable[MemoryTable]) -> Table:
    """Show the memory of each node, and the group to which it belongs."""
    names = ("NODE", "RESOURCE", "TOTAL", "FOR PODS", "FREE", "GROUP")
    columns = (Column(name, "left" if name in ("RESOURCE", "GROUP") else "right") for name in names)
    rows = (
        (
            Cell(str(node["numaNode"])),
            Cell(each["resource"]),
            Cell(byte_text(each["total"])),
            Cell(byte_text(each["allocatable"])),
            Cell(byte_text(each["free"]), "green" if each["free"] else ""),
            Cell(group_text(node)),
        )
        for node in nodes
        for each in node["resources"]
    )
    return Table(tuple(columns), tuple(rows))


def _holders(holders: Sequence[Holder], *, wide: bool) -> Table:
    shown = holders if wide else holders[:_HOLDERS_SHOWN]
    more = [
        (heading, cell)
        for heading, cell, any_held in (
            ("MEMORY (NODES)", _held, any(holder["memory"] for holder in holders)),
            ("DEVICES (NODES)", _devices_held, any(holder["devices"] for holder in holders)),
        )
        if any_held
    ]
    rows = [
        (
            Cell(holder["pod"] + _standing(holder)),
            Cell(str(holder["count"])),
            Cell(holder["cpus"] or "-"),
            *(Cell(cell(holder)) for _, cell in more),
        )
        for holder in shown
    ]
    if len(shown) < len(holders):
        rest = holders[len(shown) :]
        count = str(sum(holder["count"] for holder in rest))
        rows.append(
            (Cell(f"and {len(rest)} more"), Cell(count), Cell("(-o wide)"), *(Cell("") for _ in more))
        )
    names = ("HELD BY", "COUNT", "CPUS", *(heading for heading, _ in more))
    return Table(tuple(Column(name, "right" if name == "COUNT" else "left") for name in names), tuple(rows))


def _standing(holder: Holder) -> str:
    if holder["running"]:
        return ""
    return " (not admitted again yet)" if holder["waiting"] else " (ended or rejected)"


def _devices_held(holder: Holder) -> str:
    held = (f"{each['count']} {each['resource']} ({each['numaNodes']})" for each in holder["devices"])
    return ", ".join(held) or "-"


def _held(holder: Holder) -> str:
    held = (
        f"{byte_text(each['bytes'])}{'' if each['resource'] == 'memory' else ' ' + each['resource']} "
        f"({each['numaNodes']})"
        for each in holder["memory"]
    )
    return ", ".join(held) or "-"


# How a policy that replaces the kubelet's chose its CPUs: what it filtered, how it scored, which set won.


_WEIGHED_SHOWN = 8


def weighing_rows(containers: Iterable[Container]) -> Iterator[tuple[Cell, ...]]:
    """Yield rows of container, subject, score and CPUs."""
    for container in containers:
        for weighing in container.get("scoring", ()) if container["exclusive"] else ():
            name = Cell(f"{container['name']}{' (the rest)' if weighing['remainder'] else ''}")
            for row in _rows(weighing):
                yield name, *row
                name = Cell("")


def _rows(weighing: Scoring) -> Iterator[tuple[Cell, ...]]:
    if weighing["removed"]:
        yield Cell("filtered out"), Cell("-"), Cell(weighing["removed"])
    if len(weighing["scores"]) > 1:
        for each in weighing["scores"]:
            yield Cell("CPUs"), Cell(f"{each['score']:g}"), Cell(each["cpus"])
    for place, each in enumerate(weighing["sets"][:_WEIGHED_SHOWN]):
        style = "" if place else "green"
        yield Cell("set" if place else "set, chosen", style), Cell(f"{each['score']:g}"), Cell(each["cpus"])
    if (more := weighing["setCount"] - _WEIGHED_SHOWN) > 0:
        yield Cell(f"and {more} more sets"), Cell(""), Cell("")
