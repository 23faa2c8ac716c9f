"""Layout of an audit: the node in two lines, its containers, one line per finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.audit.check_names import CHECK_NAMES
from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_cell
from cpuctl.cli.render.findings import NODE, counts_text, findings_block
from cpuctl.cli.render.tables.checkpoint import owner_column
from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import container_counts, shared_sentence
from cpuctl.phrases import counted, few

if TYPE_CHECKING:
    from cpuctl.answers.audit import Audit, AuditedNode, Container, ContainerMems, PreparedClaim
    from cpuctl.answers.report import Report

_SETS = ("EXPECTED", "CONFIGURED", "EFFECTIVE", "THREADS")
_NAMES = ("POD", "CONTAINER", *_SETS, "VERDICT")
_WIDE_NAMES = ("POD", "CONTAINER", "KIND", *_SETS, "THREAD COUNT", "MEMS", "VERDICT")
_NOT_CHECKED = "not checked"


def blocks(document: Audit, *, wide: bool) -> Iterator[Block]:
    """Lay out an audit; wide adds memory, kinds and paths, and puts findings into columns."""
    node = document["node"]
    pool, reserved = node["sharedPool"], node["reserved"]
    shared = ""
    if pool is not None and reserved is not None:
        online = CPUSet.parse(pool) & CPUSet.parse(node["online"])
        shared = shared_sentence(str(online), reserved, is_strict=bool(node["strictReservation"]))
    yield Lines((*node_lines(node), *([Cell(shared)] if shared else [])))
    shown = [each for each in document["containers"] if wide or each["part"] != "sandbox"]
    if shown:
        yield _containers(shown, wide=wide)
    if claims := document.get("claims"):
        yield _claims(claims)
    findings = document["findings"]
    if findings:
        yield findings_block(findings, NODE, wide=wide, place="" if is_live(document) else "on the node")
    yield Lines(tuple(_closing(document)))


def is_live(document: Audit | Report) -> bool:
    """Return whether an answer is about this host."""
    machine = document["sources"].get("machine")
    return machine is None or machine["from"] == "live"


def _claims(claims: Sequence[PreparedClaim]) -> Table:
    """Show the CPUs that containers have from the driver for CPUs."""
    return Table(
        (Column("CLAIM"), Column("CPUS"), Column("USED BY")),
        tuple(
            (Cell(each["claim"] or each["uid"]), Cell(each["cpus"]), Cell(", ".join(each["pods"]) or "-"))
            for each in claims
        ),
    )


def _containers(containers: Sequence[Container], *, wide: bool) -> Table:
    names = _WIDE_NAMES if wide else _NAMES
    rows, pod = [], ""
    for each in containers:
        name = _pod(each)
        rows.append(_row(each, "" if name == pod else name, wide=wide))
        pod = name
    columns = tuple(owner_column(name, wide=wide) for name in names)
    return Table(columns, tuple(rows), split=names.index("EFFECTIVE"), keys=2)


def _row(container: Container, pod: str, *, wide: bool) -> tuple[Cell, ...]:
    cpus, mems, verdict = container["cpus"], container["mems"], container["verdict"]
    # A set may differ without being wrong: a CPU that is offline is not effective.
    wrong = None if verdict == "ok" else cpus["expected"]
    expected = cpus["expected"] or " or ".join(dict.fromkeys(cpus["possible"])) or "-"
    sets = (
        Cell(expected, "bold" if cpus["exclusive"] else ""),
        _compared(cpus["configured"], wrong),
        _compared(cpus["effective"], wrong),
        Cell(cpus["threads"] or "-"),
    )
    style = {"ok": "green", _NOT_CHECKED: "dim"}.get(verdict, "red")
    name = Cell(container["container"] or _unnamed(container))
    if not wide:
        return (Cell(pod), name, *sets, Cell(verdict, style))
    memory = Cell(_mems(mems), "" if mems["expected"] in (None, mems["configured"]) else "red")
    more = (Cell(str(container["threads"])), memory)
    return (Cell(pod), name, Cell(container["part"]), *sets, *more, Cell(verdict, style))


def _pod(container: Container) -> str:
    return f"{container['namespace']}/{container['pod']}" if container["pod"] else str(container["uid"])


def _unnamed(container: Container) -> str:
    return "(sandbox)" if container["part"] == "sandbox" else f"({(container['containerID'] or '?')[:12]})"


def _compared(cpus: str | None, expected: str | None) -> Cell:
    differs = expected is not None and cpus is not None and cpus != expected
    return Cell("-" if cpus is None else cpus or "none", "red" if differs else "")


def _mems(mems: ContainerMems) -> str:
    actual = mems["effective"] or mems["configured"] or "-"
    return (
        f"{actual} (expected {mems['expected']})" if mems["expected"] not in (None, actual) else str(actual)
    )


_OF_A_RUNNING_NODE = ("cgroups:", "processes:", "interrupts:")
"""How a gap is introduced if a recording of the running node would have the data."""
CAPTURE_AGAIN = next_cell("on the node while its pods run", "sudo cpuctl capture NODE.tar.gz")


def needs_running_node(document: Audit) -> bool:
    """Return whether something was not checked that a recording of the running node would have."""
    return any(each["missing"].startswith(_OF_A_RUNNING_NODE) for each in document["unchecked"])


def _closing(document: Audit) -> Iterator[Cell]:
    looked = ", ".join(_counts(document)) or "no containers, threads or interrupts seen"
    for each in document["unchecked"]:
        yield Cell(f"not checked: {each['missing']} (checks: {', '.join(each['checks'])})", "yellow")
    yield Cell(f"{looked}: {_found(document)}")
    missing = document["node"]["cpuManagerState"] == "missing"
    if missing and is_live(document):
        yield Cell(
            "Next: specify the directory of cpu_manager_state (--state DIR), or another node (-m FILE)"
        )
    elif missing or needs_running_node(document):
        yield CAPTURE_AGAIN
    if document["unreadable"]:
        yield Cell(f"{counted(len(document['unreadable']), 'file')} could not be read", "yellow")


def _found(document: Audit) -> str:
    """Count the findings, and name the checks if not all ran: verdicts on containers are those of all."""
    checks = document["checks"]
    counts = counts_text(document["summary"])
    found = counts or "no findings"
    if {*checks} < {*CHECK_NAMES}:
        found += f" of {'check' if len(checks) == 1 else 'checks'} {few(checks)}"
    return f"{found} in what could be checked" if document["unchecked"] and not counts else found


def _counts(document: Audit) -> Iterator[str]:
    """Yield how much was compared."""
    summary = document["summary"]
    yield from container_counts(document)
    if summary["threads"] is not None:
        yield counted(summary["threads"], "thread")
    if summary["interrupts"] is not None:
        yield counted(summary["interrupts"], "interrupt")


_NO_POLICY = {
    "missing": "no CPU Manager state",
    "unreadable": "unreadable CPU Manager state",
    "read": "CPU Manager state without a policy",
    "unusable": "CPU Manager state that no kubelet would load",
}


def node_lines(node: AuditedNode) -> Iterator[Cell]:
    """Show the node's control groups and policy, then the use of its CPUs, without unused kinds."""
    version = node["cgroupVersion"]
    groups = f"cgroup v{version}{' (hybrid)' if node['hybrid'] else ''}" if version else "no cgroups"
    policy = node["cpuManagerPolicy"]
    policy_text = f"CPU Manager policy {policy}" if policy else _NO_POLICY[node["cpuManagerState"]]
    yield Cell(f"{groups}, {policy_text}")
    pool = node["sharedPool"]
    parts = {
        "online": node["online"],
        "offline": node["offline"],
        "reserved": node["reserved"],
        "shared pool": pool,
        "exclusive": node["exclusive"],
        "isolated": node["isolated"],
        "nohz_full": node["nohzFull"],
    }
    yield Cell("CPUs: " + ", ".join(f"{name} {cpus}" for name, cpus in parts.items() if cpus))
