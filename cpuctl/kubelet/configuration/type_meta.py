"""What a kubelet checks first in a configuration file: whether it is an object, and of which kind.

Rule: the serializers of ``k8s.io/apimachinery``. They match ``kind`` and ``apiVersion`` case-insensitively,
as Go's own decoder does.
"""

from __future__ import annotations

import re

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Document, Syntax
from cpuctl.documents.loading import ObjectText, decoded, read_object
from cpuctl.documents.positions import Path
from cpuctl.documents.text_errors import BrokenTextError
from cpuctl.errors import InputError
from cpuctl.golang.json_mistakes import JSONDecoder, first_mistake
from cpuctl.kubelet.configuration.schema import FIELD_TYPES
from cpuctl.records import Record

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"
STAGE = "configDecode"
_CONFIGZ = "the node's /configz (kubectl get --raw /api/v1/nodes/NODE/proxy/configz)"
BEGIN = f"start it with the lines apiVersion: {API_VERSION} and kind: {KIND}"
"""What to do about a file that is empty, or has only settings."""
_CORRECT = "check the text before this place for unclosed quotes or brackets and wrong indentation"
HINT = "use the file that the kubelet reads (its --config flag), often /var/lib/kubelet/config.yaml"

_INSTEAD = {
    ("", "ConfigMap"): "this is a ConfigMap: use the KubeletConfiguration in its data (data.kubelet)",
    ("", "Config"): "this is a kubeconfig: use the file that the kubelet's --config flag names",
    ("kubelet.config.k8s.io", "CredentialProviderConfig"): (
        "this is for --image-credential-provider-config: use the file that the kubelet's --config flag names"
    ),
    ("", "List"): "use one of its items",
    ("", "Node"): f"this is a Node: use {_CONFIGZ}",
    ("eksctl.io", ""): (
        "this is an eksctl file: use kubeletExtraConfig of a node group, with kind and apiVersion added, or"
        f" {_CONFIGZ}"
    ),
    ("machineconfiguration.openshift.io", ""): (
        "use the rendered MachineConfig (oc get mc rendered-worker-... -o yaml) or the node's /configz"
    ),
    ("bootstrap.cluster.x-k8s.io", ""): (
        f"this is a Cluster API file: pass its kubeletExtraArgs with --kubelet-args, or use {_CONFIGZ}"
    ),
}
_STYLES = (
    (
        r"^\[(?:Unit|Service|Install)\]",
        "this is a systemd unit: use the file that --config in its ExecStart names",
    ),
    (r"\A#cloud-config\b", "this is cloud-init user data: use the kubelet's file in its write_files"),
    (
        r"\A(?:MIME-Version|Content-Type):",
        (
            "this is multipart user data: use the part that configures the kubelet, such as a NodeConfig, as "
            "a file"
        ),
    ),
    (
        r"^(?:write-kubeconfig-mode|tls-san|node-label|node-taint|cluster-init|kube-apiserver-arg)\+?:",
        f"this k3s or RKE2 configuration sets no kubelet-arg: use {_CONFIGZ}",
    ),
    (
        r"^machine:",
        f"this Talos machine configuration has no machine.kubelet: use {_CONFIGZ}",
    ),
    (
        r"\A(?:(?:[A-Z_]++=|#)[^\n]*+\n|[ \t]*+\n)*+(?:[A-Z_]++=[^\n]*+)?\Z",
        "this is an environment file: pass its flags with --kubelet-args @FILE",
    ),
    (
        r"^[ \t]*+\[++[\w.\"-]++\]++[ \t]*+$|^[ \t]*+[\w-]++ = ",
        "this is TOML: the only supported TOML is Bottlerocket user data with [settings.kubernetes]",
    ),
)
"""How other files begin or what they contain, and what to specify instead."""

_HEAD = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_PARSING = "couldn't get version/kind; json parse error: "


def instead(kind: str, api_version: str) -> str:
    """Return a hint on what to use instead of a document of another kind."""
    group = api_version.partition("/")[0] if "/" in api_version else ""
    known = _INSTEAD.get((group, kind)) or _INSTEAD.get((group, ""))
    return known or f"use the file that the kubelet reads (its --config flag) or {_CONFIGZ}"


def _hint_from_content(text: str) -> str:
    return next((hint for looks, hint in _STYLES if re.search(looks, text, re.MULTILINE)), "")


class NoObjectError(Exception):
    """A file that is not a configuration: our error, and the kubelet's."""

    def __init__(self, error: InputError, text: str) -> None:
        super().__init__(text)
        self.error = error
        self.text = text


class TypeMeta(Record):
    """Where kind and version are; None if they are missing."""

    kind_at: Cursor | None
    version_at: Cursor | None

    @property
    def kind(self) -> str:
        """The kind, empty if it is missing."""
        return self.kind_at.text() if self.kind_at else ""

    @property
    def api_version(self) -> str:
        """Group and version as written, empty if missing."""
        return self.version_at.text() if self.version_at else ""


def read_config_object(text: str | bytes, source: str) -> tuple[ObjectText, TypeMeta]:
    """Read the object of a file, which must have a kind, but can have any kind.

    Raise NoObjectError if the kubelet's words for the problem are known, else InputError.
    """
    try:
        found = read_object(text, source)
    except BrokenTextError as error:
        error.hint = _hint_from_content(decoded(text, source)) or error.hint or _CORRECT
        if error.go:
            raise NoObjectError(error, error.go) from None
        raise
    type_meta = _type_meta(found.document)
    if not type_meta.kind:
        raise without(found.document, "kind", "Kind", KIND)
    return found, type_meta


def without(document: Document, name: str, shown: str, wanted: str) -> NoObjectError:
    """Return the error for a file without kind or version."""
    if document.value is None:
        error = InputError("empty: expected YAML or JSON", where=document.source, hint=BEGIN)
    else:
        headless = isinstance(document.value, dict) and not FIELD_TYPES.keys().isdisjoint(document.value)
        hint = _hint_from_content(document.text) or (BEGIN if headless else HINT)
        error = Cursor.at_root(document).error(f"{name} is missing: expected {wanted}", hint=hint)
    return NoObjectError(error, f"Object '{shown}' is missing in '{document.text}'")


def _type_meta(document: Document) -> TypeMeta:
    if document.value is None:
        return TypeMeta(None, None)
    ordered = document.syntax is Syntax.JSON
    walk = JSONDecoder(
        structs={_HEAD: {"apiVersion": "string", "kind": "string"}}, any_case=True, ordered=ordered
    )
    if mistake := first_mistake(document.value, _HEAD, walk):
        # The struct is anonymous in Go.
        text = mistake.text.replace(f"field {_HEAD}.", "field .")
        raise NoObjectError(_unexpected(document, mistake.path), _PARSING + text)
    type_meta = TypeMeta(_member(document, "kind"), _member(document, "apiVersion"))
    if type_meta.version_at and type_meta.api_version.count("/") > 1:
        error = type_meta.version_at.expected(API_VERSION, hint=HINT)
        raise NoObjectError(error, f"unexpected GroupVersion string: {type_meta.api_version}")
    return type_meta


def _unexpected(document: Document, path: Path) -> InputError:
    root = Cursor.at_root(document)
    if not path:
        return root.expected("a mapping", hint=_hint_from_content(document.text) or HINT)
    name = str(path[0])
    return root.members()[name].expected(KIND if name.lower() == "kind" else API_VERSION, hint=HINT)


def _member(document: Document, name: str) -> Cursor | None:
    """Find the last of a member's spellings, in the order in which a decoder reads them."""
    members = Cursor.at_root(document).members()
    names = members if document.syntax is Syntax.JSON else sorted(members)
    spelt = [members[each] for each in names if each.lower() == name.lower()]
    return next((each for each in reversed(spelt) if each.value is not None), None)
