"""The answer of ``cpuctl capture``, and the manifest that every capture begins with."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from cpuctl.answers.values import SHA256, ApiVersion, Count, Pattern, Unreadable

AreaName = Literal["topology", "kubelet", "cgroups", "processes", "interrupts", "volumes", "limits"]
Counted = Literal["cgroups", "cpus", "flags", "interrupts", "numaNodes", "processes", "stateFiles", "threads"]
Flags = list[Annotated[str, Pattern("^--[a-z0-9-]+=")]]


class ReportPart(TypedDict, total=False):
    next: str
    """The command to run next: it shows what was recorded."""


class Capture(ReportPart):
    """A node that was recorded in one archive."""

    apiVersion: ApiVersion
    kind: Literal["Capture"]
    file: str
    """The archive that was written."""
    manifest: Manifest


class Timestamp(TypedDict, total=False):
    recordedAt: str
    """Only if requested (--timestamp)."""


class Manifest(Timestamp):
    """MANIFEST.json, the first member of the archive."""

    layoutVersion: Literal["v1"]
    cpuctl: str
    """The version of cpuctl that made the recording."""
    source: Literal["live", "directory"]
    anonymized: bool
    """Whether names and IDs are replaced with pseudonyms."""
    stateChecksumsValid: bool
    """False if pseudonyms changed the state files, which keep their original checksums."""
    kubelet: Kubelet
    areas: list[Area]
    unreadable: list[Unreadable]
    """What exists but could not be recorded."""
    members: Count
    """Number of entries apart from the manifest and the checksums."""
    checksums: Checksums
    """The archive member with the SHA-256 of every file, and that member's own SHA-256."""


class Kubelet(TypedDict):
    version: str | None
    versionSource: str | None
    """The program that reported the version."""
    flags: Flags | None
    """Flags of the running kubelet that concern its resource managers; null if no kubelet was found."""
    otherFlags: list[str]
    """Names of all other flags; their values may be secrets."""
    unit: Unit
    """Flags with which systemd would start the kubelet, if it is not running."""
    rootDirectory: str
    """The directory with the state files."""
    config: Config
    dropIns: DropIns


class Unit(TypedDict):
    flags: Flags | None
    """Flags that concern its resource managers; null if no file has them."""
    files: list[str]
    """The unit, its drop-ins and environment files."""
    places: dict[str, str]
    """The lines that set flags, by flag name."""
    gap: str | None
    """Why flags may be missing."""


class Config(TypedDict):
    path: str | None
    """Path of the file on the node; null if there is none."""
    state: Literal["recorded", "absent", "unreadable"]


class DropIns(TypedDict):
    directory: str | None
    used: bool
    """Whether the running kubelet reads the drop-in files."""
    complete: bool
    """Whether all drop-in files could be recorded."""


class Area(TypedDict):
    name: AreaName
    entries: Count
    counts: dict[Counted, Count]
    notes: list[str]


class Checksums(TypedDict):
    file: Literal["SHA256SUMS"]
    sha256: SHA256
