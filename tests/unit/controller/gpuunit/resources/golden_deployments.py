"""Deployments as released controllers have left them, each beside the unit that it is of.

`python -m tests.unit.controller.gpuunit.resources.golden_deployments` writes down what the present
code makes of the stored units. Do that only where users' pods may restart, and say so in the
changelog; or keep what was there before in `older`, which must be left alone too.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from controller.config import Config, SidecarConfig
from controller.gpuunit.resources.children import asked_for
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.workload import Workload
from controller.runtime.digest import digest
from controller.wiring import namespaces, unit_settings
from shared.v1alpha1.gpuunit import GPUUnit

WORKER_IMAGE = "gpu-runtime/worker:0.1.0"
FOLDER = Path(__file__).parent / "golden"
PATHS = sorted(FOLDER.glob("*.json"))
OLDER = sorted(FOLDER.glob("older/*.json"))


def shipped_settings(worker_image: str = WORKER_IMAGE) -> UnitSettings:
    """Those of a controller that nobody has configured otherwise.

    The worker's image is that of the first release: a later one restarts nobody's pod.
    """
    config = Config(sidecar=SidecarConfig(image=worker_image))
    return unit_settings(config, namespaces(config.namespaces))


def stored_unit(path: Path) -> GPUUnit:
    return msgspec.convert(json.loads(path.read_text())["unit"], GPUUnit)


def made_of(unit: GPUUnit) -> dict[str, Any]:
    """What the present code applies for a unit that has nothing yet, and the hash of it."""
    body = asked_for(unit, shipped_settings(), None, Workload())
    return {"deployment": body, "hash": digest(body)}


def main() -> None:
    for path in PATHS:
        stored = json.loads(path.read_text())["unit"]
        whole = {"unit": stored, **made_of(stored_unit(path))}
        path.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
