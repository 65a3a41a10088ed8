"""Build the anchor, the Go program that measures client-go, once into the cache folder."""

import hashlib
import platform
import subprocess
from pathlib import Path

from hack.cluster.build import go_environment
from hack.cluster.cache import cache_lock, cache_root
from hack.cluster.errors import ClusterError
from hack.cluster.gotoolchain import find_go
from tests.bench.contender import Contender

SOURCES = Path(__file__).parent / "anchor"


def client_go() -> Contender:
    """The anchor, built if this version of its sources never was."""
    program = built_path()
    with cache_lock():
        if not program.exists():
            build(program)
    return Contender("client-go", (str(program),))


def built_path() -> Path:
    """A path that changes with the sources and the machine."""
    digest = hashlib.sha256(platform.machine().encode())
    for source in sorted(SOURCES.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return cache_root() / "bench" / f"anchor-{digest.hexdigest()[:16]}"


def build(program: Path) -> None:
    """Build beside the final path and rename, so that half a program is never found."""
    program.parent.mkdir(parents=True, exist_ok=True)
    unfinished = program.with_suffix(".unfinished")
    ran = subprocess.run(
        [str(find_go()), "build", "-trimpath", "-o", str(unfinished), "."],
        cwd=SOURCES,
        env=go_environment(),
        check=False,
        capture_output=True,
        text=True,
    )
    if ran.returncode != 0:
        raise ClusterError(f"the bench's anchor could not be built\n{ran.stderr}")
    unfinished.replace(program)
