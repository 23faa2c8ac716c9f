"""cpuctl as a process: signals, pipes, terminals, locales, full disks, missing permissions."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from cpuctl.cli.app import run
from tests.cli.conftest import ROOT

MACHINE = ("-m", "synthetic:2s2n8c2t")
STATIC = ("--kubelet-config", str(ROOT / "fixtures" / "kubelet" / "static.yaml"))
PLAN = ("plan", *MACHINE, *STATIC, "-T", "web=2/2,1Gi")
REJECTED = ("plan", *MACHINE, *STATIC, "-T", "odd=3/3,1Gi")
POD = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: main}]}}\n"
SECONDS = 30


def environment(**changes: str) -> dict[str, str]:
    """Return the environment without variables that change answers, updated with *changes*."""
    changing = ("NO_COLOR", "COLUMNS", "TERM", "LANG", "PYTHONUTF8", "PYTHONIOENCODING", "CPUCTL_DEBUG")
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in changing and not key.startswith(("LC_", "FORCE_COLOR"))
    }
    return kept | changes


def cpuctl(
    *words: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run cpuctl in a separate process."""
    return subprocess.run(
        [sys.executable, "-m", "cpuctl", *words],
        input=stdin,
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=environment() if env is None else env,
        timeout=SECONDS,
    )


# Input and output


def test_manifests_come_from_standard_input() -> None:
    done = cpuctl("plan", *MACHINE, "-f", "-", "-o", "json", stdin=(POD % "web").encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert [pod["origin"] for pod in json.loads(done.stdout)["pods"]] == ["<stdin>:1"]


def test_the_answer_goes_to_stdout_and_notes_to_stderr() -> None:
    done = cpuctl(*PLAN)
    assert done.stderr == b"note: kubelet version: 1.36 (default)\n"
    assert b"note:" not in done.stdout
    assert done.stdout.endswith(b"1 pod: 1 admitted\n")
    assert cpuctl(*PLAN, "-o", "json").stderr == b""


def test_quiet_suppresses_only_notes() -> None:
    loud, quiet = cpuctl(*PLAN), cpuctl(*PLAN, "-q")
    assert (quiet.stdout, quiet.stderr) == (loud.stdout, b"")


def test_a_no_exits_with_3_unless_exit_zero_is_given() -> None:
    no, ignored = cpuctl(*REJECTED), cpuctl(*REJECTED, "--exit-zero")
    assert (no.returncode, ignored.returncode) == (3, 0)
    assert no.stdout == ignored.stdout


@pytest.mark.parametrize("stream", ["0<&-", "1>&-", "2>&-"])
def test_closed_streams_are_treated_as_empty(stream: str) -> None:
    """The next file that is opened must not become standard input, output or error."""
    script = f'exec "$0" -m cpuctl "$@" {stream}'
    words = ["/bin/sh", "-c", script, sys.executable, *PLAN, "-o", "json"]
    done = subprocess.run(words, capture_output=True, check=False, cwd=ROOT, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, b"")
    assert bool(done.stdout) == (stream != "1>&-")


# Signals and pipes


def test_interrupted_while_reading_it_exits_with_130_silently() -> None:
    # Background jobs are started with SIGINT ignored, and the tests may run in one.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from cpuctl.__main__ import main; main()"
    )
    words = [sys.executable, "-c", program, "plan", *MACHINE, "-f", "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=ROOT) as process:
        assert process.stdin is not None
        # More than a pipe holds: once all of it is written, the process is reading and waits for the end.
        process.stdin.write(b"# a comment\n" * 100_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_closed_pipe_ends_the_process_quietly() -> None:
    """The shell shows death by SIGPIPE as exit code 141."""
    words = [sys.executable, "-m", "cpuctl", "plan", *MACHINE, "-T", "web=1/1,1Gi x1000", "-o", "json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"{"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == -signal.SIGPIPE


@pytest.mark.parametrize(
    "words",
    [
        *((*PLAN, "-q", "-o", form) for form in ("table", "json", "yaml")),
        ("plan", *MACHINE, "-q", "-T", "web=1/1,1Gi x1000"),
        ("--help",),
        ("--version",),
        ("schema", "plan"),
    ],
    ids=lambda words: " ".join(words[-2:]),
)
def test_a_full_disk_is_reported_in_one_line(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [sys.executable, "-m", "cpuctl", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            cwd=ROOT,
            timeout=SECONDS,
        )
    assert process.stderr == b"error: stdout: the answer cannot be written: no space left on the device\n"
    assert process.returncode == 5


# Terminals


def seen_on_a_terminal(*words: str, **changes: str) -> str:
    """Run cpuctl on a pseudo-terminal and return what it shows there."""
    master, slave = pty.openpty()
    env = environment(TERM="xterm-256color", **changes)
    words = (sys.executable, "-m", "cpuctl", *words)
    with subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, cwd=ROOT, env=env) as process:
        os.close(slave)
        shown = b""
        while chunk := _read(master):
            shown += chunk
    os.close(master)
    assert process.returncode == 0
    return shown.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # this is how Linux reports that the other side is closed
        return b""


TABLES = [PLAN, ("topology", "map", *MACHINE), ("topology", "-o", "wide", *MACHINE)]


@pytest.mark.parametrize("words", TABLES, ids=lambda words: " ".join(words[:2]))
def test_a_terminal_gets_colour(words: tuple[str, ...]) -> None:
    assert "\x1b[" in seen_on_a_terminal(*words)


@pytest.mark.parametrize("words", TABLES, ids=lambda words: " ".join(words[:2]))
def test_without_colour_there_are_no_escape_codes(words: tuple[str, ...]) -> None:
    """Not even bold headings."""
    by_option = seen_on_a_terminal(*words, "--no-color")
    assert "\x1b" not in by_option
    assert seen_on_a_terminal(*words, NO_COLOR="1") == by_option
    assert seen_on_a_terminal(*words, NO_COLOR="") != by_option


# Locales


@pytest.fixture
def odd_names(tmp_path: Path) -> list[bytes]:
    """Files with names that are not ASCII; the second is not even UTF-8."""
    folder = os.fsencode(tmp_path)
    names = [folder + "/größe-世界.yaml".encode(), folder + b"/caf\xe9.yaml"]
    for name in names:
        Path(os.fsdecode(name)).write_text(POD % "web", encoding="utf-8")
    return names


@pytest.mark.parametrize("form", ["table", "wide", "json", "yaml"])
@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "C.UTF-8"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
    ids=lambda locale: ",".join(f"{key}={value}" for key, value in locale.items()),
)
def test_every_locale_gets_an_answer(locale: dict[str, str], form: str, odd_names: list[bytes]) -> None:
    files = [word for name in odd_names for word in (b"-f", name)]
    done = cpuctl("plan", *MACHINE, *files, "-o", form, env=environment(**locale))
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    if form in ("json", "yaml"):
        text = done.stdout.decode(locale.get("PYTHONIOENCODING", "utf-8"))
        read = json.loads(text) if form == "json" else yaml.safe_load(text)
        assert "caf\\udce9.yaml" in read["pods"][1]["origin"]
        assert "größe-世界.yaml" in read["pods"][0]["origin"] or "PYTHONUTF8" in locale


def test_boxes_are_ascii_if_the_terminal_supports_no_others() -> None:
    done = cpuctl("topology", "map", *MACHINE, env=environment(PYTHONIOENCODING="ascii"))
    assert done.stdout.startswith(b"+- Socket 0 -")


# Permissions

AS_NOBODY = """
import contextlib, io, os, sys
from cpuctl.cli.app import run
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    run(sys.argv[1:])  # imports while it may what is needed
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(run(sys.argv[1:]))
"""


def cpuctl_as_nobody(*words: str) -> subprocess.CompletedProcess[bytes]:
    """Run cpuctl as a user who may read only what everybody may read."""
    return subprocess.run(
        [sys.executable, "-c", AS_NOBODY, *words],
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=SECONDS,
    )


def test_the_live_machine_is_read_without_root() -> None:
    done = cpuctl_as_nobody("topology", "-o", "json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["summary"]["cpus"] >= 1


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder that only its owner may enter, with one input of each kind."""
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "pods.yaml").write_text(POD % "web")
    (folder / "kubelet.yaml").write_bytes((ROOT / "fixtures/kubelet/none.yaml").read_bytes())
    (folder / "machine.tar.xz").write_bytes((ROOT / "fixtures/machines/2s-2numa-32cpu.tar.xz").read_bytes())
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("plan", *MACHINE, "-f"), "pods.yaml"),
        (("plan", *MACHINE, "-T", "web=1/1", "--kubelet-config"), "kubelet.yaml"),
        (("topology", "-m"), "machine.tar.xz"),
    ],
)
def test_missing_permissions_exit_with_5(words: tuple[str, ...], name: str, closed: Path) -> None:
    done = cpuctl_as_nobody(*words, str(closed / name))
    assert done.stderr.decode().splitlines() == [
        f"error: {closed / name}: cannot be read: permission denied",
        "hint: try again with sudo",
    ]
    assert (done.returncode, done.stdout) == (5, b"")


def test_an_unreadable_configuration_is_not_treated_as_absent(closed: Path) -> None:
    """On most nodes only root may read /var/lib/kubelet."""
    script = AS_NOBODY.replace(
        "from cpuctl.cli.app import run",
        "from cpuctl.cli.app import run\nfrom cpuctl.inputs import configuration as config_inputs\n"
        "from pathlib import Path\n"
        f"config_inputs.LIVE_CONFIG = Path({str(closed / 'kubelet.yaml')!r})",
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "plan", "-T", "web=1/1"],
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=SECONDS,
    )
    assert done.returncode == 5
    assert b"kubelet.yaml: permission denied" in done.stderr
    assert b"specify a configuration with --kubelet-config" in done.stderr


# Defects


@pytest.fixture
def defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """A renderer that fails."""

    def fail(*_: object) -> None:
        raise LookupError("no such\nthing")

    monkeypatch.setattr("cpuctl.cli.render.as_json.write", fail)


@pytest.mark.usefixtures("defect")
def test_a_defect_is_reported_as_an_internal_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CPUCTL_DEBUG", raising=False)
    assert run(["topology", *MACHINE, "-o", "json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "error: internal error: LookupError: no such\\nthing",
        "hint: this is a bug in cpuctl: please report it with the output of CPUCTL_DEBUG=1",
    ]


@pytest.mark.usefixtures("defect")
def test_debugging_shows_the_place_of_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that run() does not catch becomes the interpreter's traceback."""
    monkeypatch.setenv("CPUCTL_DEBUG", "1")
    with pytest.raises(LookupError) as caught:
        run(["topology", *MACHINE, "-o", "json"])
    assert caught.traceback[-1].name == "fail"
