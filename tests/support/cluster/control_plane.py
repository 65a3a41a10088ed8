"""Control planes of tests."""

from pathlib import Path

from hack.cluster.binaries.find import find_all
from hack.cluster.control_plane import ControlPlane
from hack.cluster.layout import PORTS, Layout
from tests.runner.ports import new_port


def new_control_plane(home: Path) -> ControlPlane:
    """A control plane in `home` on free ports, not yet started."""
    programs = {name: binary.path for name, binary in find_all().items()}
    return ControlPlane(Layout(home, {name: new_port() for name in PORTS}, programs))
