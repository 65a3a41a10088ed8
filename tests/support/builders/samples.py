"""The shipped sample objects, for an isolated installation."""

from pathlib import Path
from typing import Any

import yaml

from hack.local.state_dir import ROOT
from tests.support.cluster.isolated_installation import IsolatedInstallation

SAMPLE_PATHS = sorted((ROOT / "manifests" / "samples").glob("*.yaml"))


def load_sample(path: Path, installation: IsolatedInstallation) -> dict[str, Any]:
    """Return the sample in the namespaces of the installation; a prepare ends at once."""
    body: dict[str, Any] = yaml.safe_load(path.read_text())
    names = installation.namespaces
    namespaces = {"runtime-stock": names.stock, "runtime-instance": names.instance}
    body["metadata"]["namespace"] = namespaces[body["metadata"]["namespace"]]
    if body["kind"] == "GPUStorage":
        # A simulated program ends only where a label says so.
        body["metadata"]["labels"] = {"sim.local/mode": "exit", "sim.local/exit-code": "0"}
    return body
