"""A control plane for benchmarks: only etcd and the API server, which leaves most CPU free."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hack.cluster.control_plane import ControlPlane
from hack.cluster.readiness import ensure_running
from tests.support.cluster.control_plane import new_control_plane


@asynccontextmanager
async def run_bare_control_plane() -> AsyncIterator[ControlPlane]:
    """Run without the controller manager: its garbage collector would delete the widgets."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    plane = new_control_plane(folder / "cluster")
    try:
        await ensure_running(plane.etcd)
        await ensure_running(plane.kube_apiserver)
        await plane.wait_etcd_ready()
        await plane.wait_apiserver_ready()
        yield plane
    finally:
        await plane.stop()
        shutil.rmtree(folder)
