"""Tests of versions: which installed version may replace the pinned one."""

import pytest

from hack.cluster.binaries.catalogue import PROGRAMS
from hack.cluster.binaries.versions import is_compatible


@pytest.mark.parametrize("version", ["v1.36.3", "v1.36.0", "1.36.9-vendor"])
def test_any_patch_of_the_same_minor_release_is_compatible(version: str) -> None:
    assert is_compatible(version, "v1.36.3")


@pytest.mark.parametrize("version", ["v1.32.4-dispatcher", "v1.37.0", "v2.36.3", "unknown", ""])
def test_another_release_or_no_version_is_not_compatible(version: str) -> None:
    assert not is_compatible(version, "v1.36.3")


def test_one_kubernetes_release_is_pinned_for_all_its_programs() -> None:
    versions = {program.version for program in PROGRAMS if program.product == "kubernetes"}
    assert len(versions) == 1
    assert is_compatible(versions.pop(), "v1.36.0")
