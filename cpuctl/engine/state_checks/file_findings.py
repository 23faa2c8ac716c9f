"""State files as they are found: what a kubelet reads from them, their content, and what is wrong."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from cpuctl.checkpoints.model import (
    DRAIN,
    ClaimsStateFile,
    CPUStateFile,
    DevicesStateFile,
    MemoryStateFile,
    PodsStateFile,
    UnreadableState,
)
from cpuctl.departures import ROLLBACK
from cpuctl.diagnostics import Severity
from cpuctl.engine.saved_files import LoadFailure, SavedFiles
from cpuctl.engine.state_checks.findings import REPAIR, StateFinding, StatePlace
from cpuctl.phrases import all_of
from cpuctl.records import Record, replace
from cpuctl.state_names import CLAIMS_FILE, CPU_FILE, DEVICES_FILE, MEMORY_FILE

_State = TypeVar("_State")


class FileFacts(Record):
    """What a file is, regardless of the kubelet that reads it.

    ``wrong_checksums`` are the members whose checksum does not match the content. ``zero_sum``: they are 0,
    which all kubelets that read the format accept. ``embedded_differs``: the older document that the newest
    formats include differs from the file. ``readable_by`` are the kinds of kubelet that load it.
    """

    format: str = ""
    wrong_checksums: tuple[str, ...] = ()
    zero_sum: bool = False
    embedded_differs: bool = False
    readable_by: tuple[str, ...] = ()


class FoundFile(Record, Generic[_State]):
    """One file: ``read`` is what the kubelet reads from it, ``whole`` its whole content.

    ``whole`` is None if that is not known.
    """

    read: _State | UnreadableState
    whole: _State | None = None
    facts: FileFacts = FileFacts()

    @property
    def state(self) -> _State | None:
        """The content to check: what the kubelet reads or, if it reads nothing, the whole content."""
        return self.whole if isinstance(self.read, UnreadableState) else self.read


class FoundStates(Record):
    """The files of one kubelet; None for a file that does not exist.

    ``pods`` are those that in-place resize keeps, ``devices`` the device manager's, ``claims`` the DRA
    manager's. ``by_others`` is what other releases read from them, if the input does not name a release.
    """

    cpu: FoundFile[CPUStateFile] | None = None
    memory: FoundFile[MemoryStateFile] | None = None
    pods: Mapping[str, FoundFile[PodsStateFile]] = {}
    devices: FoundFile[DevicesStateFile] | None = None
    claims: FoundFile[ClaimsStateFile] | None = None
    by_others: Mapping[int, SavedFiles] = {}

    @property
    def by_name(self) -> "Mapping[str, AnyFile]":
        """All files that exist."""
        files: dict[str, AnyFile | None] = {
            CPU_FILE: self.cpu,
            MEMORY_FILE: self.memory,
            **self.pods,
            DEVICES_FILE: self.devices,
            CLAIMS_FILE: self.claims,
        }
        return {name: file for name, file in files.items() if file is not None}


AnyFile: TypeAlias = (
    FoundFile[CPUStateFile]
    | FoundFile[MemoryStateFile]
    | FoundFile[PodsStateFile]
    | FoundFile[DevicesStateFile]
    | FoundFile[ClaimsStateFile]
)


def file_findings(
    name: str,
    file: AnyFile,
    policy: str | None,
    version: str,
    failure: LoadFailure = "stops",
    *,
    certain: bool = True,
) -> Iterator[StateFinding]:
    """Report what is wrong with a file; *policy* is the configured one, None if it is not known.

    *failure* is what the kubelet does with it. If the release is unknown and releases differ in how they
    end (*certain* is False), a file that another release may read is not an error.
    """
    if failure == "unread":
        yield _unread(name, file, version)
        return
    if failure == "goesOn":
        yield from _gone_on(name, file)
        return
    if isinstance(file.read, UnreadableState):
        found = _unreadable(name, file, file.read.error, version)
        yield found if certain else replace(found, severity=Severity.WARNING)
    elif file.facts.wrong_checksums:
        yield _unseen_checksum(name, file)
    if file.facts.embedded_differs:
        yield StateFinding(
            severity=Severity.WARNING,
            code="embedded-differs",
            place=StatePlace(name),
            message="the copy for kubelets before 1.37 differs from the file: they would start with "
            "a different state",
            fix=REPAIR,
        )
    written = getattr(file.state, "policy_name", None)
    if policy is not None and written is not None and written != policy:
        yield StateFinding(
            severity=Severity.ERROR,
            code="policy-differs",
            place=StatePlace(name),
            message=f'the file was written with policy "{written}", but "{policy}" is configured',
            expected=policy,
            detected=written,
            fix=f"configure policy {written}{_COMPANIONS.get(written, '')}, or {REPAIR}"
            if written
            else REPAIR,
        )
    yield from _passed_over(name, file)


_COMPANIONS = {
    "none": " (without cpuManagerPolicyOptions)",
    "static": " (with reserved CPUs)",
    "Static": " (with reservedMemory)",
}
"""What the kubelet requires of a configuration with a policy of the CPU or Memory Manager."""


def _unread(name: str, file: AnyFile, version: str) -> StateFinding:
    """Report that this kubelet does not read a file, regardless of its content."""
    broken = isinstance(file.read, UnreadableState)
    return StateFinding(
        severity=Severity.NOTE,
        code="unread",
        place=StatePlace(name),
        message=f"kubelet {version} does not read it"
        + (", so the error does no harm here" if broken else ""),
        detected=file.facts.format,
    )


def _gone_on(name: str, file: AnyFile) -> Iterator[StateFinding]:
    """Report what is lost if a kubelet goes on without what it cannot read."""
    if isinstance(file.read, UnreadableState):
        yield StateFinding(
            severity=Severity.WARNING,
            code="devices-unreadable",
            place=StatePlace(name),
            message=f"cannot be loaded: {file.read.error}; the kubelet logs this, starts, and treats "
            "every device as free: it may assign devices that are in use to other containers",
            detected=file.facts.format,
            fix=REPAIR if file.whole is not None and file.facts.wrong_checksums else DRAIN,
        )


def _read_by(facts: FileFacts) -> str:
    separator = "; " if any(" and " in each for each in facts.readable_by) else ", "
    return f"format {facts.format} is read by {separator.join(facts.readable_by)}"


def _unreadable(name: str, file: AnyFile, error: str, version: str) -> StateFinding:
    facts, fix = file.facts, ""
    message = f"cannot be loaded: {error}"
    if file.whole is None:
        fix = DRAIN
    elif facts.readable_by and name not in (CPU_FILE, MEMORY_FILE):
        message += f"; {_read_by(facts)}, and no release converts it"
        fix = DRAIN
    elif facts.wrong_checksums:
        message += f"; {_not_that_of_the_content(facts.wrong_checksums)}"
        fix = REPAIR
    elif facts.readable_by:
        # No migration restores what pods hold as a whole.
        migrates = not getattr(file.whole, "pod_entries", None)
        message += f"; {_read_by(facts)}{'' if migrates else f' ({ROLLBACK})'}"
        fix = f"cpuctl checkpoint migrate --to {version}" if migrates else REPAIR
    return StateFinding(
        severity=Severity.ERROR,
        code="unreadable",
        place=StatePlace(name),
        message=message,
        detected=facts.format,
        fix=fix,
    )


def _unseen_checksum(name: str, file: AnyFile) -> StateFinding:
    if file.facts.zero_sum:
        message = "checksum 0: the kubelet does not check the content"
    else:
        wrong = _not_that_of_the_content(file.facts.wrong_checksums)
        message = f"{wrong}: this kubelet does not check it, but others reject the file"
    return StateFinding(
        severity=Severity.WARNING,
        code="checksum-unseen",
        place=StatePlace(name),
        message=message,
        fix=REPAIR,
    )


def _not_that_of_the_content(checksums: Sequence[str]) -> str:
    verb = "does" if len(checksums) == 1 else "do"
    return f"{all_of(checksums)} {verb} not match the content"


_UNREAD = {
    "podEntries": "podEntries of the file",
    "baselines": "the CPUs guaranteed at admission (baselines in the file)",
}


def _passed_over(name: str, file: AnyFile) -> Iterator[StateFinding]:
    if isinstance(file.read, UnreadableState) or file.whole is None:
        return
    for member, part in zip(_UNREAD, ("pod_entries", "baselines"), strict=True):
        if getattr(file.whole, part, None) and not getattr(file.read, part):
            departs = f" ({ROLLBACK})" if member == "podEntries" else ""
            yield StateFinding(
                severity=Severity.WARNING,
                code="part-unread",
                place=StatePlace(name),
                message=f"this kubelet does not read {_UNREAD[member]}, and rewrites the file without "
                f"them{departs}",
                detected=member,
            )
