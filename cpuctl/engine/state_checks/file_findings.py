"""What is wrong with a state file as a file: nobody needs to know what is in it for that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cpuctl.checkpoints.model import UnreadableState
from cpuctl.departures import ROLLBACK
from cpuctl.diagnostics import Severity
from cpuctl.engine.saved_files import Reading
from cpuctl.engine.state_checks.findings import DRAIN, REPAIR, StateFinding, StatePlace
from cpuctl.engine.state_checks.found import AnyFile
from cpuctl.state_names import CPU_FILE, MEMORY_FILE


def file_findings(
    name: str, file: AnyFile, policy: str | None, version: str, reading: Reading = Reading.STOPS
) -> Iterator[StateFinding]:
    """Say what is wrong with a file; *policy* is the configured one, None where none is known.

    *reading* tells what the kubelet does with it.
    """
    if reading is Reading.UNREAD:
        yield _unread(name, file, version)
        return
    if reading is Reading.GOES_ON:
        yield from _gone_on(name, file)
        return
    if isinstance(file.read, UnreadableState):
        yield _unreadable(name, file, file.read.error, version)
    elif file.facts.wrong_checksums:
        yield _unseen_checksum(name, file)
    if file.facts.embedded_differs:
        yield StateFinding(
            severity=Severity.WARNING,
            code="embedded-differs",
            place=StatePlace(name),
            message="the copy for kubelets before 1.37 does not say what the file says: they would go on "
            "from another state",
            fix=REPAIR,
        )
    found = getattr(file.state, "policy_name", None)
    if policy is not None and found is not None and found != policy:
        yield StateFinding(
            severity=Severity.ERROR,
            code="policy-differs",
            place=StatePlace(name),
            message=f'the file was written under the policy "{found}", and "{policy}" is configured',
            expected=policy,
            detected=found,
            fix=f"configure the policy {found}, or {REPAIR}" if found else REPAIR,
        )
    yield from _passed_over(name, file)


def _unread(name: str, file: AnyFile, version: str) -> StateFinding:
    """Say that a file means nothing to this kubelet, whatever is in it."""
    broken = isinstance(file.read, UnreadableState)
    return StateFinding(
        severity=Severity.NOTE,
        code="unread",
        place=StatePlace(name),
        message=f"kubelet {version} does not read it"
        + (": that it cannot be loaded does no harm here" if broken else ""),
        detected=file.facts.format,
    )


def _gone_on(name: str, file: AnyFile) -> Iterator[StateFinding]:
    """Say what is lost where a kubelet goes on without what it cannot read."""
    if isinstance(file.read, UnreadableState):
        yield StateFinding(
            severity=Severity.WARNING,
            code="passed-over",
            place=StatePlace(name),
            message=f"it cannot be loaded: {file.read.error}; the kubelet logs that, starts, and takes every "
            "device for free: it may give devices that containers use to others",
            detected=file.facts.format,
            fix=REPAIR if file.whole is not None and file.facts.wrong_checksums else DRAIN,
        )


def _unreadable(name: str, file: AnyFile, error: str, version: str) -> StateFinding:
    facts, fix = file.facts, ""
    message = f"it cannot be loaded: {error}"
    if file.whole is None:
        fix = f"{DRAIN}: cpuctl cannot read it either"
    elif facts.wrong_checksums:
        message += f"; {_not_that_of_the_content(facts.wrong_checksums)}"
        fix = REPAIR
    elif facts.readable_by:
        message += f"; format {facts.format} is read by {', '.join(facts.readable_by)}"
        if name in (CPU_FILE, MEMORY_FILE):
            # What pods hold as a whole no migration gives back.
            migrates = not getattr(file.whole, "pod_entries", None)
            message += "" if migrates else f" ({ROLLBACK})"
            fix = f"cpuctl checkpoint migrate --to-kubelet {version}" if migrates else REPAIR
        else:
            message += ", and no release converts it"
            fix = DRAIN
    return StateFinding(
        severity=Severity.ERROR,
        code="unreadable",
        place=StatePlace(name),
        message=message,
        detected=facts.format,
        fix=fix,
    )


def _unseen_checksum(name: str, file: AnyFile) -> StateFinding:
    wrong = _not_that_of_the_content(file.facts.wrong_checksums)
    return StateFinding(
        severity=Severity.WARNING,
        code="checksum-unseen",
        place=StatePlace(name),
        message=f"{wrong}: this kubelet does not look, others refuse the file",
        fix=REPAIR,
    )


def _not_that_of_the_content(checksums: Sequence[str]) -> str:
    verb, noun = ("is", "that") if len(checksums) == 1 else ("are", "those")
    return f"{' and '.join(checksums)} {verb} not {noun} of the content"


def _passed_over(name: str, file: AnyFile) -> Iterator[StateFinding]:
    if isinstance(file.read, UnreadableState) or file.whole is None:
        return
    for member, part in (("podEntries", "pod_entries"), ("baselines", "baselines")):
        if getattr(file.whole, part, None) and not getattr(file.read, part):
            departs = f" ({ROLLBACK})" if member == "podEntries" else ""
            yield StateFinding(
                severity=Severity.WARNING,
                code="part-unread",
                place=StatePlace(name),
                message=f"this kubelet does not read {member} of the file, and writes it without them"
                f"{departs}",
                detected=member,
            )
