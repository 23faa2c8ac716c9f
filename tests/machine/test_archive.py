from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.machine import archive, tar_stream
from cpuctl.machine.archive import read_archive
from tests.support.costs import bytes_below, seconds_below

FILES = {"sys/devices/system/cpu/online": "0-3\n", "proc/meminfo": "MemTotal: 1 kB\n"}
LONG_NAME = "sys/" + "/".join(f"directory-{number:03}" for number in range(40)) + "/file"


def tar_bytes(files: Mapping[str, str | bytes], *, tar_format: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tar_format) as tar:
        for name, text in files.items():
            data = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def with_members(*members: tarfile.TarInfo) -> bytes:
    """Make an archive of ``FILES`` and then members without data."""
    buffer = io.BytesIO(tar_bytes(FILES))
    with tarfile.open(fileobj=buffer, mode="a") as tar:
        for member in members:
            tar.addfile(member)
    return buffer.getvalue()


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def saved(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "machine.tar"
    path.write_bytes(data)
    return path


@dataclass(frozen=True)
class Packing:
    name: str
    pack: Callable[[bytes], bytes]


PACKINGS = [
    Packing("plain", bytes),
    Packing("gzip", gzip.compress),
    Packing("gzip in two parts", lambda data: gzip.compress(data[:700]) + gzip.compress(data[700:])),
    Packing("bzip2", bz2.compress),
    Packing("bzip2 in two parts", lambda data: bz2.compress(data[:700]) + bz2.compress(data[700:])),
    Packing("xz", lzma.compress),
    Packing("xz in two parts", lambda data: lzma.compress(data[:700]) + lzma.compress(data[700:])),
]


@pytest.mark.parametrize("packing", PACKINGS, ids=lambda packing: packing.name)
def test_every_compression_gives_the_same_texts(packing: Packing, tmp_path: Path) -> None:
    tree = read_archive(saved(tmp_path, packing.pack(tar_bytes(FILES))))
    assert {path: tree.read(path) for path in FILES} == FILES


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_tar_format_is_read(tar_format: int, tmp_path: Path) -> None:
    """Long names are split (ustar) or are in separate members (GNU, pax)."""
    name = LONG_NAME[:200] if tar_format == tarfile.USTAR_FORMAT else LONG_NAME
    name = name.rstrip("/")
    tree = read_archive(saved(tmp_path, tar_bytes({name: "deep\n", **FILES}, tar_format=tar_format)))
    assert tree.read(name) == "deep\n"
    assert tree.read("proc/meminfo") == FILES["proc/meminfo"]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python reads zstd")
def test_zstd_is_rejected_with_a_workaround(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"machine\.tar: is compressed with zstd, which Python reads from"
    ) as error:
        read_archive(saved(tmp_path, b"\x28\xb5\x2f\xfd" + bytes(20)))
    assert "zstd -d" in error.value.hint


@dataclass(frozen=True)
class Placing:
    name: str
    members: dict[str, str]
    want: dict[str, str | None]


PLACINGS = [
    Placing("a leading dot", {"./sys/a": "1"}, {"sys/a": "1"}),
    Placing("one common directory", {"host/sys/a": "1", "host/proc/b": "2"}, {"sys/a": "1", "proc/b": "2"}),
    Placing("dot and directory", {"./host/sys/a": "1"}, {"sys/a": "1"}),
    Placing("doubled slashes", {"sys//a": "1"}, {"sys/a": "1"}),
    Placing("absolute names are ignored", {"/sys/a": "1", "sys/b": "2"}, {"sys/a": None, "sys/b": "2"}),
    Placing("two dots are ignored", {"sys/../sys/a": "1", "sys/b": "2"}, {"sys/a": None, "sys/b": "2"}),
    Placing("two dots above the top", {"../sys/a": "1", "sys/b": "2"}, {"sys/a": None}),
    Placing("other directories are ignored", {"etc/sys": "1", "sys/b": "2"}, {"etc/sys": None, "sys/b": "2"}),
    Placing("the top before a directory", {"host/sys/a": "1", "sys/a": "2"}, {"sys/a": "2"}),
    Placing("the last of equal names", {"sys/a": "1", "./sys/a": "2"}, {"sys/a": "2"}),
    Placing("padding that tar adds", {"sys/a": "0-3\n" + "\0" * 4092}, {"sys/a": "0-3\n"}),
]


@pytest.mark.parametrize("case", PLACINGS, ids=lambda case: case.name)
def test_placement_of_members(case: Placing, tmp_path: Path) -> None:
    tree = read_archive(saved(tmp_path, tar_bytes(case.members)))
    assert {path: tree.read(path) for path in case.want} == case.want


def test_links_and_directories_are_names_only(tmp_path: Path) -> None:
    symlink = link("sys/devices/system/node/node0/cpu0", "../../cpu/cpu0", tarfile.SYMTYPE)
    outside = link("sys/passwd", "/etc/passwd", tarfile.SYMTYPE)
    directory = link("sys/empty", "", tarfile.DIRTYPE)
    tree = read_archive(saved(tmp_path, with_members(symlink, outside, directory)))
    assert list(tree.names("sys/devices/system/node/node0")) == ["cpu0"]
    assert list(tree.names("sys")) == ["devices", "empty", "passwd"]
    assert tree.read("sys/passwd") is None


def test_links_below_sys_have_the_same_targets_as_on_disk(tmp_path: Path) -> None:
    symlink = link("sys/devices/system/node/node0/cpu", "../../cpu", tarfile.SYMTYPE)
    tree = read_archive(saved(tmp_path, with_members(symlink)))
    assert tree.read("sys/devices/system/node/node0/cpu/online") == "0-3\n"
    assert list(tree.names("sys/devices/system/node/node0/cpu")) == ["online"]


HOME = "var/lib/kubelet"


@pytest.mark.parametrize("top", ["", "node7/"])
@pytest.mark.parametrize(
    ("links", "files"),
    [
        ({HOME: "/data/kubelet"}, {"data/kubelet/config.yaml": "here"}),
        ({HOME: "../../data/kubelet", "data": "mnt"}, {"mnt/kubelet/config.yaml": "here"}),
        ({f"{HOME}/config.yaml": "/opt/kubelet.yaml"}, {"opt/kubelet.yaml": "here"}),
        ({f"{HOME}/config.yaml": "x/real", f"{HOME}/x": "/opt"}, {"opt/real": "here"}),
    ],
    ids=["home", "chain of directories", "file", "chain of files"],
)
@pytest.mark.parametrize("links_first", [True, False])
def test_links_of_the_kubelets_files_are_followed(
    links: dict[str, str], files: dict[str, str], top: str, links_first: bool, tmp_path: Path
) -> None:
    """As chroot would: /var/lib/kubelet is often a link to a separate disk."""
    members = [link(top + path, target, tarfile.SYMTYPE) for path, target in links.items()]
    texts = FILES | files
    for path, text in texts.items():
        member = tarfile.TarInfo(top + path)
        member.size = len(text)
        members.insert(len(members) if links_first else 0, member)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for each in members:
            data = texts.get(each.name.removeprefix(top), "") if each.isreg() else ""
            tar.addfile(each, io.BytesIO(data.encode()))
    tree = read_archive(saved(tmp_path, buffer.getvalue()))
    assert tree.read(f"{HOME}/config.yaml") == "here"
    assert tree.read("etc/passwd") is None


def test_links_that_lead_out_of_an_archive_are_rejected(tmp_path: Path) -> None:
    out = link(f"{HOME}/config.yaml", "../../../../etc/passwd", tarfile.SYMTYPE)
    with pytest.raises(
        InputError, match=r"/var/lib/kubelet/config.yaml: is a link to .* points outside the root"
    ):
        read_archive(saved(tmp_path, with_members(out)))
    circle = link(HOME, "kubelet", tarfile.SYMTYPE)
    with pytest.raises(InputError, match="its symbolic links form a loop"):
        read_archive(saved(tmp_path, with_members(circle)))


def test_pipes_and_devices_in_place_of_a_file_are_rejected(tmp_path: Path) -> None:
    for kind, words in (
        (tarfile.FIFOTYPE, "a pipe"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.BLKTYPE, "a device"),
    ):
        tree = read_archive(saved(tmp_path, with_members(link(f"{HOME}/config.yaml", "", kind))))
        with pytest.raises(
            InputError, match=f"/var/lib/kubelet/config.yaml: expected a regular file, found {words}"
        ):
            tree.read(f"{HOME}/config.yaml")


def test_links_to_nothing_are_named(tmp_path: Path) -> None:
    tree = read_archive(saved(tmp_path, with_members(link(HOME, "/data/kubelet", tarfile.SYMTYPE))))
    assert tree.read(f"{HOME}/config.yaml") is None
    assert (
        tree.in_the_way(f"{HOME}/config.yaml") == f"/{HOME} is a link to /data/kubelet, which does not exist"
    )
    assert tree.in_the_way("sys/devices") == "expected a regular file, found a directory"
    assert tree.in_the_way("sys/nothing") == ""


def test_targets_of_log_links_are_not_kept(tmp_path: Path) -> None:
    log = link("var/log/containers/a_b_c-0.log", "/var/log/pods/secret", tarfile.SYMTYPE)
    data = tar_bytes({**FILES, "var/log/pods/secret": "x"})
    buffer = io.BytesIO(data)
    with tarfile.open(fileobj=buffer, mode="a") as tar:
        tar.addfile(log)
    tree = read_archive(saved(tmp_path, buffer.getvalue()))
    assert list(tree.names("var/log/containers")) == ["a_b_c-0.log"]
    assert tree.read("var/log/pods/secret") is None


def test_hard_links_refer_only_to_files_in_the_archive(tmp_path: Path) -> None:
    inside = link("sys/copy", "proc/meminfo", tarfile.LNKTYPE)
    outside = link("sys/outside", "/etc/passwd", tarfile.LNKTYPE)
    tree = read_archive(saved(tmp_path, with_members(inside, outside)))
    assert tree.read("sys/copy") == FILES["proc/meminfo"]
    assert tree.read("sys/outside") is None


def test_sizes_of_links_and_directories_are_ignored(tmp_path: Path) -> None:
    """Some archivers state a directory's size on disk, without data to follow."""
    directory = link("sys/devices", "", tarfile.DIRTYPE)
    directory.size = 4096
    data = directory.tobuf() + tar_bytes(FILES)
    assert read_archive(saved(tmp_path, data)).read("proc/meminfo") == FILES["proc/meminfo"]


def pax(name: str, records: bytes) -> bytes:
    """Make an empty file preceded by an extended header with *records*."""
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, len(records)
    padding = bytes(-len(records) % 512)
    return header.tobuf() + records + padding + tarfile.TarInfo(name).tobuf()


def test_many_records_of_a_pax_header_take_linear_time(tmp_path: Path) -> None:
    data = pax("sys/a", b"5 a=\n" * 200_000) * 8 + GOOD
    with seconds_below(15):
        assert read_archive(saved(tmp_path, data)).read("sys/a") == ""


def test_irrelevant_records_of_a_pax_header_are_dropped(tmp_path: Path) -> None:
    """A chain of headers could fill the memory with them, as they all apply to the next member."""
    chain = b"".join(
        pax("", b"".join(b"13 k%07d=\n" % number for number in range(first, first + 20_000)))[:-512]
        for first in range(0, 120_000, 20_000)
    )
    path = saved(tmp_path, chain + GOOD)
    with bytes_below(10_000_000):
        read_archive(path)


def test_pax_records_keep_their_blanks_and_lines(tmp_path: Path) -> None:
    tree = read_archive(saved(tmp_path, pax("short", b"21 path=sys/ a\nb\n \n\n\n") + GOOD))
    assert list(tree.names("sys")) == [" a\nb\n \n\n", "devices"]


def test_headers_full_of_high_bytes_have_the_right_checksum(tmp_path: Path) -> None:
    """Their bytes are summed in halves; in one sum they would exceed its modulus."""
    high = link("\udcff" * 100, "\udcff" * 100, tarfile.SYMTYPE)
    high.uname = high.gname = "\udcff" * 30
    buffer = io.BytesIO(tar_bytes(FILES))
    with tarfile.open(fileobj=buffer, mode="a", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
        tar.addfile(high)
    assert sum(buffer.getvalue()[4 * 512 : 5 * 512]) > 65521
    assert read_archive(saved(tmp_path, buffer.getvalue())).names("sys/devices/system/cpu") == ["online"]


def test_names_are_limited_in_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_NAME_CHARACTERS", 1000)
    directories = [link(f"sys/{number:090}", "", tarfile.DIRTYPE) for number in range(11)]
    with pytest.raises(InputError, match="contains more than 0 MiB of file names"):
        read_archive(saved(tmp_path, with_members(*directories)))


def test_extended_headers_are_limited_in_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar_stream, "_MAX_EXTENDED_BYTES", 50)
    with pytest.raises(InputError, match="it has more than 0 MiB of extended headers"):
        read_archive(saved(tmp_path, pax("sys/a", b"5 a=\n") * 11))


def test_deep_names_take_no_more_memory_than_flat_ones(tmp_path: Path) -> None:
    names = [f"sys/{number}/" + "a/" * 1900 + "b" for number in range(100)]
    path = saved(tmp_path, tar_bytes(FILES | dict.fromkeys(names, "")))
    with bytes_below(20_000_000):
        tree = read_archive(path)
        assert list(tree.names(names[7].removesuffix("/b"))) == ["b"]


def test_of_many_recordings_only_a_few_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_archive(saved(tmp_path, tar_bytes({f"d{n}/sys/x": "" for n in range(1000, 1100)})))
    assert error.value.message == "contains several recordings (d1000, d1001, d1002, ...), expected one"


def test_a_name_longer_than_any_path_is_ignored(tmp_path: Path) -> None:
    tree = read_archive(saved(tmp_path, tar_bytes({"sys/" + "a/" * 5000 + "b": "1", **FILES})))
    assert list(tree.names("sys")) == ["devices"]


@dataclass(frozen=True)
class Refusal:
    name: str
    data: bytes
    want: str
    limits: dict[str, int] = field(default_factory=dict)


GOOD = tar_bytes(FILES)
SPARSE = link("sys/sparse", "", tarfile.GNUTYPE_SPARSE)
DAMAGED = GOOD[:1024] + b"x" + GOOD[1025:]

REFUSALS = [
    Refusal("empty", b"", "cannot be read as an archive: the archive ends too early"),
    Refusal("short text", b"hello\n" * 10, "the archive ends too early"),
    Refusal("long text", b"hello\n" * 1000, "it is not a tar archive"),
    Refusal("no end", GOOD[:2048], "the archive ends too early"),
    Refusal("cut in a file", GOOD[:600], "the archive ends too early"),
    Refusal("damaged header", DAMAGED, "a member's header is damaged (number 1)"),
    Refusal("gzip cut", gzip.compress(GOOD)[:-20], "the file ends too early"),
    Refusal("gzip damaged", gzip.compress(GOOD)[:10] + b"\xff" * 40, "its gzip data is damaged"),
    Refusal("bzip2 cut", bz2.compress(GOOD)[:100], "the file ends too early"),
    Refusal("bzip2 damaged", bz2.compress(GOOD)[:40] + b"\xff" * 400, "its bzip2 data is damaged"),
    Refusal("dense bzip2", bz2.compress(bytes(1 << 20)), "unpacks to more than 5 times", {"MAX_RATIO": 5}),
    Refusal("xz cut", lzma.compress(GOOD)[:100], "the file ends too early"),
    Refusal("xz damaged", lzma.compress(GOOD)[:40] + b"\xff" * 40, "Corrupt input data"),
    Refusal("nothing of sys", tar_bytes({"etc/passwd": "x"}), "contains no sys/ directory"),
    Refusal("proc only", tar_bytes({"proc/cpuinfo": "x"}), "contains no sys/ directory"),
    Refusal(
        "two recordings", tar_bytes({"a/sys/x": "", "b/sys/x": ""}), "contains several recordings (a, b)"
    ),
    Refusal("sparse", SPARSE.tobuf() + GOOD, "it contains sparse files"),
    Refusal("large file", GOOD, "sys/devices/system/cpu/online has 4 bytes", {"MAX_FILE_BYTES": 3}),
    Refusal("large in all", GOOD, "proc/meminfo has 15 bytes", {"MAX_KEPT_BYTES": 18}),
    Refusal("many members", GOOD, "it has more than 2 members", {"MAX_MEMBERS": 2}),
    Refusal("endless", GOOD, "unpacks to more than 0 MiB", {"MAX_UNPACKED_BYTES": 5000}),
    Refusal("dense", gzip.compress(bytes(1 << 20)), "unpacks to more than 5 times", {"MAX_RATIO": 5}),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.name)
def test_refusals_name_the_archive_and_the_reason(
    case: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "_RATIO_APPLIES_FROM", 1000)
    for name, limit in case.limits.items():
        for module in (archive, tar_stream):
            monkeypatch.setattr(module, name, limit, raising=False)
    with pytest.raises(InputError) as error:
        read_archive(saved(tmp_path, case.data))
    assert error.value.where == str(tmp_path / "machine.tar")
    assert case.want in error.value.message


def test_a_decompression_bomb_is_stopped_long_before_its_end(tmp_path: Path) -> None:
    """A member that would expand to 64 GiB of zeros costs a fraction of a second."""
    member = tarfile.TarInfo("sys/bomb")
    member.size = 64 << 30
    bomb = gzip.compress(member.tobuf() + bytes(4 << 20)) * 4
    with pytest.raises(InputError, match="sys/bomb has 68719476736 bytes"):
        read_archive(saved(tmp_path, bomb))


def test_an_xz_file_cannot_demand_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_MAX_DECODER_MEMORY", 1 << 16)
    with pytest.raises(InputError, match="Memory usage limit exceeded"):
        read_archive(saved(tmp_path, lzma.compress(GOOD)))


def test_a_missing_archive_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or directory"):
        read_archive(tmp_path / "missing.tar")


def test_a_chain_of_links_takes_only_a_few_passes_over_an_archive(tmp_path: Path) -> None:
    chain = [link(f"opt/{number}", f"/opt/{number + 1}", tarfile.SYMTYPE) for number in range(30)]
    first = link(f"{HOME}/config.yaml", "/opt/0", tarfile.SYMTYPE)
    with pytest.raises(InputError, match="a kubelet file is a link through 8 or more other links"):
        read_archive(saved(tmp_path, with_members(first, *chain)))
