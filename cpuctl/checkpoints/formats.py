"""Formats of state files, and a kubelet's single attempt to load a file in one of them.

Rule: kubernetes ``pkg/kubelet/checkpointmanager`` and the ``VerifyChecksum`` of every format.
"""

from cpuctl.checkpoints.reader import StateReader
from cpuctl.golang import hashes
from cpuctl.golang.json_values import GoJsonError, Json, parsed_json
from cpuctl.golang.state_types import Decoding, Field, Integer, Struct, Text, Value
from cpuctl.records import Record

CORRUPTED = "checkpoint is corrupted"
"""The kubelet's error for a checksum that does not match the content."""
CHECKSUM = Field("checksum", "Checksum", Integer("checksum.Checksum"))
_DATA = Field("data", "Data", Text())
_DATA_CHECKSUM = Field("dataChecksum", "DataChecksum", Integer("checksum.Checksum"))


def fnv1a_32(text: str) -> int:
    """Hash a line: the kubelet's printout of a struct whose checksum is set to 0."""
    return hashes.fnv1a_32(text.encode("utf-8", "surrogatepass"))


class Loaded(Record):
    """The result of one attempt: the decoded struct, whole or in part, and why it failed, if it did."""

    document: Value
    error: str = ""


class Checked(Record):
    """A checksum of a file, with its JSON name: the recorded and the correct value."""

    name: str
    written: int
    right: int

    @property
    def ok(self) -> bool:
        """Return whether it is right."""
        return self.written == self.right


class Format(Record):
    """A format that is one struct with a checksum over itself.

    ``hashed_as``: the struct's names in the checksum; readers accept all, writers use the first.
    ``zero_sum``: a checksum of 0 is accepted without verification.
    """

    struct: Struct
    hashed_as: tuple[str, ...]
    zero_sum: bool = False

    def load(self, found: Json, reader: StateReader) -> Loaded:
        """Load as the kubelet does: decode, then verify the checksum."""
        loaded = decoded(self.struct, found, names_keys=reader.names_keys)
        unseen = self.zero_sum and loaded.document["checksum"] == 0
        if loaded.error or unseen or self.checked(loaded.document).ok:
            return loaded
        return Loaded(loaded.document, CORRUPTED)

    def checked(self, document: Value) -> Checked:
        """Compute the checksum and compare."""
        written = document["checksum"]
        sums = [fnv1a_32(self.hashed(document, name)) for name in self.hashed_as]
        return Checked("checksum", written, written if written in sums else sums[0])

    def hashed(self, document: Value, name: str) -> str:
        """Return the text over which the checksum is taken."""
        return f"(*state.{name}){self.struct.shown(document | {'checksum': 0})}"

    def write(self, document: Value) -> str:
        """Write the file with its checksum."""
        return self.struct.written(self.summed(document))

    def summed(self, document: Value) -> Value:
        """Put the checksum into a document."""
        return document | {"checksum": fnv1a_32(self.hashed(document, self.hashed_as[0]))}


def decoded(struct: Struct, found: Json, *, names_keys: bool = True) -> Loaded:
    """Decode as the kubelet does: into a struct whose maps are empty, not nil.

    ``names_keys``: the path in a complaint includes map keys (see ``Decoding``).
    """
    empty = {name: {} if value is None else value for name, value in struct.zero().items()}
    decoding = Decoding(struct.name, names_keys=names_keys)
    return Loaded(struct.decode(found, empty, (), decoding), decoding.complaint)


def decoded_text(struct: Struct, text: str, *, names_keys: bool = True) -> Loaded:
    """Decode JSON text; ``error`` is Go's complaint if it is invalid."""
    try:
        return decoded(struct, parsed_json(text), names_keys=names_keys)
    except GoJsonError as error:
        return Loaded(struct.zero(), str(error))


class Envelope(Record):
    """A format that holds an older one next to its own content: JSON in a string with a checksum.

    ``manager`` is the manager's name in error messages.
    """

    old: Format
    struct: Struct
    data: Struct
    manager: str

    def load(self, found: Json, reader: StateReader) -> Loaded:
        """Load ``data``; the older document next to it is ignored."""
        outer = decoded(self.struct, found, names_keys=reader.names_keys)
        if outer.error:
            return self._failed(outer, outer.error, "")
        inner = decoded_text(self.data, outer.document["data"], names_keys=reader.names_keys)
        if inner.error:
            return self._failed(outer, inner.error, " data")
        return inner if self.checked(outer.document).ok else Loaded(outer.document, CORRUPTED)

    def checked(self, outer: Value) -> Checked:
        """Compute the checksum of ``data`` and compare."""
        return Checked("dataChecksum", outer["dataChecksum"], data_checksum(outer["data"]))

    def meant(self, outer: Value) -> bool:
        """Distinguish a file of this format, broken or not, from one of an older format."""
        return bool(outer["data"]) or outer["dataChecksum"] != 0

    def write(self, document: Value) -> str:
        """Write the file: the older document with its checksum, then the data with theirs."""
        data = self.data.written(document)
        sums = {"data": data, "dataChecksum": data_checksum(data)}
        return self.struct.written(self.old.summed(document) | sums)

    def _failed(self, outer: Loaded, error: str, part: str) -> Loaded:
        return Loaded(
            outer.document, f"failed to deserialize {self.manager} manager checkpoint{part}: {error}"
        )


def envelope(old: Format, data: Struct, name: str, manager: str) -> Envelope:
    """Return the format that holds *old* next to *data*."""
    struct = Struct(f"state.{name}", (*old.struct.fields, _DATA, _DATA_CHECKSUM))
    return Envelope(old=old, struct=struct, data=data, manager=manager)


def data_checksum(data: str) -> int:
    """Return the checksum of a string as it is."""
    return fnv1a_32(f"(string){data}")
