"""What a kubelet rejects after its validation, one error at a time; and what is not checked here.

Rule: ``cmd/kubelet/app/server.go``, ``NewMainKubelet``, ``pkg/kubelet/eviction/helpers.go`` and
``pkg/kubelet/logs``, 1.36. Of several wrong thresholds the kubelet names any; here the first by name is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from cpuctl.golang.conversions import float32, parse_float32
from cpuctl.golang.durations import parse_duration
from cpuctl.golang.text import GoError, quoted
from cpuctl.kubelet.reservations import (
    BEYOND,
    NEGATIVE,
    NOT_POSITIVE,
    SIGNALS,
    UNREADABLE,
    UNSUPPORTED,
    parse_thresholds,
    threshold_problem,
)
from cpuctl.kubelet.validation.rule import Breaks, Broken, Rule, Subject, when
from cpuctl.quantity import Quantity
from cpuctl.records import Record

HARD, CONTAINER_MANAGER, KUBELET = "evictionHard", "containerManager", "kubelet"
_HARD = "evictionHard"
_SOFT, _GRACE, _RECLAIM = "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"
_DETECTION = ("Get", "Cache", "Watch")
_AUTHORIZATION = ("AlwaysAllow", "Webhook")
_TLS_VERSIONS = ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")


def _entries(subject: Subject, field: str) -> Iterable[object]:
    return sorted(subject.given(field).items())


def _threshold(message: str) -> Breaks:
    """Return a check that a threshold does not have the problem in *message*."""

    def breaks(subject: Subject) -> Broken:
        found, values = threshold_problem(*subject.item) or ("", ())
        return when(found == message, *values)

    return breaks


def _unknown(subject: Subject) -> Broken:
    return when(subject.item[0] not in SIGNALS, subject.item[0])


def _unreadable_grace(subject: Subject) -> Broken:
    try:
        parse_duration(subject.item[1])
    except GoError as error:
        return ((error,),)
    return ()


def _negative_grace(subject: Subject) -> Broken:
    return when(parse_duration(subject.item[1]) < 0, subject.item[1])


def _share(text: str) -> float:
    return float32(parse_float32(text.rstrip("%")) / 100)


def _unreadable_reclaim(subject: Subject) -> Broken:
    text = subject.item[1]
    try:
        _share(text) if text.endswith("%") else Quantity.parse(text)
    except GoError as error:
        return ((error,),)
    return ()


def _no_reclaim(subject: Subject) -> Broken:
    signal, text = subject.item
    return when(text.endswith("%") and _share(text) <= 0, signal, text)


def _negative_reclaim(subject: Subject) -> Broken:
    signal, text = subject.item
    return when(not text.endswith("%") and Quantity.parse(text).sign < 0, signal)


def _without_grace(subject: Subject) -> Broken:
    signal, text = subject.item
    counts = bool(parse_thresholds({signal: text}))
    return when(counts and signal not in subject.config.eviction_soft_grace_period, signal)


def _root_as_container(subject: Subject) -> Broken:
    return when(subject.config.system_cgroups == "/")


def _sync(subject: Subject) -> Broken:
    period = subject.duration("syncFrequency")
    return when(period < 0, period)


def _detection(subject: Subject) -> Broken:
    strategy = subject.text("configMapAndSecretChangeDetectionStrategy") or "Watch"
    return when(strategy not in _DETECTION, strategy)


def _few_log_files(subject: Subject) -> Broken:
    files = subject.number("containerLogMaxFiles")
    return when(files is not None and files <= 1, files)


def _unreadable_log_size(subject: Subject) -> Broken:
    size = subject.text("containerLogMaxSize")
    try:
        whole = not size or Quantity.parse(size).exact_int64 is not None
    except GoError as error:
        return ((quoted(size), error),)
    return when(not whole, quoted(size), "invalid max log size")


def _tls_version(subject: Subject) -> Broken:
    version = subject.text("tlsMinVersion")
    return when(bool(version) and version not in _TLS_VERSIONS, quoted(version))


def _authorization(subject: Subject) -> Broken:
    mode = subject.member("authorization", "mode") or "Webhook"
    return when(mode not in _AUTHORIZATION, mode)


def _swap_on_v1(subject: Subject) -> Broken:
    limited = subject.config.swap_behavior == "LimitedSwap" and subject.on("NodeSwap")
    return when(limited and subject.cgroup_version == 1)


_of_hard = partial(Rule, _HARD, stage=HARD, each=partial(_entries, field=_HARD))
_of_soft = partial(Rule, _SOFT, stage=KUBELET, each=partial(_entries, field=_SOFT))
_of_grace = partial(Rule, _GRACE, stage=KUBELET, each=partial(_entries, field=_GRACE))
_of_reclaim = partial(Rule, _RECLAIM, stage=KUBELET, each=partial(_entries, field=_RECLAIM))
_LOGS = "failed to initialize container log manager:"

_THRESHOLDS = (UNSUPPORTED, NEGATIVE, BEYOND, NOT_POSITIVE, UNREADABLE)

LATER: tuple[Rule, ...] = (
    *(_of_hard(message, _threshold(message)) for message in _THRESHOLDS),
    Rule("tlsMinVersion", "unknown tls version {}", _tls_version, stage=CONTAINER_MANAGER),
    Rule("authorization.mode", "unknown authorization mode {}", _authorization, stage=CONTAINER_MANAGER),
    Rule(
        "memorySwap.swapBehavior",
        "swap feature is enabled and LimitedSwap but it is only supported with cgroupv2",
        _swap_on_v1,
        since=30,
        stage=CONTAINER_MANAGER,
        on_cgroup_v1=True,
    ),
    Rule("syncFrequency", "invalid sync frequency {}", _sync, stage=KUBELET),
    *(_of_soft(message, _threshold(message)) for message in _THRESHOLDS),
    _of_grace("unsupported eviction signal {}", _unknown),
    _of_grace("{}", _unreadable_grace),
    _of_grace("invalid eviction grace period specified: {}, must be a positive value", _negative_grace),
    _of_reclaim("unsupported eviction signal {}", _unknown),
    _of_reclaim("{}", _unreadable_reclaim),
    _of_reclaim("eviction percentage minimum reclaim {} must be positive: {}", _no_reclaim),
    _of_reclaim("negative eviction minimum reclaim specified for {}", _negative_reclaim),
    _of_soft("grace period must be specified for the soft eviction threshold {}", _without_grace),
    Rule(
        "configMapAndSecretChangeDetectionStrategy",
        "unknown configmap and secret manager mode: {}",
        _detection,
        stage=KUBELET,
    ),
    Rule(
        "containerLogMaxFiles",
        f"{_LOGS} invalid MaxFiles {{}}, must be > 1",
        _few_log_files,
        until=33,
        stage=KUBELET,
    ),
    Rule(
        "containerLogMaxSize",
        f"{_LOGS} failed to parse container log max size {{}}: {{}}",
        _unreadable_log_size,
        stage=KUBELET,
    ),
    Rule("systemCgroups", 'system container cannot be root ("/")', _root_as_container, stage=KUBELET),
)
"""The rules in the kubelet's order; it exits at the first that is broken."""


class NotChecked(Record):
    """Something a kubelet checks on its host at startup that is not checked here: settings and the question.

    It applies since release 1.*since*.
    """

    fields: tuple[str, ...]
    what: str
    since: int = 0


_LAST_SEEN = 36

NOT_CHECKED = (
    NotChecked(("failSwapOn",), "whether the host uses swap"),
    NotChecked(
        ("cgroupRoot", "kubeReservedCgroup", "systemReservedCgroup", "systemCgroups", "kubeletCgroups"),
        "whether the named cgroups exist",
    ),
    NotChecked(
        ("containerRuntimeEndpoint", "imageServiceEndpoint", "cgroupDriver"),
        "the runtime's sockets and cgroup driver",
    ),
    NotChecked(
        (
            "authentication",
            "tlsCertFile",
            "tlsPrivateKeyFile",
            "resolvConf",
            "staticPodPath",
            "volumePluginDir",
            "podLogsDir",
        ),
        "whether the named files and directories exist",
    ),
    NotChecked(
        ("address", "port", "readOnlyPort", "healthzBindAddress", "healthzPort"),
        "whether addresses and ports are free",
    ),
    NotChecked(("userNamespaces",), "the host's subordinate IDs", since=33),
    NotChecked(("tlsCipherSuites", "tlsCurvePreferences"), "which ciphers the kubelet's build supports"),
    NotChecked(
        ("allowedUnsafeSysctls", "protectKernelDefaults", "makeIPTablesUtilChains"), "kernel settings"
    ),
    NotChecked(
        ("registerNode", "serverTLSBootstrap", "rotateCertificates", "staticPodURL"),
        "the network and the API server",
    ),
    NotChecked(("localStorageCapacityIsolation",), "the node's file systems"),
    NotChecked((), "the systemd watchdog settings", since=32),
    NotChecked(
        (),
        f"whether rules and flags changed after 1.{_LAST_SEEN} (assumed not)",
        since=_LAST_SEEN + 1,
    ),
)


def not_checked(minor: int | None) -> tuple[NotChecked, ...]:
    """List what is not checked for a release; if it is unknown, what applies to all."""
    return tuple(each for each in NOT_CHECKED if each.since <= (minor or 0))
