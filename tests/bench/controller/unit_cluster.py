"""A whole simulated cluster for units, a new one for each contender."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from hack.cluster.admin_client import ApiStatusError
from hack.cluster.control_plane import ControlPlane
from hack.cluster.nodes import Fleet
from hack.local.account_kubeconfigs import NAMESPACE
from hack.local.product_processes import CONTROLLER
from tests.bench.controller.audit_log import enable_audit_log
from tests.bench.controller.unit_load import UNITS_PATH
from tests.support.cluster import product_processes
from tests.support.cluster.control_plane import new_control_plane
from tests.support.wait.eventually import eventually

GPUS_PER_NODE = 64
SPARE_NODES = 4
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER.name}"
BINDINGS_PATH = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


@dataclass(frozen=True)
class UnitBenchCluster:
    """A cluster with our manifests, and the audit log of the contenders' account."""

    control_plane: ControlPlane
    audit_log: Path

    @property
    def state_dir(self) -> Path:
        return self.control_plane.layout.state_dir

    @property
    def kubeconfig(self) -> Path:
        """Return the kubeconfig of the account that every contender uses."""
        return self.state_dir / "kubeconfigs" / CONTROLLER.name


@asynccontextmanager
async def run_unit_bench_cluster(unit_count: int) -> AsyncIterator[UnitBenchCluster]:
    """Run a cluster that is large enough for `unit_count` units of one GPU each."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    plane = new_control_plane(folder / "cluster")
    log = enable_audit_log(plane, ACCOUNT)
    try:
        await plane.start(
            Fleet(nodes=unit_count // GPUS_PER_NODE + SPARE_NODES, gpus=GPUS_PER_NODE)
        )
        await product_processes.install_product(plane)
        await plane.admin.create(BINDINGS_PATH, admin_binding())
        await eventually(lambda: plane.admin.get(UNITS_PATH), tolerate=ApiStatusError)
        yield UnitBenchCluster(plane, log)
    finally:
        await plane.stop()
        shutil.rmtree(folder)


def admin_binding() -> dict[str, object]:
    """Return a binding that gives all contenders the same rights."""
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": "bench"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [
            {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": CONTROLLER.name},
        ],
    }
