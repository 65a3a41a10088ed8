"""Deployments that released controllers wrote, each beside its unit.

`python -m tests.unit.controller.gpuunit.resources.golden_deployments` writes the Deployments that
the present code builds for the stored units. Run it only if users' pods may restart, and say so in
the changelog; or keep the previous files in `older`, which must still pass as well.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from controller.config import Config, SidecarConfig
from controller.gpuunit.resources.children import desired_deployment
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.workload import Workload
from controller.runtime.digest import json_digest
from controller.wiring import unit_settings, validated_namespaces
from shared.v1alpha1.gpuunit import GPUUnit

WORKER_IMAGE = "gpu-runtime/worker:0.1.0"
GOLDEN_DIR = Path(__file__).parent / "golden"
GOLDEN_PATHS = sorted(GOLDEN_DIR.glob("*.json"))
OLDER_PATHS = sorted(GOLDEN_DIR.glob("older/*.json"))


def shipped_settings(worker_image: str = WORKER_IMAGE) -> UnitSettings:
    """Return the settings of a controller with the default configuration.

    The worker's image is that of the first release: a later image does not restart pods.
    """
    config = Config(sidecar=SidecarConfig(image=worker_image))
    return unit_settings(config, validated_namespaces(config.namespaces))


def load_unit(path: Path) -> GPUUnit:
    return msgspec.convert(json.loads(path.read_text())["unit"], GPUUnit)


def build_deployment(unit: GPUUnit) -> dict[str, Any]:
    """Return the present code's Deployment for a unit without children, and its hash."""
    body = desired_deployment(unit, shipped_settings(), None, Workload())
    return {"deployment": body, "hash": json_digest(body)}


def main() -> None:
    for path in GOLDEN_PATHS:
        stored = json.loads(path.read_text())["unit"]
        content = {"unit": stored, **build_deployment(load_unit(path))}
        path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
