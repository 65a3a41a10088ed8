"""The build of the benchmarks' Go programs, once, into the cache."""

import hashlib
import platform
import subprocess
from pathlib import Path

from hack.cluster.binaries.build import go_environment
from hack.cluster.binaries.cache import cache_lock, cache_root
from hack.cluster.binaries.go_toolchain import find_go
from hack.cluster.errors import ClusterError

GO_SOURCES = Path(__file__).parent


def build_go_program(name: str) -> Path:
    """Return the program of the folder `name`, built unless its sources are unchanged."""
    program = cached_program_path(GO_SOURCES / name)
    with cache_lock():
        if not program.exists():
            compile_program(GO_SOURCES / name, program)
    return program


def cached_program_path(sources: Path) -> Path:
    """Return a path that changes with the sources and the machine."""
    digest = hashlib.sha256(platform.machine().encode())
    for source in sorted(sources.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return cache_root() / "bench" / f"{sources.name}-{digest.hexdigest()[:16]}"


def compile_program(sources: Path, program: Path) -> None:
    """Build beside the final path and rename, so that an incomplete program is never found."""
    program.parent.mkdir(parents=True, exist_ok=True)
    unfinished = program.with_suffix(".unfinished")
    build = subprocess.run(
        [str(find_go()), "build", "-trimpath", "-o", str(unfinished), "."],
        cwd=sources,
        env=go_environment(),
        check=False,
        capture_output=True,
        text=True,
    )
    if build.returncode != 0:
        raise ClusterError(f"the bench's {sources.name} could not be built\n{build.stderr}")
    unfinished.replace(program)
