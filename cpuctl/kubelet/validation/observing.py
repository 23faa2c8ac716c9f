"""Rules for logging, tracing and hidden metrics.

Rule: ``k8s.io/component-base`` ``logs/api/v1``, ``tracing/api/v1`` and ``metrics``, 1.27 to 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from cpuctl.golang.conversions import url_scheme
from cpuctl.golang.durations import duration_text, parse_duration
from cpuctl.golang.text import GoError, quoted
from cpuctl.kubelet.validation.rule import PREFIX, Breaks, Broken, Rule, Subject, when
from cpuctl.quantity import Quantity

_INT32 = (1 << 31) - 1
_MOST_SAMPLES = 1_000_000
_PLAIN_FIELD_ERRORS = 34
"""The release since which values in field errors are written as JSON instead of Go syntax."""


def _format(subject: Subject) -> str:
    return str(subject.member("logging", "format") or "text")


def _flush(subject: Subject) -> Broken:
    given = subject.member("logging", "flushFrequency")
    if isinstance(given, str):
        period = parse_duration(given)
        return when(period < 0, quoted(duration_text(period)))
    return when(given is not None and int(given) < 0, given)


def _unknown_format(subject: Subject) -> Broken:
    name = _format(subject)
    return when(name not in subject.build.log_formats, quoted(name))


def _closed_format(subject: Subject) -> Broken:
    known = _format(subject) == "json" and "json" in subject.build.log_formats
    return when(known and not subject.on("LoggingBetaOptions"))


def _too_verbose(level: object, minor: int) -> Broken:
    number = int(level) if isinstance(level, int | float) else 0
    return when(number > _INT32, number if minor >= _PLAIN_FIELD_ERRORS else hex(number))


def _verbosity(subject: Subject) -> Broken:
    return _too_verbose(subject.member("logging", "verbosity"), subject.minor)


def _patterns_of_another_format(subject: Subject) -> Broken:
    return when(bool(subject.member("logging", "vmodule")) and _format(subject) != "text")


def _modules(subject: Subject) -> Iterable[object]:
    modules = subject.member("logging", "vmodule") or ()
    return [(index, item if isinstance(item, dict) else {}) for index, item in enumerate(modules)]


def _pattern(subject: Subject) -> str:
    return str(subject.item[1].get("filePattern") or "")


def _no_pattern(subject: Subject) -> Broken:
    return when(not _pattern(subject), subject.item[0])


def _signs(subject: Subject) -> Broken:
    pattern = _pattern(subject)
    return when("=" in pattern or "," in pattern, subject.item[0], quoted(pattern))


def _module_verbosity(subject: Subject) -> Broken:
    found = _too_verbose(subject.item[1].get("verbosity"), subject.minor)
    return ((subject.item[0], *values) for values in found)


def _alpha(kind: str, option: str) -> Breaks:
    """Return a check that an option of a format is used only if its gate is on."""

    def breaks(subject: Subject) -> Broken:
        value = subject.member("logging", "options", kind, option)
        used = bool(value) and (option == "splitStream" or Quantity.parse(str(value).strip()).value != 0)
        return when(used and not subject.on("LoggingAlphaOptions"))

    return breaks


def _alpha_rule(kind: str, option: str, since: int = 0) -> Rule:
    field = f"logging.options.{kind}.{option}"
    text = f"{field}: Forbidden: Feature LoggingAlphaOptions is disabled"
    return Rule(field, text, _alpha(kind, option), since=since)


_module_rule = partial(Rule, "logging.vmodule", each=_modules)
_TOO_VERBOSE = f"Must be <= {_INT32}"

LOGGING = (
    Rule(
        "logging.flushFrequency",
        "logging.flushFrequency: Invalid value: {}: Must be greater than zero",
        _flush,
        since=35,
    ),
    Rule("logging.format", "logging.format: Invalid value: {}: Unsupported log format", _unknown_format),
    Rule(
        "logging.format",
        "logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature",
        _closed_format,
    ),
    Rule("logging.verbosity", f"logging.verbosity: Invalid value: {{}}: {_TOO_VERBOSE}", _verbosity),
    Rule(
        "logging.vmodule",
        "logging.vmodule: Forbidden: Only supported for text log format",
        _patterns_of_another_format,
    ),
    _module_rule("logging.vmodule[{}]: Required value: File pattern must not be empty", _no_pattern),
    _module_rule(
        "logging.vmodule[{}]: Invalid value: {}: File pattern must not contain equal sign or comma", _signs
    ),
    _module_rule(f"logging.vmodule[{{}}]: Invalid value: {{}}: {_TOO_VERBOSE}", _module_verbosity),
    _alpha_rule("text", "splitStream", since=30),
    _alpha_rule("text", "infoBufferSize", since=30),
    _alpha_rule("json", "splitStream"),
    _alpha_rule("json", "infoBufferSize"),
)


def _traces(subject: Subject) -> bool:
    """Return whether the tracing configuration is checked."""
    return subject.given("tracing") is not None and subject.on("KubeletTracing")


def _rate(subject: Subject, *, high: bool) -> Broken:
    rate = int(subject.member("tracing", "samplingRatePerMillion") or 0) if _traces(subject) else 0
    return when(rate > _MOST_SAMPLES if high else rate < 0, rate)


def _endpoint(subject: Subject) -> tuple[str, str, str]:
    """Return the collector's address as it is read, its scheme, and the problem with its form."""
    given = subject.member("tracing", "endpoint") if _traces(subject) else None
    if given is None:
        return "", "dns", ""
    address = str(given) if "//" in str(given) else f"dns://{given}"
    try:
        return address, url_scheme(address), ""
    except GoError as error:
        return address, "", str(error)


def _no_url(subject: Subject) -> Broken:
    address, _, wrong = _endpoint(subject)
    return when(bool(wrong), quoted(address), wrong)


def _other_scheme(subject: Subject) -> Broken:
    address, scheme, wrong = _endpoint(subject)
    return when(not wrong and scheme not in ("dns", "unix", "unix-abstract"), quoted(address), scheme)


_RATE, _ENDPOINT = "tracing.samplingRatePerMillion", "tracing.endpoint"
TRACING = (
    Rule(_RATE, f"{_RATE}: Invalid value: {{}}: sampling rate must be positive", partial(_rate, high=False)),
    Rule(
        _RATE,
        f"{_RATE}: Invalid value: {{}}: sampling rate per million must be less than or equal to one million",
        partial(_rate, high=True),
    ),
    Rule(_ENDPOINT, f"{_ENDPOINT}: Invalid value: {{}}: {{}}", _no_url),
    Rule(
        _ENDPOINT,
        f"{_ENDPOINT}: Invalid value: {{}}: unsupported scheme: {{}}.  Options are none, dns, unix, or"
        " unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md",
        _other_scheme,
    ),
    Rule(
        "tracing",
        f"{PREFIX}tracing should not be configured if KubeletTracing feature flag is disabled.",
        lambda subject: when(subject.given("tracing") is not None and not subject.on("KubeletTracing")),
        until=34,
    ),
)


def _other_minor(subject: Subject) -> Broken:
    version = subject.text("showHiddenMetricsForVersion")
    previous = subject.build.previous or f"1.{subject.minor - 1}"
    if not version or version == previous:
        return ()
    return ((version, previous),)


def _previous_only(subject: Subject) -> Broken:
    return ((previous,) for _, previous in _other_minor(subject))


def _quoted_version(subject: Subject) -> Broken:
    return ((quoted(str(version)), previous) for version, previous in _other_minor(subject))


_HIDDEN = "showHiddenMetricsForVersion"
METRICS = (
    Rule(
        _HIDDEN,
        "--show-hidden-metrics-for-version must be omitted or have the value '{}'."
        " Only the previous minor version is allowed",
        _previous_only,
        until=36,
    ),
    Rule(
        _HIDDEN,
        f"invalid {_HIDDEN}: {_HIDDEN}: Invalid value: {{}}: must be omitted or have the value '{{}}';"
        " only the previous minor version is allowed",
        _quoted_version,
        since=36,
    ),
)
