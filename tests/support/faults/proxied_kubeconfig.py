"""Ways to Kubernetes that a test can cut."""

from pathlib import Path

import yaml

from tests.support.cluster.isolated_installation import Site
from tests.support.faults.tcp_proxy import TCPProxy


def kubeconfig_through(proxy: TCPProxy, site: Site, folder: Path) -> Path:
    """The API's kubeconfig with `proxy` in the place of the server."""
    config = yaml.safe_load(site.api_kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path
