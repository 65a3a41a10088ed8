"""Find the control plane's programs: what the environment names, the cache, or a build."""

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
    """A program that was found: where, in which version, and how we came by it."""

    path: Path
    version: str
    origin: str


def ensure_binaries(programs: Sequence[Program] = PROGRAMS) -> dict[str, Binary]:
    """`programs` by name; builds those that are neither in the environment nor in the cache."""
    found = {program.name: find_binary(program) for program in programs}
    missing = [program for program in programs if found[program.name] is None]
    if missing:
        with cache_lock():
            build_programs([program for program in missing if not cached_path(program).exists()])
    return {program.name: found[program.name] or cached_binary(program) for program in programs}


def find_binary(program: Program) -> Binary | None:
    """`program` from the environment where its version fits, or from the cache, or None."""
    for path, origin in environment_candidates(program.name):
        version = program_version(path, program)
        if version is not None and is_compatible(version, program.version):
            return Binary(path, version, origin)
        print(f"  not used: {path} ({origin}) is {version or 'unreadable'}, not {program.version}")
    return cached_binary(program) if cached_path(program).exists() else None


def cached_binary(program: Program) -> Binary:
    return Binary(cached_path(program), program.version, "cache")


def environment_candidates(name: str) -> Iterator[tuple[Path, str]]:
    """The places in the environment that may hold a program called `name`."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (Path(assets) / name).is_file():
        yield (Path(assets) / name).absolute(), "KUBEBUILDER_ASSETS"
    if on_path := shutil.which(name):
        yield Path(on_path).absolute(), "PATH"


def program_version(path: Path, program: Program) -> str | None:
    """What the program says its version is; None when it will not run or says nothing."""
    try:
        ran = subprocess.run(
            [path, *program.version_arguments],
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = re.search(r"v?\d+\.\d+\.\d+\S*", ran.stdout + ran.stderr)
    return f"v{said[0].removeprefix('v')}" if said else None
