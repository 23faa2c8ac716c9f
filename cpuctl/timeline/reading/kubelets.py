"""The successive kubelets of a timeline, with their releases and settings; and the API server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Value
from cpuctl.documents.loading import load_documents
from cpuctl.engine.outcome import FaultKind, KubeletFault, StartRefused
from cpuctl.errors import CpuctlError, InputError
from cpuctl.golang.text import GoError
from cpuctl.kubelet.configuration.loading import ConfigSources, load_configuration
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.gates.feature_gates import FeatureGates, gates_gone, minors_with
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import DEFAULT_VERSION, KubeletVersion, other_minors
from cpuctl.records import Record, replace
from cpuctl.timeline.model import ApiServer, KubeletAction, KubeletEvent, KubeletSetup
from cpuctl.timeline.reading.fields import duration, refuse_others

ReadFile: TypeAlias = Callable[[str], bytes]
"""Read a file that a timeline names, relative to the timeline's own location."""

_HEAD: Mapping[str, Value] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
}
_SETUP = ("version", "config", "preview", "podScaleDownGrace")
_SOURCE = "config"
_NEEDS_VERSION = {KubeletAction.UPGRADE: "newer", KubeletAction.DOWNGRADE: "older"}
_BARE = (KubeletAction.STOP, KubeletAction.START, KubeletAction.RESTART, KubeletAction.REBOOT)


class KubeletSettings(Record):
    """The kubelet's settings so far: every change adds to them."""

    version: KubeletVersion = DEFAULT_VERSION
    config: Mapping[str, Value] = {}
    preview: bool = True
    grace_of_pods: bool = False


class KubeletReader:
    """A reader of the kubelet's settings and their changes, in order of time."""

    def __init__(self, read_file: ReadFile) -> None:
        self.read_file = read_file
        self.settings = KubeletSettings()
        self.assumed = ""

    def first(self, cursor: Cursor) -> KubeletSetup:
        """Read the kubelet that a timeline begins with.

        If its release is not named, one is assumed that has all gates that are set; ``assumed`` then
        reports that.
        """
        self._read(cursor, ("running",))
        if cursor.get("version") is None:
            self._assume_release(cursor)
        return _loaded(self.settings, cursor)

    def _assume_release(self, cursor: Cursor) -> None:
        version, gates = self.settings.version, self.settings.config.get("featureGates")
        names = gates.keys() if isinstance(gates, dict) else ()
        minor = next(minors_with(names, version.minor, other_minors(version.minor)), None)
        if minor is None:
            return
        gone = ", ".join(gates_gone(names, version.minor, minor))
        nearest = "newest" if minor < version.minor else "first"
        self.settings = replace(self.settings, version=KubeletVersion(minor))
        self.assumed = (
            f"{cursor.where}: kubelet {version} has no feature gate {gone}: 1.{minor} is assumed, the "
            f"{nearest} with all of these gates (set version to choose another one)"
        )

    def setup(self, cursor: Cursor, others: tuple[str, ...] = ()) -> KubeletSetup:
        """Read settings on top of earlier ones; *others* are members that are not settings."""
        self._read(cursor, others)
        return _loaded(self.settings, cursor)

    def _read(self, cursor: Cursor, others: tuple[str, ...]) -> None:
        refuse_others(cursor, (*others, *_SETUP))
        before = self.settings
        self.settings = KubeletSettings(
            version=cursor.optional("version", _version, before.version),
            config=cursor.optional("config", self._config, before.config),
            preview=cursor.optional("preview", Cursor.boolean, before.preview),
            grace_of_pods=cursor.optional("podScaleDownGrace", Cursor.boolean, before.grace_of_pods),
        )

    def change(self, cursor: Cursor) -> KubeletEvent:
        """Read an action on the kubelet: one word, or an action with new settings."""
        if isinstance(cursor.value, str):
            return KubeletEvent(KubeletAction(cursor.one_of(_BARE)), _loaded(self.settings, cursor))
        action = KubeletAction(cursor.required("action").one_of(KubeletAction))
        before = self.settings.version
        setup = self.setup(cursor, ("action", "takes"))
        self._check(cursor, action, before)
        return KubeletEvent(action, setup, cursor.optional("takes", duration, 0))

    def _check(self, cursor: Cursor, action: KubeletAction, before: KubeletVersion) -> None:
        """Raise InputError for an upgrade or downgrade to an unsuitable version."""
        after, wanted = self.settings.version, _NEEDS_VERSION.get(action)
        if wanted and (after.order == before.order or (after.order > before.order) != (wanted == "newer")):
            message = f"expected a version {wanted} than {before}"
            raise cursor.required("version").error(message)
        if action is KubeletAction.RECONFIGURE and cursor.get("config") is None:
            raise cursor.error("config is missing: it lists what changes")

    def _config(self, cursor: Cursor) -> Mapping[str, Value]:
        """Read a configuration: a file, or members that change earlier settings."""
        value = cursor.value
        if isinstance(value, str):
            return self._config_of_file(cursor, value)
        cursor.members()
        assert isinstance(value, dict)
        return _patched(self.settings.config, value)

    def _config_of_file(self, cursor: Cursor, name: str) -> Mapping[str, Value]:
        try:
            first = load_documents(self.read_file(name), name)[0].value
        except CpuctlError as error:
            raise error.within(cursor.where) from None
        if not isinstance(first, dict):
            raise cursor.error(f"{name} does not contain a KubeletConfiguration")
        return first


def _version(cursor: Cursor) -> KubeletVersion:
    try:
        return KubeletVersion.parse(cursor.text())
    except ValueError as error:
        raise cursor.error(str(error)) from None


def _loaded(settings: KubeletSettings, cursor: Cursor) -> KubeletSetup:
    """Load a configuration as that kubelet does; raise InputError for errors other than its refusals."""
    text = json.dumps({**_HEAD, **settings.config})
    kubelet: Kubelet | StartRefused | KubeletFault
    try:
        loaded = load_configuration(ConfigSources(main=(text, _SOURCE)), settings.version)
    except ConfigRefusedError as error:
        kubelet = refused_start(error)
    except InputError as error:
        # The text is generated here as one line, so its line number is useless.
        raise cursor.error(str(error).replace(f"{_SOURCE}:1: ", f"{_SOURCE}.", 1), hint=error.hint) from None
    else:
        kubelet = Kubelet(
            version=settings.version,
            config=loaded.config,
            gate_flags=loaded.gate_flags,
            gates_of_main_file=loaded.gates_of_main_file,
        )
    return KubeletSetup(
        kubelet=kubelet,
        release=settings.version,
        preview=settings.preview,
        grace_of_pods=settings.grace_of_pods,
    )


def refused_start(error: ConfigRefusedError) -> StartRefused | KubeletFault:
    """Return how a kubelet ends that cannot load its configuration."""
    refusal = error.refusal
    if refusal.crash:
        return KubeletFault(kind=FaultKind.CRASH, where=refusal.stage, why=refusal.error)
    return StartRefused(stage=refusal.stage, error=refusal.error)


def _patched(before: Mapping[str, Value], patch: Mapping[str, Value]) -> dict[str, Value]:
    """Apply a JSON merge patch (RFC 7386): mappings merge, null deletes, everything else replaces."""
    merged = dict(before)
    for key, value in patch.items():
        old = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _patched(old if isinstance(old, dict) else {}, value)
        else:
            merged[key] = value
    return merged


def read_server(cursor: Cursor | None, before: ApiServer) -> ApiServer:
    """Read release and gates of the API server, on top of those *before*.

    Raise InputError if an API server of that release would not start with these gates.
    """
    if cursor is None:
        return before
    refuse_others(cursor, ("version", "featureGates"))
    minor = cursor.optional("version", _version, KubeletVersion(before.gates.minor)).minor
    given = cursor.optional("featureGates", _gates, {})
    release = FeatureGates.for_minor(minor)
    kept = {name: on for name, on in before.gates.settings.items() if release.stage(name) is not None}
    try:
        release.with_overrides(given)
    except GoError as error:
        raise cursor.error(f"API server 1.{minor} would not start with these gates: {error}") from None
    return ApiServer(FeatureGates(minor, {**kept, **given}))


def server_like(setup: KubeletSetup) -> ApiServer:
    """Return an API server of a kubelet's release, with the kubelet's gates."""
    release = FeatureGates.for_minor(setup.minor)
    kubelet = setup.kubelet
    settings = {**kubelet.config.feature_gates, **kubelet.gate_flags} if isinstance(kubelet, Kubelet) else {}
    return ApiServer(
        FeatureGates(setup.minor, {name: on for name, on in settings.items() if release.stage(name)})
    )


def _gates(cursor: Cursor) -> dict[str, bool]:
    return {name: value.boolean() for name, value in cursor.members().items()}
