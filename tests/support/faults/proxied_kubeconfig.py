"""Ways to Kubernetes that a test can cut."""

from pathlib import Path

import yaml

from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.faults.tcp_proxy import TCPProxy


def kubeconfig_through_proxy(
    proxy: TCPProxy, installation: IsolatedInstallation, folder: Path
) -> Path:
    """The API's kubeconfig with `proxy` in the place of the server."""
    config = yaml.safe_load(installation.api_kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path
