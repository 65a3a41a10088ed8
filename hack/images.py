"""The command `make images`, which builds the container images with an installed builder."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from shared.config.version import product_version

ROOT = Path(__file__).resolve().parent.parent
BUILDERS = ("docker", "podman", "buildah")
REPOSITORY = "gpu-runtime"


class NoBuilderError(Exception):
    """No image builder works on this machine."""


def choose_builder(is_usable: Callable[[str], bool]) -> str:
    """Return the first builder that works; raises NoBuilderError with what to install."""
    builder = next(filter(is_usable, BUILDERS), None)
    if builder is None:
        raise NoBuilderError(
            f"no image can be built: none of {', '.join(BUILDERS)} works here. Install one of them "
            "(docker also needs its engine running), and run make images again."
        )
    return builder


def build_commands(program: str, names: Sequence[str], release: str) -> list[list[str]]:
    """Return the build command of each image; run them in the project's folder."""
    # Podman and buildah keep health checks only in the docker format.
    options = [] if program == "docker" else ["--format", "docker"]
    build = [program, "build", *options]
    return [
        [*build, "--file", f"Dockerfile.{name}", "--tag", image_tag(name, release), "."]
        for name in names
    ]


def image_tag(name: str, release: str) -> str:
    """Return the name of an image in the manifests."""
    return f"{REPOSITORY}/{name}:{release}"


def image_names() -> list[str]:
    """Return the names of all Dockerfiles."""
    return sorted(path.suffix[1:] for path in ROOT.glob("Dockerfile.*"))


def is_builder_usable(program: str) -> bool:
    """Return whether the builder is installed and its engine runs."""
    if shutil.which(program) is None:
        return False
    return subprocess.run([program, "info"], capture_output=True, check=False).returncode == 0


def last_commit_time() -> str:
    """Return the time stamp of images, so that equal sources give equal images."""
    command = ["git", "log", "-1", "--format=%ct"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "0"


def main() -> int:
    try:
        program = choose_builder(is_builder_usable)
    except NoBuilderError as error:
        print(error, file=sys.stderr)
        return 1
    environment = {**os.environ, "SOURCE_DATE_EPOCH": last_commit_time()}
    for command in build_commands(program, image_names(), product_version()):
        print(" ".join(command), flush=True)
        result = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        if result.returncode != 0:
            return result.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
