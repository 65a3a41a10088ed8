"""A control plane on ports of the test process."""

from pathlib import Path

from hack.cluster.binaries.find import ensure_binaries
from hack.cluster.control_plane import ControlPlane
from hack.cluster.layout import PORT_NAMES, ControlPlaneLayout
from tests.runner.ports import new_port


def new_control_plane(state_dir: Path) -> ControlPlane:
    """Return a control plane in `state_dir` on free ports; it is not started."""
    programs = {name: binary.path for name, binary in ensure_binaries().items()}
    return ControlPlane(
        ControlPlaneLayout(state_dir, {name: new_port() for name in PORT_NAMES}, programs)
    )
