"""The search for the control plane's programs in the environment and the cache, or a build."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hack.cluster.binaries.build import build_programs
from hack.cluster.binaries.cache import cache_lock, cached_path
from hack.cluster.binaries.catalogue import PROGRAMS, Program
from hack.cluster.binaries.versions import is_compatible

VERSION_TIMEOUT_SECONDS = 20


@dataclass(frozen=True)
class Binary:
    """A program with its path, its version and its source."""

    path: Path
    version: str
    origin: str


def ensure_binaries(programs: Sequence[Program] = PROGRAMS) -> dict[str, Binary]:
    """Return `programs` by name, from the environment or the cache, and build the others."""
    binaries = {program.name: find_binary(program) for program in programs}
    missing = [program for program in programs if binaries[program.name] is None]
    if missing:
        with cache_lock():
            build_programs([program for program in missing if not cached_path(program).exists()])
    return {program.name: binaries[program.name] or cached_binary(program) for program in programs}


def find_binary(program: Program) -> Binary | None:
    """Return a program of a compatible version from the environment, or from the cache, or None."""
    for path, origin in environment_candidates(program.name):
        version = program_version(path, program)
        if version is not None and is_compatible(version, program.version):
            return Binary(path, version, origin)
        print(f"  not used: {path} ({origin}) is {version or 'unreadable'}, not {program.version}")
    return cached_binary(program) if cached_path(program).exists() else None


def cached_binary(program: Program) -> Binary:
    return Binary(cached_path(program), program.version, "cache")


def environment_candidates(name: str) -> Iterator[tuple[Path, str]]:
    """Yield the programs called `name` in KUBEBUILDER_ASSETS and on PATH."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (Path(assets) / name).is_file():
        yield (Path(assets) / name).absolute(), "KUBEBUILDER_ASSETS"
    if on_path := shutil.which(name):
        yield Path(on_path).absolute(), "PATH"


def program_version(path: Path, program: Program) -> str | None:
    """Return the version that a program reports; None if it does not run or reports none."""
    try:
        process = subprocess.run(
            [path, *program.version_arguments],
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"v?\d+\.\d+\.\d+\S*", process.stdout + process.stderr)
    return f"v{match[0].removeprefix('v')}" if match else None
