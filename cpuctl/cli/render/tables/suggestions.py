"""Changes that would alter a decision: what was tried, what helps, and commands that try or make it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Cell, Column, Lines, Table, copies_cells, next_line
from cpuctl.cpuset import CPUSet
from cpuctl.phrases import all_of, any_of, byte_text, counted, few, named

if TYPE_CHECKING:
    from cpuctl.answers.decisions import PlacedContainer
    from cpuctl.answers.explanation import ExplainedDecision, HugePages, Search, Suggestion

_KINDS = {
    "removal": "any one or two pods removed",
    "order": "any earlier place in the order",
}
_ADDING = "add the pages to memory_manager_state"


def suggestions_table(document: ExplainedDecision) -> Table:
    """Show the changes that admit or align the pod and what it gets then; below, what did not help."""
    wanted = _wanted(document)
    claims = document["decision"]["rule"] == "resourceClaims"
    shared = "its claims are satisfied" if claims else "admitted, on the node's shared CPUs"
    found = (
        (Cell(each["text"]), Cell(_effect(each, shared), "yellow" if each["lost"] else ""))
        for each in document["suggestions"]
    )
    impossible = (
        (Cell(_tried(document, search)), Cell(_without_success(search, wanted)))
        for search in document["searches"]
        if search["runs"] and not search["found"]
    )
    pages = ((Cell(_pages_text(each)), Cell(_pages_effect(each))) for each in document.get("hugePages", ()))
    return Table(
        (Column("CHANGE"), Column("RESULT")), (*found, *pages, *impossible, *_pages_without_success(document))
    )


def command_lines(document: ExplainedDecision) -> Iterator[Cell]:
    """Write the commands that try or make changes, one line each."""
    for each in document["suggestions"]:
        if each["command"]:
            yield Cell(f"# {each['text']}", "dim")
            yield Cell(each["command"])
    for pages in document.get("hugePages", ()):
        yield Cell(f"# {_pages_text(pages)}, until the next reboot", "dim")
        yield Cell(pages["command"])
        if repair := pages.get("repairCommand"):
            yield Cell(f"# with the kubelet stopped, {_ADDING}", "dim")
            yield Cell(repair)


def _pages_text(pages: HugePages) -> str:
    size = byte_text(pages["pageKiB"] << 10)
    return f"allocate {size} pages on NUMA node {pages['numaNode']}: {pages['after']} (now {pages['before']})"


def _pages_effect(pages: HugePages) -> str:
    change = "removed" if pages["removesMemoryState"] else "repaired" if "repairCommand" in pages else ""
    before = f"memory_manager_state is {change} and " if change else ""
    return "; ".join((f"admitted, after {before}the kubelet restarts", *_on_others(pages)))


def _pages_without_success(document: ExplainedDecision) -> Iterator[tuple[Cell, ...]]:
    """Show the largest numbers of pages that were tried, for sizes of which no number is enough."""
    if document["decision"]["provider"] != "memory" and "hugepages-" not in document["pod"].get("reason", ""):
        return
    enough = {pages["pageKiB"] for pages in document.get("hugePages", ())}
    tried = document.get("triedHugePages", ())
    for kib in dict.fromkeys(each["pageKiB"] for each in tried if each["pageKiB"] not in enough):
        size = byte_text(kib << 10)
        by_count: dict[int, list[int]] = {}
        skipped: list[int] = []
        for each in tried:
            if each["pageKiB"] == kib and each["after"] > each["before"]:
                by_count.setdefault(each["after"], []).append(each["numaNode"])
                skipped += [each["allUpTo"]] if each["allUpTo"] < each["after"] else []
        counts = (f"{count} on {_any_of(nodes)}" for count, nodes in by_count.items())
        between = f", nor was every number above {min(skipped)}" if skipped else ""
        result = f"not {_wanted(document)} with up to {', '.join(counts)}; more were not tried{between}"
        yield (
            Cell(f"more {size} pages on one NUMA node"),
            Cell(result if by_count else "no NUMA node has memory for them"),
        )


def _any_of(nodes: list[int]) -> str:
    text = named(CPUSet.of(nodes), "node")
    return f"any of {text}" if len(nodes) > 1 else text


def _effect(suggestion: Suggestion, shared: str) -> str:
    kept = [each for each in suggestion["containers"] if each["isolation"] != "host"]
    several = len(suggestion["containers"]) > 1
    parts = [_placed(each, several=several) for each in kept] or [shared]
    return "; ".join((*parts, *_on_others(suggestion)))


def _on_others(change: Suggestion | HugePages) -> Iterator[str]:
    if lost := change["lost"]:
        yield f"no longer admitted: {few(lost)}"
    if left := change.get("stillRejected"):
        yield f"still rejected: {few(left)}"


def _placed(container: PlacedContainer, *, several: bool) -> str:
    name, cpus = f"{container['name']}: " if several else "", named(CPUSet.parse(container["cpus"]))
    if not container["exclusive"]:
        return f"{name}in its pod's pool, {cpus}"
    nodes = ",".join(container["aligned"]["numaNodes"])
    return f"{name}{cpus} (node{'s' if ',' in nodes else ''} {nodes})"


def _wanted(document: ExplainedDecision) -> str:
    """Describe the goal of the changes: an admitted pod has suggestions only if it is not aligned."""
    return "aligned" if document["pod"]["outcome"] == "Admitted" else "admitted"


def _tried(document: ExplainedDecision, search: Search) -> str:
    """Describe what was tried in vain."""
    match search["kind"]:
        case "request":
            return f"other requests: {_resources_tried(search)}"
        case "setting" if document["pod"].get("reason") == "OutOfpods":
            return "a higher maxPods or podsPerCore, each alone"
        case "setting":
            memory = document["kubelet"]["memoryManagerPolicy"] == "Static"
            more = ", memoryManagerPolicy None" * memory
            return f"any other topology policy, scope or option{more}, each alone"
        case kind:
            return _KINDS[kind]


def _resources_tried(search: Search) -> str:
    """Name the resources of which other requests were tried, and how if there is a choice."""
    alone, together = search["alone"], search["inProportion"]
    ways = [f"{' or '.join(alone)} alone"] if alone else []
    ways += [f"{all_of(together)} in proportion"] if together else []
    return ", ".join(ways if len(search["resources"]) > 1 and ways else search["resources"])


def _without_success(search: Search, wanted: str) -> str:
    if not search["complete"]:
        return f"not {wanted} in {search['bound']} runs (the limit); some were not tried"
    but = f", except {search['excluded']}" if search["excluded"] else ""
    wanted += " with CPUs of its own" if search["sharesCPUs"] else ""
    if search["kind"] == "request":
        return f"not {wanted} in {counted(search['runs'], 'run')}"
    runs = counted(search["runs"], "run")
    if settings := search["notStarted"]:
        unstarted = f"with {any_of(settings)}, the kubelet would not start until its state files are repaired"
        return f"not {wanted} (tried all others{but}; {runs}); {unstarted}"
    return f"never {wanted} (tried all{but}; {runs})"


def pages_lines(document: ExplainedDecision) -> Iterator[Lines]:
    """Return the steps that allocate the pages, on the first NUMA node where that helps and harms none."""
    harmless = [pages for pages in document.get("hugePages", ()) if not pages["lost"]]
    for pages in harmless[:1]:
        then = ", before memory_manager_state is removed" if pages["removesMemoryState"] else ""
        purpose = f"on the node, to allocate the huge pages until the next reboot{then}"
        yield next_line(purpose, pages["command"])
        if not pages["before"]:
            size = byte_text(pages["pageKiB"] << 10).removesuffix("i")
            yield Lines.of(
                f"Without this file, the kernel does not offer such pages: boot with hugepagesz={size}"
            )
        if repair := pages.get("repairCommand"):
            step = f"Then stop the kubelet, and {_ADDING} (running pods keep their memory): {repair}"
            yield Lines((Cell(step), *copies_cells(repair), Cell("Then start the kubelet.")))


def runs_lines(document: ExplainedDecision) -> Iterator[str]:
    """Report how often the engine ran to find the changes, and how each was made."""
    runs = counted(sum(search["runs"] for search in document["searches"]), "simulated run")
    yield f"{runs}. RESULT: after admitting all pods again with the change."
    if any(each["kind"] == "removal" for each in document["suggestions"]):
        when = "before the restart" if document["query"]["restarted"] else "right before this one arrives"
        others = any(each["more"] for each in document["searches"] if each["kind"] == "removal")
        also = " Removing others may help as well." if others else ""
        yield f"Removed pods end {when}.{also}"
