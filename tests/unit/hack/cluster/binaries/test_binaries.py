"""Tests of the search for the control plane's programs in the assets, PATH and the cache."""

from pathlib import Path

import pytest

from hack.cluster.binaries import find as binaries_find
from hack.cluster.binaries.cache import cached_path
from hack.cluster.binaries.catalogue import Program
from hack.cluster.binaries.find import find_binary

PROGRAM = Program("kube-example", "kubernetes", "example.org/example", "v1.36.3")


def write_program(folder: Path, output: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PROGRAM.name
    path.write_text(f"#!/bin/sh\necho {output}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def search_dirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set empty folders for the assets, PATH and the cache."""
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    monkeypatch.setenv("GPU_RUNTIME_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_the_assets_come_before_path_and_the_cache(search_dirs: Path) -> None:
    assets = write_program(search_dirs / "assets", "Kubernetes v1.36.1")
    write_program(search_dirs / "path", "Kubernetes v1.36.2")
    write_program(cached_path(PROGRAM).parent, "Kubernetes v1.36.3")
    assert find_binary(PROGRAM) == binaries_find.Binary(assets, "v1.36.1", "KUBEBUILDER_ASSETS")


def test_path_comes_before_the_cache(search_dirs: Path) -> None:
    on_path = write_program(search_dirs / "path", "Kubernetes v1.36.2")
    write_program(cached_path(PROGRAM).parent, "Kubernetes v1.36.3")
    assert find_binary(PROGRAM) == binaries_find.Binary(on_path, "v1.36.2", "PATH")


def test_a_program_of_another_release_is_reported_and_the_cached_one_is_used(
    search_dirs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_program(search_dirs / "path", "Kubernetes v1.20.0")
    cached = write_program(cached_path(PROGRAM).parent, "Kubernetes v1.36.3")
    assert find_binary(PROGRAM) == binaries_find.Binary(cached, "v1.36.3", "cache")
    assert "v1.20.0" in capsys.readouterr().out


def test_a_program_that_does_not_run_is_not_used(search_dirs: Path) -> None:
    broken = write_program(search_dirs / "path", "Kubernetes v1.36.3")
    broken.write_text("#!/no/such/interpreter\n")
    assert find_binary(PROGRAM) is None


def test_a_program_that_is_not_found_must_be_built(search_dirs: Path) -> None:
    assert find_binary(PROGRAM) is None
