"""Tests of builds: a failed or interrupted build leaves no cached file that seems complete."""

from pathlib import Path

import pytest

from hack.cluster.binaries.build import build_program
from hack.cluster.binaries.cache import cached_path
from hack.cluster.binaries.catalogue import PROGRAMS
from hack.cluster.errors import ClusterError

ETCD = PROGRAMS[0]


def write_go(folder: Path, script: str) -> Path:
    """Write a fake go command that writes its output file as `script` says."""
    path = folder / "go"
    path.write_text(
        f"#!/bin/sh\nfor last; do case $last in *.unfinished) out=$last;; esac; done\n{script}\n"
    )
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_RUNTIME_CACHE", str(tmp_path / "cache"))


def test_a_finished_build_is_in_the_cache(tmp_path: Path) -> None:
    build_program(write_go(tmp_path, 'echo whole > "$out"'), ETCD, "etcd")
    assert cached_path(ETCD).read_text() == "whole\n"


def test_a_failed_build_reports_the_compiler_error_and_leaves_no_file(tmp_path: Path) -> None:
    go = write_go(tmp_path, 'echo half > "$out"; echo no such module >&2; exit 1')
    with pytest.raises(ClusterError, match="no such module"):
        build_program(go, ETCD, "etcd")
    assert list(cached_path(ETCD).parent.iterdir()) == []


def test_a_killed_build_leaves_no_file(tmp_path: Path) -> None:
    go = write_go(tmp_path, 'echo half > "$out"; kill -9 $$')
    with pytest.raises(ClusterError):
        build_program(go, ETCD, "etcd")
    assert list(cached_path(ETCD).parent.iterdir()) == []
