"""`make images`: build the container images with whichever builder is there."""

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
    """There is nothing to build images with."""


def choose_builder(is_usable: Callable[[str], bool]) -> str:
    """The first builder that works; NoBuilderError with what to install where none does."""
    found = next(filter(is_usable, BUILDERS), None)
    if found is None:
        raise NoBuilderError(
            f"no image can be built: none of {', '.join(BUILDERS)} works here. Install one of them "
            "(docker also needs its engine running), and run make images again."
        )
    return found


def build_commands(program: str, names: Sequence[str], release: str) -> list[list[str]]:
    """One build for each image; run in the project's folder."""
    # Only docker keeps health checks unless it is told to.
    form = [] if program == "docker" else ["--format", "docker"]
    build = [program, "build", *form]
    return [
        [*build, "--file", f"Dockerfile.{name}", "--tag", image_tag(name, release), "."]
        for name in names
    ]


def image_tag(name: str, release: str) -> str:
    """What an image is called in the manifests."""
    return f"{REPOSITORY}/{name}:{release}"


def image_names() -> list[str]:
    """The images that there are Dockerfiles for."""
    return sorted(path.suffix[1:] for path in ROOT.glob("Dockerfile.*"))


def is_builder_usable(program: str) -> bool:
    """Whether the builder is installed and answers."""
    if shutil.which(program) is None:
        return False
    return subprocess.run([program, "info"], capture_output=True, check=False).returncode == 0


def last_commit_time() -> str:
    """The time that is written into the images, so that the same sources give the same images."""
    command = ["git", "log", "-1", "--format=%ct"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip() or "0"


def main() -> int:
    try:
        program = choose_builder(is_builder_usable)
    except NoBuilderError as error:
        print(error, file=sys.stderr)
        return 1
    environment = {**os.environ, "SOURCE_DATE_EPOCH": last_commit_time()}
    for command in build_commands(program, image_names(), product_version()):
        print(" ".join(command), flush=True)
        built = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        if built.returncode != 0:
            return built.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
