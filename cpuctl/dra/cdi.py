"""The CDI specification (JSON) in which the driver ``dra.cpu`` describes prepared claims to runtimes.

Rule: kubernetes-sigs/dra-driver-cpu at de98098, ``pkg/driver/cdi.go``: one device per claim, whose variable
contains its CPUs; the driver itself reads them back when it starts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.machine.recording_layout import CDI_KIND, CDI_VARIABLE, prepared_claims_file
from cpuctl.machine.tree import Tree

_DEVICE = re.compile(r"claim-(.+)", re.ASCII)


class CDIFile(NamedTuple):
    """The CPUs of prepared claims by UID, and the file they were read from."""

    path: str
    claims: dict[str, CPUSet]


def read_cdi(files: Tree | None) -> CDIFile | None:
    """Read the driver's file; None if it does not exist. Raise InputError if it is invalid."""
    found = prepared_claims_file(files.read) if files is not None else None
    if found is None:
        return None
    path, text = found
    return CDIFile(path, decode_cdi(text, path))


def decode_cdi(text: str, path: str) -> dict[str, CPUSet]:
    """Read the claims of a specification; like the driver, treat an empty file as one without claims.

    Raise InputError with the location of invalid content.
    """
    claims: dict[str, CPUSet] = {}
    for document in load_documents(text, path) if text.strip() else ():
        root = Cursor.at_root(document)
        kind = root.required("kind")
        if kind.text() != CDI_KIND:
            raise kind.expected(CDI_KIND)
        for device in root.optional("devices", Cursor.items, []):
            name = device.required("name")
            found = _DEVICE.fullmatch(name.text())
            if not found:
                raise name.expected("claim- and the UID of a claim")
            claims[found[1]] = _cpus(device, found[1])
    return claims


def _cpus(device: Cursor, uid: str) -> CPUSet:
    """Return the CPUs in the variable of a claim."""
    edits = device.required("containerEdits")
    for variable in edits.optional("env", Cursor.items, []):
        name, _, cpus = variable.text().partition("=")
        if name == f"{CDI_VARIABLE}{uid}":
            try:
                return CPUSet.parse(cpus)
            except ValueError as error:
                raise variable.error(str(error)) from None
    raise edits.expected(f"a variable {CDI_VARIABLE}{uid}")
