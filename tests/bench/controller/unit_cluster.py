"""A whole simulated cluster for units, new each time so that all contenders find the same."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from hack.cluster.admin_client import RefusedError
from hack.cluster.control_plane import ControlPlane
from hack.cluster.nodes import Fleet
from hack.local.account_kubeconfigs import NAMESPACE
from hack.local.product_processes import CONTROLLER
from tests.bench.controller.audit_log import with_audit
from tests.bench.controller.unit_load import UNITS
from tests.support.cluster import product_processes
from tests.support.cluster.control_plane import new_control_plane
from tests.support.wait.eventually import eventually

GPUS_A_NODE = 64
SPARE_NODES = 4
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER.name}"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


@dataclass(frozen=True)
class UnitsPlane:
    """A cluster with our manifests, and what the contenders' account wrote to it."""

    plane: ControlPlane
    audit_log: Path

    @property
    def home(self) -> Path:
        return self.plane.layout.home

    @property
    def kubeconfig(self) -> Path:
        """Of the account that every contender uses."""
        return self.home / "kubeconfigs" / CONTROLLER.name


@asynccontextmanager
async def units_plane(units: int) -> AsyncIterator[UnitsPlane]:
    """Large enough for `units` of one GPU each."""
    home = Path(tempfile.mkdtemp(prefix="bench-"))
    plane = new_control_plane(home / "cluster")
    log = with_audit(plane, ACCOUNT)
    try:
        await plane.start(Fleet(nodes=units // GPUS_A_NODE + SPARE_NODES, gpus=GPUS_A_NODE))
        await product_processes.install(plane)
        await plane.admin.create(BINDINGS, binding())
        await eventually(lambda: plane.admin.get(UNITS), tolerate=RefusedError)
        yield UnitsPlane(plane, log)
    finally:
        await plane.stop()
        shutil.rmtree(home)


def binding() -> dict[str, object]:
    """The contenders may do the same, whatever roles we generate for ours."""
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": "bench"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [
            {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": CONTROLLER.name},
        ],
    }
