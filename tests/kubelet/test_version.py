from __future__ import annotations

import pytest

from cpuctl.kubelet.version import DEFAULT_VERSION, LAST_PATCHES, NEWEST, OLDEST, RELEASES, KubeletVersion


@pytest.mark.parametrize(
    ("text", "minor", "patch"),
    [
        ("1.36", 36, None),
        ("v1.36.2", 36, 2),
        ("1.36.2+k3s1", 36, 2),
        ("v1.33.4+k3s1", 33, 4),
        ("v1.33.0-eks-3abbec1", 33, 0),
        ("v1.33.4-gke.100", 33, 4),
        ("1.38-alpha", 38, None),
        ("v1.38.0-alpha.1", 38, 0),
        ("v1.27.16-gke.1234000", 27, 16),
        (" 1.30 ", 30, None),
    ],
)
def test_versions_keep_their_patch(text: str, minor: int, patch: int | None) -> None:
    assert KubeletVersion.parse(text) == KubeletVersion(minor, patch)


@pytest.mark.parametrize("text", ["", "36", "2.0", "1.x", "1.36.", "one", "1.36 beta"])
def test_other_texts_are_rejected(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"is not a kubelet version: expected a version such as 1\.36 or v1\.36\.2$"
    ):
        KubeletVersion.parse(text)


@pytest.mark.parametrize("text", ["1.26", f"1.{NEWEST + 1}"])
def test_unsupported_minors_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^kubelet {text} is not supported: expected {RELEASES}$"):
        KubeletVersion.parse(text)


def test_versions_have_an_order_and_print() -> None:
    assert KubeletVersion(27).order < DEFAULT_VERSION.order
    assert KubeletVersion(33, 4).order < KubeletVersion(33).order == KubeletVersion(33, 13).order
    assert str(DEFAULT_VERSION) == "1.36"
    assert str(KubeletVersion.parse("v1.33.4+k3s1")) == "1.33.4"


def test_every_released_minor_has_a_last_patch() -> None:
    assert set(LAST_PATCHES) == set(range(OLDEST, max(LAST_PATCHES) + 1))
    assert max(LAST_PATCHES) <= NEWEST
