"""A kind cluster with our images in it and the default overlay installed."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hack import images
from hack.local.state_dir import ROOT
from shared.config.version import product_version

CLUSTER = "gpu-runtime-tests"
REQUIRED_PROGRAMS = ("docker", "kind", "kubectl")
ROLLOUT_TIMEOUT_FLAG = "--timeout=300s"


@pytest.fixture(scope="session")
def kind_cluster() -> Iterator[Any]:
    """Create a cluster with the installed kind version.

    The plugin's own version would start a very old Kubernetes.
    """
    absent = [program for program in REQUIRED_PROGRAMS if shutil.which(program) is None]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")
    if not images.is_builder_usable("docker"):
        pytest.skip("no Docker engine runs: docker info fails")
    from pytest_kind.cluster import KindCluster  # noqa: PLC0415 - it warns when it is imported

    paths = {program: Path(shutil.which(program) or program) for program in REQUIRED_PROGRAMS}
    cluster = KindCluster(CLUSTER, kind_path=paths["kind"], kubectl_path=paths["kubectl"])
    cluster.create()
    yield cluster
    cluster.delete()


@pytest.fixture(scope="session")
def deployed_cluster(kind_cluster: Any) -> Any:
    """Return the cluster once every part of the default overlay is ready."""
    for command in images.build_commands("docker", images.image_names(), product_version()):
        subprocess.run(command, cwd=ROOT, check=True)
    for name in images.image_names():
        kind_cluster.load_docker_image(images.image_tag(name, product_version()))
    overlay = str(ROOT / "manifests" / "overlays" / "default")
    kind_cluster.kubectl("apply", "--server-side", "-k", overlay)
    for kind in ("statefulset", "deployment"):
        for name in kind_cluster.kubectl("get", kind, "-n", "runtime-system", "-o", "name").split():
            kind_cluster.kubectl(
                "rollout", "status", name, "-n", "runtime-system", ROLLOUT_TIMEOUT_FLAG
            )
    return kind_cluster
