"""The one control plane of a test run."""

import os
import random
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil

from hack.cluster.binaries import find_all
from hack.cluster.controlplane import ControlPlane, random_layout
from hack.cluster.process import HOME, mark

PREFIX = "gpu-runtime-tests-"


def new_home() -> Path:
    """A folder for the processes of this test run; its name tells whose they are."""
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))


def new_control_plane(home: Path) -> ControlPlane:
    """A control plane in `home` on free ports, not yet started."""
    programs = {name: binary.path for name, binary in find_all().items()}
    return ControlPlane(random_layout(home, programs, random.Random()))


def sweep_orphans() -> None:
    """End what an earlier test run left behind when it was killed."""
    for process in psutil.process_iter():
        home = Path(mark(process, HOME) or "/")
        if owner_is_gone(home):
            with suppress(psutil.NoSuchProcess):  # it may end by itself, having lost the others
                process.kill()
            shutil.rmtree(home, ignore_errors=True)


def owner_is_gone(home: Path) -> bool:
    for folder in (home, *home.parents):
        if folder.name.startswith(PREFIX):
            return not psutil.pid_exists(int(folder.name.removeprefix(PREFIX).split("-")[0]))
    return False
