"""The sample objects that we ship, for a site of a test's own."""

from pathlib import Path
from typing import Any

import yaml

from hack.local.state_dir import ROOT
from tests.support.cluster.isolated_installation import IsolatedInstallation

SAMPLE_PATHS = sorted((ROOT / "manifests" / "samples").glob("*.yaml"))


def load_sample(path: Path, installation: IsolatedInstallation) -> dict[str, Any]:
    """The sample in the namespaces of the site; what fills a storage ends at once."""
    body: dict[str, Any] = yaml.safe_load(path.read_text())
    names = installation.namespaces
    here = {"runtime-stock": names.stock, "runtime-instance": names.instance}
    body["metadata"]["namespace"] = here[body["metadata"]["namespace"]]
    if body["kind"] == "GPUStorage":
        # A simulated program ends only if it is told to.
        body["metadata"]["labels"] = {"sim.local/mode": "exit", "sim.local/exit-code": "0"}
    return body
